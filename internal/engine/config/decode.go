package config

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/go-playground/validator/v10"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/config/unsupported"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/suggest"
)

// decodable is a value with a special form in documents.
type decodable interface {
	// decode reads n and reports its problems. It returns false if it could
	// not read a value for the rules in the field's tag to check.
	decode(f field, n *tree.Node) bool
}

// field is the place in the document that a value is decoded into.
type field struct {
	*decoder
	path string // canonical
	tag  reflect.StructTag
}

// decoder reads nodes into the fields of the document. Keys match the fields'
// JSON names. Next to validate, these tags restrict the values of a field:
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
func (d *decoder) document(root *tree.Node) {
	d.given[""] = root
	d.object(root, reflect.ValueOf(d.doc).Elem(), "")
}

// object reads the members of n into the fields of a struct. Keys match the
// fields' JSON names, in camelCase or snake_case.
func (d *decoder) object(n *tree.Node, v reflect.Value, path string) {
	if n.Shape != tree.Object {
		d.wrongType(n, path, "an object")
		return
	}
	seen := make(map[string]bool)
	for _, m := range n.Members {
		f, name, ok := FieldNamed(v.Type(), m.Name)
		if !ok {
			d.notOurs(m, v.Type(), path)
			continue
		}
		full := Join(path, name)
		if seen[name] {
			d.Fail(m.Place, problem.CodeConflict, "%q is given twice, with different spellings", name)
			continue
		}
		seen[name] = true
		if m.Value.Shape == tree.Null || d.ownedByServer(m, full) {
			continue
		}
		d.given[full] = m.Value
		d.value(m.Value, v.FieldByIndex(f.Index), f.Tag, full)
	}
}

// fields reads n into the struct that p points to.
func (d *decoder) fields(n *tree.Node, p any, path string) {
	d.object(n, reflect.ValueOf(p).Elem(), path)
}

// FieldNamed finds the field of t for a key.
func FieldNamed(t reflect.Type, key string) (reflect.StructField, string, bool) {
	for f := range t.Fields() {
		name := FieldName(f)
		if name != "" && (key == name || key == tree.SnakeCase(name)) {
			return f, name, true
		}
	}
	return reflect.StructField{}, "", false
}

// FieldName is the JSON name of a field, or "" for fields that documents do not
// have.
func FieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" {
		return ""
	}
	return name
}

// notOurs reports a key that no field has: an unsupported feature of
// AIPerf, or a mistake.
func (d *decoder) notOurs(m tree.Member, t reflect.Type, path string) {
	if d.Full() {
		return
	}
	known := unsupported.Fields(path)
	for _, f := range known {
		if m.Name == f.Name || m.Name == tree.SnakeCase(f.Name) {
			d.unsupported(m.Value, f)
			return
		}
	}
	names := make([]string, 0, t.NumField()+len(known))
	for field := range t.Fields() {
		if name := FieldName(field); name != "" {
			names = append(names, name)
		}
	}
	for _, f := range known {
		names = append(names, f.Name)
	}
	d.unknown(m, names)
}

// unsupported accepts the value that switches f off and reports any other.
func (d *decoder) unsupported(n *tree.Node, f unsupported.Field) {
	bad := f.Difference(n)
	switch {
	case bad == nil:
		if on := n.Get("enabled"); on != nil && on.Scalar == "true" {
			d.Warn(n.Place, problem.CodeNoEffect, "%s is not supported by aiperfd yet; no data is collected", f.What)
		}
	case f.Inert:
		d.Warn(n.Place, problem.CodeNoEffect, "%s has no effect: aiperfd is a single process without a message bus", problem.Label(n.Place))
	case f.Name == "userFiles" && d.options.Untrusted, f.Name == "trustRemoteCode" && d.options.Untrusted:
		d.Fail(bad.Place, problem.CodeNotAllowed, "%s: %s is not allowed here", problem.Label(bad.Place), f.What)
	default:
		d.Fail(bad.Place, problem.CodeUnsupported, "%s: not supported by aiperfd yet: %s", problem.Label(bad.Place), f.What)
	}
}

func (d *decoder) unknown(m tree.Member, known []string) {
	d.Fail(m.Place, problem.CodeUnknownField, "unknown field %q%s", problem.Clip(m.Name), suggest.DidYouMean(m.Name, known))
}

// ownedByServer reports whether a daemon sets the field itself, and warns.
func (d *decoder) ownedByServer(m tree.Member, path string) bool {
	if !d.options.Untrusted {
		return false
	}
	switch path {
	case "benchmark.runtime", "benchmark.logging", "benchmark.client.strict", "benchmark.artifacts.dir":
		d.Warn(m.Place, problem.CodeServerOwned, "%s is set by the server; the value is ignored", m.Name)
		return true
	}
	return false
}

// value reads n into v, which may be a pointer, and applies the field's rules.
func (d *decoder) value(n *tree.Node, v reflect.Value, tag reflect.StructTag, path string) {
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
	switch to := v.Addr().Interface().(type) {
	case decodable:
		ok = to.decode(f, n)
	case *secret.Text:
		ok = f.secret(n, to)
	case *secret.URL:
		ok = f.url(n, to)
	default:
		ok = f.plain(n, v)
	}
	if ok {
		f.rules(n, v)
	}
}

// plain reads Go's own kinds.
func (f field) plain(n *tree.Node, v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Struct:
		f.object(n, v, f.path)
		return true
	case reflect.Slice:
		return f.list(n, v)
	case reflect.Bool:
		if n.Shape != tree.Boolean {
			return f.wrongType(n, f.path, "true or false")
		}
		v.SetBool(n.Scalar == "true")
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
		if !n.IsText() && !(n.Shape == tree.Number && f.tag.Get("form") == "version") {
			return f.wrongType(n, f.path, "a string")
		}
		v.SetString(n.Scalar)
	}
	return true
}

func (f field) list(n *tree.Node, v reflect.Value) bool {
	if n.Shape != tree.List {
		return f.wrongType(n, f.path, "a list")
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items)))
	for i, item := range n.Items {
		at := Join(f.path, strconv.Itoa(i))
		f.given[at] = item
		f.value(item, v.Index(i), "", at) // the rules in the tag are for the list
	}
	return true
}

// secret reads a text.
func (f field) secret(n *tree.Node, to *secret.Text) bool {
	v, ok := f.secretText(n, f.path)
	*to = secret.New(v)
	return ok
}

// url reads a base URL, or the URL of a proxy if that is the form of the field.
func (f field) url(n *tree.Node, to *secret.URL) bool {
	raw, ok := f.secretText(n, f.path)
	if !ok {
		return false
	}
	parse := secret.ParseURL
	if f.tag.Get("form") == "proxy" {
		parse = secret.ParseProxy
	}
	u, requirement := parse(raw)
	if requirement != "" {
		return f.invalid(n, requirement)
	}
	*to = u
	return true
}

// secretText reads a text that may be secret and is not a placeholder.
func (d *decoder) secretText(n *tree.Node, path string) (string, bool) {
	if !n.IsText() {
		d.failed[path] = true
		d.Fail(n.Place, problem.CodeWrongType, "%s: must be a string", problem.Label(n.Place))
		return "", false
	}
	if d.options.Stored {
		return strings.ReplaceAll(n.Scalar, redact.Placeholder, "redacted"), true
	}
	if strings.Contains(n.Scalar, redact.Placeholder) || strings.Contains(strings.ToLower(n.Scalar), "%3credacted%3e") {
		d.failed[path] = true
		d.Fail(n.Place, problem.CodeRedacted, "%s: contains a redaction placeholder; give the actual value", problem.Label(n.Place))
		return "", false
	}
	d.doc.injected = append(d.doc.injected, n.Secrets...)
	return n.Scalar, true
}

// integer accepts 10, 10.0 and 1e1.
func (d *decoder) integer(n *tree.Node, path string) (int64, bool) {
	const exact = 1 << 53
	if n.Shape != tree.Number {
		return 0, d.wrongType(n, path, "a whole number")
	}
	if i, err := strconv.ParseInt(n.Scalar, 10, 64); err == nil {
		return i, true
	}
	f, err := strconv.ParseFloat(n.Scalar, 64)
	if err != nil || f < -exact || f > exact {
		d.failed[path] = true
		d.FailValue(n, problem.CodeOutOfRange, "too large")
		return 0, false
	}
	if f != float64(int64(f)) {
		return 0, d.wrongType(n, path, "a whole number")
	}
	return int64(f), true
}

func (d *decoder) float(n *tree.Node, path string) (float64, bool) {
	if n.Shape != tree.Number {
		return 0, d.wrongType(n, path, "a number")
	}
	f, err := strconv.ParseFloat(n.Scalar, 64)
	if err != nil {
		d.failed[path] = true
		d.FailValue(n, problem.CodeOutOfRange, "too large")
		return 0, false
	}
	return f, true
}

// invalid reports the value of n, which must satisfy a requirement, and returns
// false.
func (f field) invalid(n *tree.Node, requirement string) bool {
	f.failed[f.path] = true
	f.FailValue(n, problem.CodeOutOfRange, requirement)
	return false
}

// wrongType reports n, which must be something else, and returns false.
func (d *decoder) wrongType(n *tree.Node, path, want string) bool {
	d.failed[path] = true
	if n.Shape == tree.Text && strings.Contains(n.Scalar, "{{") {
		return false // refused as a template already
	}
	if d.flagFor != nil || n.Shape < tree.List {
		d.FailValue(n, problem.CodeWrongType, "must be "+want)
	} else {
		d.FailValue(n, problem.CodeWrongType, "must be "+want+", not "+n.Shape.String())
	}
	return false
}

// Join returns the canonical path of a member or element below path.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
