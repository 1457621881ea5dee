package jinja

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/exec"
)

// methods returns the methods of the library, except those that return a text of any
// size for a number. Methods have no access to the budget: their results are charged
// afterwards, and are bounded by their input.
func methods() exec.Methods {
	own := builtins.Methods
	texts := map[string]exec.Method[string]{}
	for _, name := range []string{
		"capitalize", "casefold", "count", "endswith", "find", "isalnum", "isalpha", "isascii", "isdecimal",
		"isdigit", "islower", "isnumeric", "isprintable", "isspace", "istitle", "isupper", "lower",
		"partition", "removeprefix", "removesuffix", "rfind", "rpartition", "rsplit", "split",
		"splitlines", "startswith", "swapcase", "title", "upper",
	} {
		if m, ok := own.Str.Get(name); ok {
			texts[name] = plainly(m)
		}
	}
	texts["replace"], texts["join"] = replaced, joined
	texts["strip"] = stripped(strings.Trim, strings.TrimFunc)
	texts["lstrip"] = stripped(strings.TrimLeft, strings.TrimLeftFunc)
	texts["rstrip"] = stripped(strings.TrimRight, strings.TrimRightFunc)
	for _, name := range []string{"split", "rsplit", "splitlines"} {
		texts[name] = inParts(name, texts[name])
	}
	own.Str = exec.NewMethodSet(texts)
	return own
}

// plainly is a method whose texts equal others: the library's have a type of their
// own, and "x".strip() == "x" would be false.
func plainly(m exec.Method[string]) exec.Method[string] {
	return func(self string, v *exec.Value, args *exec.VarArgs) (any, error) {
		made, err := m(self, v, args)
		if err != nil || made == nil {
			return made, err
		}
		r := reflect.ValueOf(made)
		switch {
		case r.Kind() == reflect.String:
			return r.String(), nil
		case (r.Kind() == reflect.Slice || r.Kind() == reflect.Array) && r.Type().Elem().Kind() == reflect.String:
			list := make([]string, r.Len())
			for i := range list {
				list[i] = r.Index(i).String()
			}
			return list, nil
		}
		return made, nil
	}
}

// maxGrown bounds the result of a method that may be as large as the product of
// what it is given: methods do not know the budget.
const maxGrown = 8 << 20

func grown(method string, size int) error {
	if size > maxGrown {
		return fmt.Errorf("%w: method %s makes a text of more than %d MiB", ErrBudget, method, maxGrown>>20)
	}
	return nil
}

// maxParts bounds the parts of a text: each takes far more than its bytes.
const maxParts = 500_000

// inParts bounds a method that takes a text apart, at a separator or at blanks and
// the ends of lines.
func inParts(name string, m exec.Method[string]) exec.Method[string] {
	return func(self string, v *exec.Value, args *exec.VarArgs) (any, error) {
		separator := args.KwArgs["sep"]
		if len(args.Args) > 0 {
			separator = args.Args[0]
		}
		n := 0
		if separator != nil && separator.IsString() && separator.String() != "" {
			n = strings.Count(self, separator.String())
		} else {
			for _, r := range self {
				if unicode.IsSpace(r) || unicode.IsControl(r) {
					n++
				}
			}
		}
		switch {
		case n > maxParts:
			return nil, fmt.Errorf("%w: method %s makes a list of more than %d parts", ErrBudget, name, maxParts)
		case name != "splitlines" && len(args.Args)+len(args.KwArgs) == 0: // which the library refuses
			return strings.Fields(self), nil
		}
		return m(self, v, args)
	}
}

// stripped is Python's str.strip, or one of its sides: the library's fails without
// the characters to remove.
func stripped(set func(string, string) string, blanks func(string, func(rune) bool) string) exec.Method[string] {
	return func(self string, _ *exec.Value, args *exec.VarArgs) (any, error) {
		switch n := len(args.Args); {
		case n > 1 || len(args.KwArgs) > 0:
			return nil, errors.New("strip takes at most the characters to remove")
		case n == 0 || args.Args[0].IsNil():
			return blanks(self, unicode.IsSpace), nil
		}
		return set(self, args.Args[0].String()), nil
	}
}

// replaced is Python's str.replace.
func replaced(self string, _ *exec.Value, args *exec.VarArgs) (any, error) {
	count := -1
	switch n := len(args.Args); {
	case n == 3:
		count = args.Args[2].Integer()
	case n != 2:
		return nil, fmt.Errorf("replace takes two texts and at most a count, not %d arguments", n)
	}
	old, with := args.Args[0].String(), args.Args[1].String()
	if err := grown("replace", len(self)+strings.Count(self, old)*len(with)); err != nil {
		return nil, err
	}
	return strings.Replace(self, old, with, count), nil
}

// joined is Python's str.join.
func joined(self string, _ *exec.Value, args *exec.VarArgs) (any, error) {
	if len(args.Args) != 1 || !args.Args[0].IsIterable() {
		return nil, errors.New("join takes one list")
	}
	var parts []string
	size := 0
	args.Args[0].Iterate(func(_, _ int, part, _ *exec.Value) bool {
		text := part.String()
		size += len(self) + len(text)
		parts = append(parts, text)
		return size <= maxGrown
	}, func() {})
	if err := grown("join", size); err != nil {
		return nil, err
	}
	return strings.Join(parts, self), nil
}

// namespace is an object whose members blocks can set.
func namespace(_ *exec.Evaluator, params *exec.VarArgs) map[string]any {
	ns := map[string]any{}
	for key, value := range params.KwArgs {
		ns[key] = value.Interface()
	}
	return ns
}

// countUp is the function range. Its result is a list: what a loop does not
// use up, the library's channel would keep a goroutine for.
func countUp(e *exec.Evaluator, params *exec.VarArgs) ([]int, error) {
	bounds := []int{0, 0, 1}
	switch len(params.Args) {
	case 1:
		bounds[1] = params.Args[0].Integer()
	case 2, 3:
		for i, v := range params.Args {
			bounds[i] = v.Integer()
		}
	default:
		return nil, errors.New("range takes one to three numbers")
	}
	start, stop, step := bounds[0], bounds[1], bounds[2]
	if step == 0 {
		return nil, errors.New("the step of range is 0")
	}
	list := []int{}
	for i := start; (step > 0 && i < stop) || (step < 0 && i > stop); i += step {
		if err := of(e).step(1); err != nil {
			return nil, err
		}
		list = append(list, i)
	}
	return list, nil
}
