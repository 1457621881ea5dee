package format

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
)

// The members that a format accepts are those of its section of the documentation.
func TestMembersAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../datasets.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := func(format string) (members []string) {
		_, section, _ := strings.Cut(string(text), "\n## "+format+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(section, -1) {
			members = append(members, m[1])
		}
		return members
	}
	for _, name := range []string{"single_turn", "multi_turn", "openai_batch", "inputs_json"} {
		decode := formatOf(t, name).New(&source.Options{})
		_, err := decode(file.Record{Data: []byte(`{"no member has this name": 1}`)})
		_, accepted, _ := strings.Cut(err.Error(), "accepted: ")
		accepted, _, _ = strings.Cut(accepted, "; ")
		if got, want := strings.Split(accepted, ", "), documented(name); !slices.Equal(got, want) {
			t.Errorf("%s: members %v, documented %v", name, got, want)
		}
	}
	if got, want := newObject(poolMembers()).names, documented("random_pool"); !slices.Equal(got, want) {
		t.Errorf("random_pool: members %v, documented %v", got, want)
	}
	tables := newDagTables()
	got := newObject(tables.conversation).names
	for _, m := range tables.turn {
		got = append(got, "turns[]."+m.name)
	}
	if want := documented("dag_jsonl"); !slices.Equal(got, want) {
		t.Errorf("dag_jsonl: members %v, documented %v", got, want)
	}
}
