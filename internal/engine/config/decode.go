package config

import (
	"reflect"
	"strconv"
	"strings"

	"aiperfd/internal/engine/suggest"
)

// document reads the whole tree.
func (l *loader) document(root *node) {
	l.given[""] = root
	l.object(root, reflect.ValueOf(l.doc).Elem(), "")
}

// object reads the members of n into the fields of a struct. Keys match the
// fields' JSON names, in camelCase or snake_case.
func (l *loader) object(n *node, v reflect.Value, path string) {
	if n.shape != object {
		l.wrongType(n, path, "an object")
		return
	}
	seen := make(map[string]bool)
	for _, m := range n.members {
		field, name, ok := fieldNamed(v.Type(), m.name)
		if !ok {
			l.notOurs(m, v.Type(), path)
			continue
		}
		full := join(path, name)
		if seen[name] {
			l.fail(m.place, CodeConflict, "%q is given twice, with different spellings", name)
			continue
		}
		seen[name] = true
		if m.value.shape == null || l.ownedByServer(m, full) {
			continue
		}
		l.given[full] = m.value
		if field.Type == reflect.TypeFor[Artifacts]() {
			l.artifacts(m.value, full)
			continue
		}
		l.value(m.value, v.FieldByIndex(field.Index), field.Tag, full)
	}
}

// fields reads n into the struct that p points to.
func (l *loader) fields(n *node, p any, path string) {
	l.object(n, reflect.ValueOf(p).Elem(), path)
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
func (l *loader) notOurs(m member, t reflect.Type, path string) {
	if l.full() {
		return
	}
	known := lacking(path)
	for _, f := range known {
		if m.name == f.name || m.name == snakeCase(f.name) {
			l.refuse(m.value, f)
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
	l.unknown(m, names)
}

func (l *loader) unknown(m member, known []string) {
	l.fail(m.place, CodeUnknownField, "unknown field %q%s", clip(m.name), suggest.DidYouMean(m.name, known))
}

// ownedByServer drops what a daemon decides itself.
func (l *loader) ownedByServer(m member, path string) bool {
	if !l.options.Untrusted {
		return false
	}
	switch path {
	case "benchmark.runtime", "benchmark.logging", "benchmark.client.strict", "benchmark.artifacts.dir":
		l.warn(m.place, CodeServerOwned, "%s is set by the server; the value is ignored", m.name)
		return true
	}
	return false
}

// value reads n into v, which may be a pointer, and applies the field's rules.
func (l *loader) value(n *node, v reflect.Value, tag reflect.StructTag, path string) {
	if v.Kind() == reflect.Pointer {
		optional := v
		v = reflect.New(v.Type().Elem()).Elem()
		defer func() {
			if !l.failed[path] {
				optional.Set(v.Addr())
			}
		}()
	}
	var ok bool
	switch p := v.Addr().Interface().(type) {
	case *Seconds:
		ok = l.seconds(n, p, path)
	case *Secret:
		ok = l.secret(n, p, path)
	case *URL:
		ok = l.url(n, p, path)
	case *Distribution:
		l.distribution(n, p, tag, path)
		return
	case *Object:
		l.objectBody(n, p, path)
		return
	case *map[string]Secret:
		if path == endpointPath+".urlParams" {
			l.params(n, p, path)
		} else {
			l.headers(n, p, path)
		}
		return
	case *map[string]float64:
		l.thresholds(n, p, path)
		return
	case *map[string]string:
		l.labels(n, p, path)
		return
	default:
		ok = l.plain(n, v, path)
	}
	if ok {
		l.rules(n, v, tag, path)
	}
}

// plain reads Go's own kinds.
func (l *loader) plain(n *node, v reflect.Value, path string) bool {
	switch v.Kind() {
	case reflect.Struct:
		l.object(n, v, path)
		return true
	case reflect.Slice:
		return l.list(n, v, path)
	case reflect.Bool:
		if n.shape != boolean {
			return l.wrongType(n, path, "true or false")
		}
		v.SetBool(n.scalar == "true")
	case reflect.Int, reflect.Int64:
		i, ok := l.integer(n, path)
		if !ok {
			return false
		}
		v.SetInt(i)
	case reflect.Float64:
		f, ok := l.float(n, path)
		if !ok {
			return false
		}
		v.SetFloat(f)
	case reflect.String:
		if !n.isText() && !(n.shape == number && version(path)) {
			return l.wrongType(n, path, "a string")
		}
		v.SetString(n.scalar)
	}
	return true
}

// version reports whether the text at a path may be written as a number.
func version(path string) bool {
	return path == "schemaVersion" || path == endpointPath+".httpVersion" || path == endpointPath+".tls.minVersion"
}

func (l *loader) list(n *node, v reflect.Value, path string) bool {
	if n.shape != list {
		return l.wrongType(n, path, "a list")
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.items), len(n.items)))
	for i, item := range n.items {
		element, at := v.Index(i), join(path, strconv.Itoa(i))
		if d, ok := element.Addr().Interface().(*Dataset); ok {
			d.TurnDelayRatio = 1
		}
		l.given[at] = item
		// The rules in the tag are for the list.
		l.value(item, element, "", at)
	}
	return true
}

// integer accepts 10, 10.0 and 1e1.
func (l *loader) integer(n *node, path string) (int64, bool) {
	const exact = 1 << 53
	if n.shape != number {
		return 0, l.wrongType(n, path, "a whole number")
	}
	if i, err := strconv.ParseInt(n.scalar, 10, 64); err == nil {
		return i, true
	}
	f, err := strconv.ParseFloat(n.scalar, 64)
	if err != nil || f < -exact || f > exact {
		l.failed[path] = true
		l.failValue(n, CodeOutOfRange, "too large")
		return 0, false
	}
	if f != float64(int64(f)) {
		return 0, l.wrongType(n, path, "a whole number")
	}
	return int64(f), true
}

func (l *loader) float(n *node, path string) (float64, bool) {
	if n.shape != number {
		return 0, l.wrongType(n, path, "a number")
	}
	f, err := strconv.ParseFloat(n.scalar, 64)
	if err != nil {
		l.failed[path] = true
		l.failValue(n, CodeOutOfRange, "too large")
		return 0, false
	}
	return f, true
}

// wrongType reports n and returns false.
func (l *loader) wrongType(n *node, path, want string) bool {
	l.failed[path] = true
	if n.shape == text && strings.Contains(n.scalar, "{{") {
		return false // refused as a template already
	}
	if l.flags || n.shape < list {
		l.failValue(n, CodeWrongType, "must be "+want)
	} else {
		l.failValue(n, CodeWrongType, "must be "+want+", not "+n.shape.String())
	}
	return false
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
