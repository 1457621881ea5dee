package format

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/random"
	"aiperfd/internal/engine/dataset/source"
)

// member is one row of the table of members that a JSON object may have.
type member[T any] struct {
	name string
	set  func(*T, json.RawMessage) error
}

// field returns the member that decode reads into a field of T.
func field[T, V any](name string, decode func(json.RawMessage, *V) error, of func(*T) *V) member[T] {
	return member[T]{name, func(to *T, v json.RawMessage) error { return decode(v, of(to)) }}
}

// object decodes JSON objects whose members are those of a table. It is safe for
// concurrent use.
type object[T any] struct {
	members map[string]member[T]
	names   []string
}

// newObject returns the decoder of a table.
func newObject[T any](table []member[T]) *object[T] {
	o := &object[T]{members: map[string]member[T]{}}
	for _, m := range table {
		o.members[m.name] = m
		o.names = append(o.names, m.name)
	}
	return o
}

// decode reads an object and returns all its problems. What it sets does not refer to
// raw.
func (o *object[T]) decode(to *T, raw []byte) source.Problems {
	if !utf8.Valid(raw) {
		return source.Problems{"the record is not valid UTF-8"}
	}
	var all source.Problems
	seen := map[string]bool{}
	err := eachMember(raw, func(name string, v json.RawMessage) {
		if seen[name] {
			all = append(all, name+": given twice")
			return
		}
		seen[name] = true
		all = append(all, o.apply(to, name, v)...)
	})
	if err != nil {
		all = append(all, err.Error())
	}
	return all
}

// apply sets one member and returns its problems.
func (o *object[T]) apply(to *T, name string, v json.RawMessage) source.Problems {
	m, known := o.members[name]
	switch {
	case !known:
		text := fmt.Sprintf("unknown member %q", file.Clip(name))
		if guess := file.Nearest(name, o.names); guess != "" {
			return source.Problems{fmt.Sprintf("%s; did you mean %q?", text, guess)}
		}
		return source.Problems{text + "; accepted: " + strings.Join(o.names, ", ")}
	case string(v) == "null":
		return nil
	}
	err := m.set(to, v)
	if below, ok := errors.AsType[source.Problems](err); ok {
		return below
	}
	if err != nil {
		return source.Problems{name + ": " + err.Error()}
	}
	return nil
}

// eachMember calls do for the members of a JSON object in their order.
func eachMember(raw []byte, do func(name string, v json.RawMessage)) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return notObject(raw, err)
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return notObject(raw, err)
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return notObject(raw, err)
		}
		// Within an object the decoder accepts only strings as names.
		do(name.(string), v)
	}
	if _, err := dec.Token(); err != nil {
		return notObject(raw, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("unexpected text after the JSON object")
	}
	return nil
}

// notObject is the error of a record that is not one JSON object, in the words and with
// the columns of [file.CheckObject]. err is what its decoder says.
func notObject(raw []byte, err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return fmt.Errorf("%s: must not be a JSON %s", wrong.Field, wrong.Value)
	}
	return cmp.Or(file.CheckObject(raw), err)
}

// decodeString accepts a string that is not empty.
func decodeString(v json.RawMessage, to *string) error {
	if err := json.Unmarshal(v, to); err != nil {
		return fmt.Errorf("must be a string, not %s", file.Clip(string(v)))
	}
	if *to == "" {
		return errors.New("must not be empty")
	}
	return nil
}

// typeMember returns the member type, which accepts the name of the format.
func typeMember[T any](format string) member[T] {
	return member[T]{"type", func(_ *T, v json.RawMessage) error {
		var name string
		if err := decodeString(v, &name); err != nil {
			return err
		}
		if name != format {
			return fmt.Errorf("%q: this file is read as %s", name, format)
		}
		return nil
	}}
}

// decodeList accepts a list of at least one element.
func decodeList(v json.RawMessage, to *[]json.RawMessage) error {
	if json.Unmarshal(v, to) != nil {
		return fmt.Errorf("must be a list, not %s", file.Clip(string(v)))
	}
	if len(*to) == 0 {
		return errors.New("the list is empty")
	}
	return nil
}

// decodeMilliseconds accepts a number of milliseconds that is not negative.
func decodeMilliseconds(v json.RawMessage, to **float64) error {
	var ms float64
	if err := json.Unmarshal(v, &ms); err != nil || ms < 0 {
		return fmt.Errorf("must be a number of milliseconds, not negative, not %s", file.Clip(string(v)))
	}
	*to = &ms
	return nil
}

// decodeTokens accepts a number of tokens of at least 1.
func decodeTokens(v json.RawMessage, to *bench.Tokens) error {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || n < 1 || n > random.MaxValue {
		return fmt.Errorf("must be a whole number of tokens from 1 to %g, not %s", random.MaxValue, file.Clip(string(v)))
	}
	*to = bench.Tokens(n)
	return nil
}

// decodeObject accepts an object, of which it keeps no white space.
func decodeObject(v json.RawMessage, to *json.RawMessage) error {
	if v[0] != '{' {
		return fmt.Errorf("must be an object, not %s", file.Clip(string(v)))
	}
	return compact(v, to)
}

// compact keeps JSON without white space.
func compact(v json.RawMessage, to *json.RawMessage) error {
	var b bytes.Buffer
	err := json.Compact(&b, v)
	*to = b.Bytes()
	return err
}
