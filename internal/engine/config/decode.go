package config

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/go-playground/validator/v10"

	"aiperfd/internal/engine/suggest"
)

// decodable is a value with a form of its own in documents.
type decodable interface {
	// decode reads n and reports what is wrong with it. It returns false if it could
	// not read a value for the rules in the field's tag to check.
	decode(f field, n *node) bool
}

// field is the place in the document that a value is decoded into.
type field struct {
	*decoder
	path string // canonical
	tag  reflect.StructTag
}

// decoder reads nodes into the fields of the document. Keys match the fields'
// JSON names. Next to validate, these tags say what values a field takes:
//
//	form     version: a text that may be written as a number
//	         infinite: a duration that may be "inf"
//	         proxy: the URL of a proxy
//	choices  a closed list of [Choices]
//	least    the smallest value of a distribution
type decoder struct {
	*loader
	validate *validator.Validate
}

func newDecoder(l *loader) *decoder { return &decoder{l, validator.New()} }

// document reads the whole tree.
func (d *decoder) document(root *node) {
	d.given[""] = root
	d.object(root, reflect.ValueOf(d.doc).Elem(), "")
}

// object reads the members of n into the fields of a struct. Keys match the
// fields' JSON names, in camelCase or snake_case.
func (d *decoder) object(n *node, v reflect.Value, path string) {
	if n.shape != object {
		d.wrongType(n, path, "an object")
		return
	}
	seen := make(map[string]bool)
	for _, m := range n.members {
		f, name, ok := fieldNamed(v.Type(), m.name)
		if !ok {
			d.notOurs(m, v.Type(), path)
			continue
		}
		full := join(path, name)
		if seen[name] {
			d.fail(m.place, CodeConflict, "%q is given twice, with different spellings", name)
			continue
		}
		seen[name] = true
		if m.value.shape == null || d.ownedByServer(m, full) {
			continue
		}
		d.given[full] = m.value
		d.value(m.value, v.FieldByIndex(f.Index), f.Tag, full)
	}
}

// fields reads n into the struct that p points to.
func (d *decoder) fields(n *node, p any, path string) {
	d.object(n, reflect.ValueOf(p).Elem(), path)
}

// fieldNamed finds the field of t for a key.
func fieldNamed(t reflect.Type, key string) (reflect.StructField, string, bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		name := fieldName(f)
		if name != "" && (key == name || key == snakeCase(name)) {
			return f, name, true
		}
	}
	return reflect.StructField{}, "", false
}

// fieldName is the JSON name of a field, or "" for fields that documents do not
// have.
func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" {
		return ""
	}
	return name
}

// notOurs reports a key that no field has: a feature of AIPerf that we lack, or
// a mistake.
func (d *decoder) notOurs(m member, t reflect.Type, path string) {
	if d.full() {
		return
	}
	known := unsupportedFields(path)
	for _, f := range known {
		if m.name == f.name || m.name == snakeCase(f.name) {
			d.refuse(m.value, f)
			return
		}
	}
	names := make([]string, 0, t.NumField()+len(known))
	for i := range t.NumField() {
		if name := fieldName(t.Field(i)); name != "" {
			names = append(names, name)
		}
	}
	for _, f := range known {
		names = append(names, f.name)
	}
	d.unknown(m, names)
}

func (d *decoder) unknown(m member, known []string) {
	d.fail(m.place, CodeUnknownField, "unknown field %q%s", clip(m.name), suggest.DidYouMean(m.name, known))
}

// ownedByServer drops what a daemon decides itself.
func (d *decoder) ownedByServer(m member, path string) bool {
	if !d.options.Untrusted {
		return false
	}
	switch path {
	case "benchmark.runtime", "benchmark.logging", "benchmark.client.strict", "benchmark.artifacts.dir":
		d.warn(m.place, CodeServerOwned, "%s is set by the server; the value is ignored", m.name)
		return true
	}
	return false
}

// value reads n into v, which may be a pointer, and applies the field's rules.
func (d *decoder) value(n *node, v reflect.Value, tag reflect.StructTag, path string) {
	if v.Kind() == reflect.Pointer {
		optional := v
		v = reflect.New(v.Type().Elem()).Elem()
		defer func() {
			if !d.failed[path] {
				optional.Set(v.Addr())
			}
		}()
	}
	f := field{d, path, tag}
	ok := false
	if own, is := v.Addr().Interface().(decodable); is {
		ok = own.decode(f, n)
	} else {
		ok = f.plain(n, v)
	}
	if ok {
		f.rules(n, v)
	}
}

// plain reads Go's own kinds.
func (f field) plain(n *node, v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Struct:
		f.object(n, v, f.path)
		return true
	case reflect.Slice:
		return f.list(n, v)
	case reflect.Bool:
		if n.shape != boolean {
			return f.wrongType(n, f.path, "true or false")
		}
		v.SetBool(n.scalar == "true")
	case reflect.Int, reflect.Int64:
		i, ok := f.integer(n, f.path)
		if !ok {
			return false
		}
		v.SetInt(i)
	case reflect.Float64:
		x, ok := f.float(n, f.path)
		if !ok {
			return false
		}
		v.SetFloat(x)
	case reflect.String:
		if !n.isText() && !(n.shape == number && f.tag.Get("form") == "version") {
			return f.wrongType(n, f.path, "a string")
		}
		v.SetString(n.scalar)
	}
	return true
}

func (f field) list(n *node, v reflect.Value) bool {
	if n.shape != list {
		return f.wrongType(n, f.path, "a list")
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.items), len(n.items)))
	for i, item := range n.items {
		at := join(f.path, strconv.Itoa(i))
		f.given[at] = item
		f.value(item, v.Index(i), "", at) // the rules in the tag are for the list
	}
	return true
}

// integer accepts 10, 10.0 and 1e1.
func (d *decoder) integer(n *node, path string) (int64, bool) {
	const exact = 1 << 53
	if n.shape != number {
		return 0, d.wrongType(n, path, "a whole number")
	}
	if i, err := strconv.ParseInt(n.scalar, 10, 64); err == nil {
		return i, true
	}
	f, err := strconv.ParseFloat(n.scalar, 64)
	if err != nil || f < -exact || f > exact {
		d.failed[path] = true
		d.failValue(n, CodeOutOfRange, "too large")
		return 0, false
	}
	if f != float64(int64(f)) {
		return 0, d.wrongType(n, path, "a whole number")
	}
	return int64(f), true
}

func (d *decoder) float(n *node, path string) (float64, bool) {
	if n.shape != number {
		return 0, d.wrongType(n, path, "a number")
	}
	f, err := strconv.ParseFloat(n.scalar, 64)
	if err != nil {
		d.failed[path] = true
		d.failValue(n, CodeOutOfRange, "too large")
		return 0, false
	}
	return f, true
}

// invalid reports the value of n, which must satisfy a requirement, and returns
// false.
func (f field) invalid(n *node, requirement string) bool {
	f.failed[f.path] = true
	f.failValue(n, CodeOutOfRange, requirement)
	return false
}

// wrongType reports n, which must be something else, and returns false.
func (d *decoder) wrongType(n *node, path, want string) bool {
	d.failed[path] = true
	if n.shape == text && strings.Contains(n.scalar, "{{") {
		return false // refused as a template already
	}
	if d.flagFor != nil || n.shape < list {
		d.failValue(n, CodeWrongType, "must be "+want)
	} else {
		d.failValue(n, CodeWrongType, "must be "+want+", not "+n.shape.String())
	}
	return false
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
