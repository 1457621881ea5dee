package config

import (
	"testing"
)

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestTemplatesInDocuments: the template of request bodies stays as it is; any other
// template that has no result is a problem once, without one about its content.
func TestTemplatesInDocuments(t *testing.T) {
	const body = `{"prompt": {{ text|tojson }}, "cost": "${5}"}`
	d, _ := mustLoad(t, `{benchmark: {endpoint: {template: {body: '`+body+`'}}, model: m, phases: {requests: 200}}}`, LoadOptions{Choices: someChoices(), Untrusted: true})
	if got := d.Benchmark.Endpoint.Template.Body; got != body {
		t.Errorf("body = %s, want %s", got, body)
	}
	_, _, err := Load([]byte("benchmark: {model: m, phases: {requests: '{{ n }}', rate: '{{ r }}'}}"), LoadOptions{Choices: someChoices()})
	const want = "line 1: benchmark/phases/requests: n is not defined\n" +
		"line 1: benchmark/phases/rate: r is not defined"
	if errText(err) != want {
		t.Errorf("problems:\n%v\nwant:\n%s", err, want)
	}
}
