package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/config/secret"
)

const canary = "sk-canary-0123456789"

// No verb, no encoder and no log shows a secret, alone or inside of a document.
func TestSecretsAreNeverShown(t *testing.T) {
	d, _ := mustLoad(t, `benchmark: {model: m, phases: {requests: 200}, endpoint: {url: "http://user:`+canary+`@h/?token=`+canary+`",
		apiKey: `+canary+`, headers: {Authorization: Bearer `+canary+`}}}`, LoadOptions{Choices: someChoices()})
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

// Problems about secret places do not quote them.
func TestProblemsDoNotQuoteSecrets(t *testing.T) {
	docs := []string{
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
	}
}
