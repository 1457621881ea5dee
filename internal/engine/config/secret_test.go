package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/config/secret"
)

const canary = "sk-canary-0123456789"

// No verb, no encoder and no log shows a secret, alone or inside of a document.
func TestSecretsAreNeverShown(t *testing.T) {
	d, _ := mustLoad(t, `benchmark: {model: m, phases: {requests: 200}, endpoint: {url: "http://user:`+canary+`@h/?token=`+canary+`",
		apiKey: `+canary+`, headers: {Authorization: Bearer `+canary+`}, resetKvCache: {path: "/reset?api_key=`+canary+`"},
		serverProfiler: {startPath: "/start;token=`+canary+`", stopPath: "//user:`+canary+`@h/stop"}}}`, LoadOptions{Choices: someChoices()})
	e := d.Benchmark.Endpoint
	values := map[string]any{"secret": e.APIKey, "pointer": &e.APIKey, "url": e.URLs[0], "headers": e.Headers, "endpoint": e, "document": d}
	for name, v := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T%v", "%10.3s", "%t", "%p"} {
			args := []any{v}
			if verb == "%T%v" {
				args = append(args, v)
			}
			shows(t, name+" "+verb, fmt.Sprintf(verb, args...))
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		shows(t, name+" json", string(b))
	}
	var log bytes.Buffer
	logger := zerolog.New(&log)
	logger.Info().Object("a", e.APIKey).Interface("b", e).Stringer("c", e.APIKey).Any("d", e.URLs).Msg("x")
	shows(t, "zerolog", log.String())
	if got := fmt.Sprintf("%s|%s", e.APIKey, e.URLs[0]); got != "<redacted>|http://<redacted>@h/?token=<redacted>" {
		t.Errorf("shown as %q", got)
	}
	if secret.New("").String() != "" || !secret.New("").Empty() || e.APIKey.Reveal() != canary {
		t.Error("an empty secret shows something, or Reveal does not reveal")
	}
}

func shows(t *testing.T, where, text string) {
	t.Helper()
	hex := fmt.Sprintf("%x", canary)
	if strings.Contains(text, canary) || strings.Contains(strings.ToLower(text), hex) {
		t.Errorf("%s shows the secret: %.300s", where, text)
	}
}

// Problems do not quote secrets, in their own places or in wrong ones.
func TestProblemsDoNotQuoteSecrets(t *testing.T) {
	const canary = "zq7canary4kd83nX" // has no prefix that would give it away
	docs := []string{
		`benchmark: {models: [m], endpoint: {authStyle: ` + canary + `}}`,
		`benchmark: {models: [m], endpoint: {authStyle: hunter2}}`,
		`benchmark: {models: [m], endpoint: {apiKeyFile: hunter2}}`,
		`benchmark: {models: [m], endpoint: {headers: {"Authorization: Bearer ` + canary + `": x}}}`,
		`benchmark: {models: [m], endpoint: {headers: {"X-Key ` + canary + `": x}}}`,
		`benchmark: {models: [m], endpoint: {url: [http://h, "::::` + canary + `"]}}`,
		`benchmark: {models: [m], endpoint: {url: [http://h, "` + canary + `:x:y"]}}`,
		`benchmark: {models: [m], endpoint: {apiKey: "${` + canary + `}"}}`,
		`benchmark: {models: [m], endpoint: {apiKey: "${secret:` + canary + `}"}}`,
		`benchmark: {models: [m], endpoint: {apiKey: "${` + canary + `-x}"}}`,
		`benchmark: {models: [m], endpoint: {apiKey: *` + canary + `}}`,
		`benchmark: {models: [m], endpoint: {apiKey: &` + canary + ` *` + canary + `}}`,
		`benchmark: {models: [m], endpoint: {apiKey: !` + canary + ` x}}`,
		`benchmark: {models: [m], endpoint: {type: ` + canary + `, timeout: ` + canary + `, streaming: ` + canary + `, ` + canary + `: 1}}`,
		`benchmark: {models: [m], endpoint: ` + canary + `}`,
		`benchmark: {models: [m], endpoint: {url: "http://h/{{ ` + canary + ` }}"}}`,
		`benchmark: {models: [m], endpoint: {resetKvCache: {path: "http://u:` + canary + `@h/x"}, serverProfiler: {startPath: "/x y?token=` + canary + `"}}}`,
		`{benchmark: {models: [m], endpoint: {apiKey: ` + canary + `, apiKey: ` + canary + `}}, metadata: {name: [` + canary + `], labels: {` + canary + `: 3}}}`,
		`benchmark: {models: [m], slos: {` + canary + `: 3}, phases: [{concurrency: "` + canary + `"}], tokenizer: {name: 3, revision: [` + canary + `]}}`,
		`benchmark: {models: [m], endpoint: {apiKey: [` + canary + `]}}`,
		`benchmark: {models: [m], endpoint: {apiKey: "` + canary + `\n"}}`,
		`benchmark: {models: [m], endpoint: {headers: {A: {x: ` + canary + `}}}}`,
		`benchmark: {models: [m], endpoint: {headers: {A: "` + canary + `\n"}}}`,
		`benchmark: {models: [m], endpoint: {url: "ftp://u:` + canary + `@h"}}`,
		`benchmark: {models: [m], endpoint: {url: "http://u:` + canary + `@h:0/"}}`,
		`benchmark: {models: [m], endpoint: {apikey: ` + canary + `}}`,
		`benchmark: {models: [m], endpoint: {type: "${KEY}", timeout: "${KEY}"}, tokenizer: {trustRemoteCode: "${KEY}"}}`,
		"benchmark: {models: [m], endpoint: {apiKey: \"" + canary + "\" x: [}}",
	}
	env := func(string) (string, bool) { return canary, true }
	for _, doc := range docs {
		_, warnings, err := Load([]byte(doc), LoadOptions{Choices: someChoices(), LookupEnv: env})
		if err == nil {
			t.Errorf("accepted: %s", doc)
			continue
		}
		shows(t, doc, err.Error())
		shows(t, doc, fmt.Sprint(warnings))
		b, _ := json.Marshal(err)
		shows(t, doc, string(b))
		if text := fmt.Sprint(err, warnings, string(b)); strings.Contains(text, canary[:9]) || strings.Contains(text, "hunter2") {
			t.Errorf("%s\nshows the secret: %.300s", doc, text)
		}
	}
}

// Metadata is stored and shown, so it holds no secret.
func TestMetadataHidesSecrets(t *testing.T) {
	const key = "zq7canary4kd83nX"
	d, warnings := mustLoad(t, `{metadata: {name: "run with `+key+`", notes: "password=`+canary+` `+strings.ToUpper(key)+`",
		labels: {api_key: `+canary+`, team: blue, copy: "`+canary+`!", `+key+`: x}},
		benchmark: {model: m, phases: {requests: 200}, endpoint: {apiKey: `+key+`}}}`, LoadOptions{Choices: someChoices()})
	got := fmt.Sprintf("%s|%s|%v|%v", d.Metadata.Name, d.Metadata.Notes, d.Metadata.Labels, warnings)
	want := "run with <redacted>|password=<redacted> <redacted>|map[<redacted>:x api_key:<redacted> copy:<redacted>! team:blue]|" +
		"[line 2: metadata/labels: api_key: the name is that of a secret; the value is shown as <redacted>]"
	if got != want {
		t.Errorf("metadata:\n got %s\nwant %s", got, want)
	}
	if !slices.Contains(d.Secrets(), canary) {
		t.Errorf("the secrets %q do not contain the value of the label", d.Secrets())
	}
}

// The stored text of a draft has a secret in no other place either.
func TestDraftTextHidesCopies(t *testing.T) {
	draft, err := Read([]byte(`{metadata: {notes: "see `+canary+`"}, benchmark: {model: m, endpoint: {apiKey: `+canary+`,
		headers: {X-Plain: "a `+canary+`", X-Api-Key: "`+canary+`{{ x }}", X-Auth: "{{ '`+canary+`' }}"}}}}`), LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	shows(t, "the text", string(draft.Text()))
}
