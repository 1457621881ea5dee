package endpoint

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"
	"github.com/nikolalohinski/gonja/v2/parser"
)

// maxRendered bounds a body that a template makes, in bytes.
const maxRendered = 64 << 20

// jinja is a body template in Jinja's language. It is immutable, and safe for
// concurrent use. It reads no files and calls nothing but filters.
type jinja struct{ template *exec.Template }

// maxTemplate bounds the text of a template, in bytes: the library reads nested
// expressions by recursion, with some 16 KiB of stack for each level.
const maxTemplate = 16 << 10

// structures are the library's control structures without those by which a
// template can call itself or another: there are no others, and recursion without
// an end would take the whole process down.
func structures() *exec.ControlStructureSet {
	own := map[string]parser.ControlStructureParser{}
	for _, name := range []string{"if", "for", "set", "with", "filter", "raw", "autoescape", "break", "continue", "do"} {
		if p, ok := builtins.ControlStructures.Get(name); ok {
			own[name] = p
		}
	}
	return exec.NewControlStructureSet(own)
}

// parseJinja compiles a template.
func parseJinja(source string) (*jinja, error) {
	const name = "/body"
	if len(source) > maxTemplate {
		return nil, fmt.Errorf("read template: it is larger than %d bytes", maxTemplate)
	}
	loader, err := loaders.NewMemoryLoader(map[string]string{name: source})
	if err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	c := config.New()
	c.StrictUndefined = true
	c.KeepTrailingNewline = true
	t, err := exec.NewTemplate(name, c, loader, &exec.Environment{
		Filters: filters(), ControlStructures: structures(),
		Tests: builtins.Tests, Context: exec.EmptyContext(), Methods: builtins.Methods,
	})
	if err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	return &jinja{t}, nil
}

// render fills a template in. A text that is printed between quotes is escaped as
// JSON demands; the filter tojson makes a whole JSON value.
func (j *jinja) render(variables map[string]any) ([]byte, error) {
	out := &bounded{}
	if err := j.template.Execute(out, exec.NewContext(variables)); err != nil {
		return nil, fmt.Errorf("render template: %w", err)
	}
	return out.b.Bytes(), nil
}

// bounded is a buffer that refuses to grow beyond maxRendered.
type bounded struct{ b bytes.Buffer }

var _ io.Writer = (*bounded)(nil)

// Write implements io.Writer.
func (w *bounded) Write(p []byte) (int, error) {
	if w.b.Len()+len(p) > maxRendered {
		return 0, fmt.Errorf("the body is larger than %d bytes", maxRendered)
	}
	return w.b.Write(p)
}

// WriteString implements io.StringWriter.
func (w *bounded) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// jinjaText is a text from the outside. Printed, it is the inside of a JSON string.
type jinjaText string

// String returns the text as it stands between the quotes of a JSON string.
func (s jinjaText) String() string {
	quoted := appendString(nil, string(s))
	return string(quoted[1 : len(quoted)-1])
}

// MarshalJSON implements json.Marshaler; "<" stays as it is.
func (s jinjaText) MarshalJSON() ([]byte, error) { return appendString(nil, string(s)), nil }

// jinjaTexts makes texts of strings.
func jinjaTexts(texts []string) []any {
	list := make([]any, len(texts))
	for i, t := range texts {
		list[i] = jinjaText(t)
	}
	return list
}

// filters are those of the library, with those in place that must know about jinjaText.
func filters() *exec.FilterSet {
	own := exec.NewFilterSet(map[string]exec.FilterFunction{
		"tojson":    func(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value { return toJSON(in) },
		"b64encode": overText(func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }),
		"upper":     overText(strings.ToUpper),
		"lower":     overText(strings.ToLower),
		"trim":      overText(strings.TrimSpace),
		"length":    func(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value { return length(in) },
	})
	return exec.NewFilterSet(map[string]exec.FilterFunction{}).Update(builtins.Filters).Update(own)
}

// overText makes a filter of a function of texts.
func overText(f func(string) string) exec.FilterFunction {
	return func(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
		if in.IsError() {
			return in
		}
		if s, ok := in.Interface().(jinjaText); ok {
			return exec.AsValue(jinjaText(f(string(s))))
		}
		return exec.AsValue(f(in.String()))
	}
}

func length(in *exec.Value) *exec.Value {
	if s, ok := in.Interface().(jinjaText); ok {
		return exec.AsValue(len([]rune(string(s))))
	}
	return exec.AsValue(in.Len())
}

func toJSON(in *exec.Value) *exec.Value {
	if in.IsError() {
		return in
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(plain(in)); err != nil {
		return exec.AsValue(errors.New("tojson: " + err.Error()))
	}
	return exec.AsSafeValue(strings.TrimSuffix(b.String(), "\n"))
}

// plain returns a value as Go's own types, and texts as they are.
func plain(v *exec.Value) any {
	if s, ok := v.Interface().(jinjaText); ok {
		return s
	}
	switch {
	case v.IsList():
		list := []any{}
		v.Iterate(func(_, _ int, element, _ *exec.Value) bool {
			list = append(list, plain(element))
			return true
		}, func() {})
		return list
	case v.IsDict():
		object := map[string]any{}
		v.Iterate(func(_, _ int, key, value *exec.Value) bool {
			object[key.String()] = plain(value)
			return true
		}, func() {})
		return object
	}
	return v.ToGoSimpleType(false)
}
