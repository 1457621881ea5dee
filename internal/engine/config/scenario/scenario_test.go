package scenario

import (
	"strings"
	"testing"
)

// TestAll: all files are scenarios, versions of one name do not share rules, and the digests are those that results have.
func TestAll(t *testing.T) {
	digests := map[string]string{}
	for _, s := range All() {
		if before, taken := digests[s.SHA256]; taken {
			t.Errorf("%s has the rules of %s", s.ID(), before)
		}
		digests[s.SHA256] = s.ID()
		if found, err := Find(s.ID()); err != nil || found != s {
			t.Errorf("Find(%s) = %v, %v", s.ID(), found, err)
		}
	}
	if s, err := Find("inferencex-agentx-mvp"); err != nil || s.Version != "0.13" {
		t.Errorf("the newest version is %+v, %v", s, err)
	}
	if _, err := Find("agentx"); err == nil || !strings.Contains(err.Error(), "inferencex-agentx-mvp@0.13") {
		t.Errorf("unknown name: %v", err)
	}
}

// TestParse: rules that say nothing, or two things, are refused.
func TestParse(t *testing.T) {
	const head = "{name: a, version: b, about: c, corpora: {names: [d]}, rules: [{field: e, why: f"
	for text, ok := range map[string]bool{
		head + ", equals: 1}]}":               true,
		head + ", expected: null}]}":          true,
		head + "}]}":                          false,
		head + ", equals: 1, absent: true}]}": false,
		head + ", equal: 1}]}":                false,
	} {
		if _, err := parse([]byte(text)); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}
