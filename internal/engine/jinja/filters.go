package jinja

import (
	"fmt"
	"maps"
	"math/bits"
	"reflect"
	"slices"
	"strings"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/exec"
)

// The filters by which a template pays. Their names cannot be written in one.
const (
	chargePrint  = "\x00print"  // for a text that is made of the value
	chargeRead   = "\x00read"   // for looking at all of the value
	chargePart   = "\x00part"   // for taking a part of the value
	chargeItem   = "\x00item"   // for taking one item of the value
	chargeLoop   = "\x00loop"   // for a loop over the value whose body has a weight
	chargeCall   = "\x00call"   // for a call on the value; it is true
	chargeResult = "\x00result" // for the result of a call
	chargeTimes  = "\x00times"  // the operator *
)

// maxWidth bounds numbers that become sizes of texts: widths, indents, precisions.
const maxWidth = 10_000

// growth is how many times larger than its input a filter's result may be: a
// character becomes an escape of six bytes.
const growth = 6

// filters are those of the language and some of the caller, within the budget.
func filters(more map[string]exec.FilterFunction) *exec.FilterSet {
	own := map[string]exec.FilterFunction{}
	for _, name := range filterNames() {
		if f, ok := builtins.Filters.Get(name); ok {
			own[name] = f
		}
	}
	maps.Copy(own, more)
	for name, f := range own {
		own[name] = paid(name, f)
	}
	maps.Copy(own, map[string]exec.FilterFunction{
		chargePrint: charged(func(b *budget, v *exec.Value, _ *exec.VarArgs) error {
			n, err := b.size(v)
			if err != nil {
				return err
			}
			return b.make(n)
		}),
		chargeRead: charged(func(b *budget, v *exec.Value, _ *exec.VarArgs) error {
			_, err := b.size(v)
			return err
		}),
		chargePart:   charged(func(b *budget, v *exec.Value, _ *exec.VarArgs) error { return b.make(shallow(v)) }),
		chargeResult: charged(func(b *budget, v *exec.Value, _ *exec.VarArgs) error { return b.make(shallow(v)) }),
		chargeLoop:   charged(payLoop),
		chargeItem:   item,
		chargeCall:   payCall,
		chargeTimes:  times,
	})
	return exec.NewFilterSet(own)
}

// filterNames are the filters that a template may use: those of the library
// but for random, with which two renderings would differ, and urlize and xmlattr,
// which are for HTML.
func filterNames() []string {
	return []string{
		"abs", "attr", "batch", "capitalize", "center", "count", "d", "default", "dictsort", "e", "escape",
		"filesizeformat", "first", "float", "forceescape", "format", "groupby", "indent", "int", "items", "join",
		"last", "length", "list", "lower", "map", "max", "min", "pprint", "reject", "rejectattr", "replace",
		"reverse", "round", "safe", "select", "selectattr", "slice", "sort", "string", "striptags", "sum", "title",
		"tojson", "trim", "truncate", "unique", "upper", "urlencode", "wordcount", "wordwrap",
	}
}

// cheapFilter pays for a filter that makes nothing: for what it looks at of its
// input, and for its parameters. It reports false for other filters.
func (b *budget) cheapFilter(name string, in *exec.Value, params *exec.VarArgs) (bool, error) {
	var err error
	switch name {
	case "attr", "d", "default", "safe": // the input as it is
	case "count", "first", "last", "length":
		err = b.look(in)
	case "abs", "float", "int", "round": // the input as a text, if it is not a number
		_, err = b.size(in)
	default:
		return false, nil
	}
	for _, v := range parameters(params) {
		if err == nil {
			_, err = b.size(v)
		}
	}
	return true, err
}

// look pays for the characters of a text or the keys of a mapping: the library
// copies them to count them.
func (b *budget) look(in *exec.Value) error {
	switch v := reflect.Indirect(in.Val); {
	case in.IsString():
		return b.step(1 + v.Len()>>6)
	case in.IsDict():
		return b.step(1 + in.Len())
	}
	return nil
}

func parameters(params *exec.VarArgs) []*exec.Value {
	return slices.AppendSeq(slices.Clone(params.Args), maps.Values(params.KwArgs))
}

// charged makes a filter that pays for its input and passes it on.
func charged(pay func(*budget, *exec.Value, *exec.VarArgs) error) exec.FilterFunction {
	return func(e *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
		if in.IsError() {
			return in
		}
		if err := pay(of(e), in, params); err != nil {
			return exec.AsValue(err)
		}
		return in
	}
}

// paid is a filter that pays for the largest result that it can have.
func paid(name string, f exec.FilterFunction) exec.FilterFunction {
	return func(e *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
		if in.IsError() && name != "default" && name != "d" {
			return in
		}
		b := of(e)
		if b.spent != nil {
			return exec.AsValue(b.spent)
		}
		if err := b.widths(name, params); err != nil {
			return exec.AsValue(err)
		}
		cheap, err := b.cheapFilter(name, in, params)
		if !cheap {
			var n int
			if n, err = b.result(name, in, params); err == nil {
				err = b.make(n)
			}
		}
		if err != nil {
			return exec.AsValue(err)
		}
		return f(e, in, params)
	}
}

// widths refuses numbers that would become sizes of texts.
func (b *budget) widths(name string, params *exec.VarArgs) error {
	switch name {
	case "abs", "d", "default", "sum", "map", "select", "reject", "selectattr", "rejectattr", "int", "float", "truncate", "format":
		return nil
	}
	for _, v := range parameters(params) {
		if v != nil && v.IsInteger() && (v.Integer() > maxWidth || v.Integer() < -maxWidth) {
			return b.exceed(fmt.Sprintf("filter %s is given %d, at most %d is accepted", name, v.Integer(), maxWidth))
		}
	}
	return nil
}

// result is the most bytes that the result of a filter can have.
func (b *budget) result(name string, in *exec.Value, params *exec.VarArgs) (int, error) {
	size, err := b.size(in)
	if err == nil {
		err = b.elements(name, in)
	}
	most := 0 // of all parameters
	for _, v := range parameters(params) {
		if err != nil {
			return 0, err
		}
		var n int
		n, err = b.parameter(v)
		most += n
	}
	if err != nil {
		return 0, err
	}
	switch name {
	case "join", "batch", "slice":
		return size*growth + (in.Len()+1)*(1+most), nil
	case "indent", "wordwrap", "replace", "tojson", "pprint":
		return b.grown(name, in, size, most)
	case "format":
		return b.formatted(in.String(), size+most)
	}
	return size*growth + most, nil
}

// elements pays for filters that take a text apart into its characters, and for
// sorting.
func (b *budget) elements(name string, in *exec.Value) error {
	n := 0
	switch name {
	case "batch", "dictsort", "groupby", "items", "join", "list", "map", "max", "min", "reject", "rejectattr",
		"select", "selectattr", "slice", "sort", "sum", "unique":
		if in.IsString() {
			n = reflect.Indirect(in.Val).Len()
		}
	}
	switch name {
	case "dictsort", "groupby", "sort":
		if !in.IsString() && in.IsIterable() {
			n = in.Len()
		}
		n *= bits.Len(uint(n))
	}
	return b.step(n)
}

// parameter is how many bytes a parameter may add to a result each time: the
// length of a text, the value of a number.
func (b *budget) parameter(v *exec.Value) (int, error) {
	if v != nil && v.IsInteger() {
		return max(v.Integer(), -v.Integer()), nil
	}
	return b.size(v)
}

// grown bounds filters that put a parameter into the text again and again.
func (b *budget) grown(name string, in *exec.Value, size, most int) (int, error) {
	switch {
	case name == "replace" && in.IsString():
		return size + (len([]rune(in.String()))+1)*most, nil
	case name == "indent" && in.IsString():
		return size + (strings.Count(in.String(), "\n")+1)*(most+4), nil
	case name == "wordwrap" && in.IsString():
		return size*2 + (len(in.String())+1)*2 + strings.Count(in.String(), " ")*min(most, 64), nil
	}
	const lines = 8 // bytes of a value and its quotes, of which each may have a line of its own
	return size*growth + size/lines*most, nil
}

// formatted bounds a text made by %, because a directive may have a large width.
func (b *budget) formatted(layout string, size int) (int, error) {
	digits := 0
	for _, c := range layout {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c == '*':
			return 0, b.exceed("filter format takes a width from an argument")
		default:
			digits = 0
		}
		if digits > 4 {
			return 0, b.exceed(fmt.Sprintf("filter format is given a width of more than %d", maxWidth-1))
		}
	}
	return size*growth + strings.Count(layout, "%")*maxWidth, nil
}

// payLoop takes the steps of a whole loop before it begins.
func payLoop(b *budget, v *exec.Value, params *exec.VarArgs) error {
	weight := params.Args[0].Integer()
	if !v.IsIterable() {
		return b.step(weight)
	}
	if n := v.Len(); n > maxSteps/weight {
		return b.exceed(fmt.Sprintf("a loop over %d elements takes more than %d steps", n, maxSteps))
	}
	return b.step((v.Len() + 1) * weight)
}

// payCall pays for a call on a value. It is true, so that the call is performed.
func payCall(e *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
	if in.IsError() {
		return in
	}
	b := of(e)
	n, err := b.size(in)
	if err == nil {
		err = b.step(params.Args[0].Integer())
	}
	if err == nil {
		err = b.make(n)
	}
	if err != nil {
		return exec.AsValue(err)
	}
	return exec.AsValue(true)
}

// times is the operator *: a product, or a text again and again.
func times(e *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
	n := params.Args[0]
	switch {
	case in.IsError():
		return in
	case n.IsError():
		return n
	case in.IsFloat() || n.IsFloat():
		return exec.AsValue(in.Float() * n.Float())
	case !in.IsString():
		for _, v := range []*exec.Value{in, n} { // the library converts texts to numbers
			if _, err := of(e).size(v); err != nil {
				return exec.AsValue(err)
			}
		}
		return exec.AsValue(in.Integer() * n.Integer())
	}
	text, count := in.String(), max(0, n.Integer())
	if b := of(e); len(text) > 0 && count > maxMade/len(text) {
		return exec.AsValue(b.exceed(fmt.Sprintf("a text of %d bytes %d times is more than %d MiB", len(text), count, maxMade>>20)))
	} else if err := b.make(len(text) * count); err != nil {
		return exec.AsValue(err)
	}
	return exec.AsValue(strings.Repeat(text, count))
}
