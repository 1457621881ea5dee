package jinja

import (
	"reflect"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// item pays for a part of a value that is taken by its index. Of lists and texts it
// returns one whose items are Python's: the library does not support -n in a list of n (the
// last of one message is not found) and takes bytes of texts, not characters.
func item(e *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
	if in.IsError() {
		return in
	}
	if err := of(e).make(shallow(in)); err != nil {
		return exec.AsValue(err)
	}
	switch in.Val.Kind() {
	case reflect.String:
		return exec.AsValue(&indexed{in, len([]rune(in.String()))})
	case reflect.Slice, reflect.Array:
		return exec.AsValue(&indexed{in, in.Len()})
	}
	return in
}

// indexed is a list or a text of which an item is taken.
type indexed struct {
	of  *exec.Value
	len int
}

var _ exec.ItemGetter = (*indexed)(nil)

// GetItem implements exec.ItemGetter.
func (x *indexed) GetItem(key any) (*exec.Value, bool) {
	i, ok := key.(int)
	if !ok {
		return x.of.GetItem(key)
	}
	if i < 0 {
		i += x.len
	}
	if i < 0 || i >= x.len {
		return exec.AsValue(nil), false
	}
	if x.of.IsString() {
		return exec.AsValue(string([]rune(x.of.String())[i])), true
	}
	return x.of.GetItem(i)
}
