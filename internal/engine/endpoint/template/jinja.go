package template

import (
	"encoding/base64"
	"errors"
	"strings"

	"github.com/nikolalohinski/gonja/v2/exec"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/codec"
	"aiperfd/internal/engine/jinja"
	"aiperfd/internal/engine/plainjson"
)

// parseJinja compiles a body template. One that needs more time or memory than
// a body may take is refused here if a short request shows it, else when the body
// is made.
func parseJinja(source string) (*jinja.Template, error) {
	t, err := jinja.Parse(source, jinja.Options{Filters: filters()})
	if err != nil {
		return nil, err
	}
	if _, err := t.Render(variables(sample())); errors.Is(err, jinja.ErrBudget) {
		return nil, err // Other faults may be the sample's
	}
	return t, nil
}

// sample is a short request.
func sample() *codec.Request {
	return &codec.Request{Model: "model", Turn: bench.Turn{Texts: []string{"text"}, MaxTokens: 16}, Settings: &codec.Settings{}}
}

// jinjaText is a text from the outside. Printed, it is the inside of a JSON string.
type jinjaText string

// String returns the text as it stands between the quotes of a JSON string.
func (s jinjaText) String() string {
	quoted := codec.AppendString(nil, string(s))
	return string(quoted[1 : len(quoted)-1])
}

// MarshalJSON implements json.Marshaler; "<" stays as it is.
func (s jinjaText) MarshalJSON() ([]byte, error) { return codec.AppendString(nil, string(s)), nil }

// jinjaTexts makes texts of strings.
func jinjaTexts(texts []string) []any {
	list := make([]any, len(texts))
	for i, t := range texts {
		list[i] = jinjaText(t)
	}
	return list
}

// filters are those that must know about jinjaText.
func filters() map[string]exec.FilterFunction {
	count := func(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value { return length(in) }
	return map[string]exec.FilterFunction{
		"tojson":    func(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value { return toJSON(in) },
		"b64encode": overText(func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }),
		"upper":     overText(strings.ToUpper),
		"lower":     overText(strings.ToLower),
		"trim":      overText(strings.TrimSpace),
		"length":    count,
		"count":     count,
	}
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
	out, err := plainjson.Marshal(plain(in))
	if err != nil {
		return exec.AsValue(errors.New("tojson: " + err.Error()))
	}
	return exec.AsSafeValue(string(out))
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
