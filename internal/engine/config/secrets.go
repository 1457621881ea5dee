package config

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"

	"aiperfd/internal/engine/redact"
)

// Secrets returns every text of the document that must not leave it: the API
// key, the values of headers, user information and key-like query values of
// URLs, values of sensitive members of extra, and what substitutions put into
// any of these. It is for the redactor's set of exact values; the order is
// without meaning, and no text is empty or occurs twice.
func (d *Document) Secrets() []string {
	var all []string
	e := &d.Benchmark.Endpoint
	all = append(all, e.APIKey.Reveal())
	for name, value := range e.Headers {
		if redact.SensitiveHeader(name) {
			all = append(all, value.Reveal())
		}
	}
	for _, u := range append([]URL{e.Proxy}, e.URLs...) {
		all = append(all, urlSecrets(u.Reveal())...)
	}
	for name, value := range e.URLParams {
		if SensitiveParam(name, value.Reveal()) {
			all = append(all, value.Reveal())
		}
	}
	all = append(all, objectSecrets(e.Extra)...)
	for _, dataset := range d.Benchmark.Datasets {
		for _, record := range dataset.Records {
			all = append(all, objectSecrets(record)...)
		}
	}
	all = append(all, d.injected...)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(s string) bool { return s == "" })
}

// urlSecrets returns the texts that redact.URL hides in a URL.
func urlSecrets(raw string) []string {
	u, err := url.Parse(raw)
	if err != nil {
		return []string{raw}
	}
	var all []string
	if u.User != nil {
		password, _ := u.User.Password()
		all = append(all, u.User.String(), u.User.Username(), password)
	}
	for name, values := range u.Query() {
		for _, value := range values {
			if SensitiveParam(name, value) {
				all = append(all, value)
			}
		}
	}
	return all
}

// SensitiveParam reports whether redact.URL hides the value of a query's pair.
func SensitiveParam(name, value string) bool {
	probe := "http://h/?" + url.Values{name: {value}}.Encode()
	return redact.URL(probe) != probe
}

// objectSecrets returns the texts that redact.Value hides in an object.
func objectSecrets(o Object) []string {
	var all []string
	for _, m := range o.Members() {
		d := json.NewDecoder(bytes.NewReader(m.Value))
		d.UseNumber()
		var value any
		if d.Decode(&value) != nil {
			continue
		}
		before := map[string]any{m.Name: value}
		all = append(all, hidden(before, redact.Value(before))...)
	}
	return all
}

// hidden returns the texts of before that are not in after.
func hidden(before, after any) []string {
	var all []string
	switch before := before.(type) {
	case map[string]any:
		cleaned, _ := after.(map[string]any)
		for name, value := range before {
			all = append(all, hidden(value, cleaned[name])...)
		}
	case []any:
		cleaned, ok := after.([]any)
		for i, value := range before {
			if ok && i < len(cleaned) {
				all = append(all, hidden(value, cleaned[i])...)
				continue
			}
			all = append(all, hidden(value, nil)...)
		}
	case string:
		if after != any(before) {
			all = append(all, before)
		}
	case json.Number:
		if after != any(before) {
			all = append(all, before.String())
		}
	}
	return all
}
