// Package schema has the table of the fields of documents: the form, the limits and the constant
// default of each, short forms, and the fields of AIPerf's document that aiperfd does not support.
// Its decoder reads the tree of a document into structs: strictly, with a problem for each value
// that a field does not accept. Defaults that depend on other fields are those of package config.
package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-playground/validator/v10"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/suggest"
)

// Decodable is a value with a special form in documents.
type Decodable interface {
	// Decode reads n and reports its problems. It returns false if it could
	// not read a value for the rules in the field's tag to check.
	Decode(f Target, n *tree.Node) bool
}

// Target is the place in the document that a value is decoded into.
type Target struct {
	*Decoder
	Path string // canonical
	Row  Field
}

// DecodeOptions describe the surroundings of a document.
type DecodeOptions struct {
	Untrusted bool // from the network: the fields of the server are ignored with a warning
	Stored    bool // read back redacted: placeholders replace the secrets
	Flags     bool // made from flags alone, so that a wrong shape is a wrong value
	// IgnoreUnsupported leaves out unsupported fields that are [Lack.Extra].
	IgnoreUnsupported bool
	// ServerOwned are the canonical paths that a daemon sets itself.
	ServerOwned []string
	// Lists returns the closed list of a name, see [Field].
	Lists func(name string) []Choice
}

// Given are the values that a document gives: canonical path → value, null values left out.
type Given map[string]*tree.Node

// At returns the node that gave a canonical path; nil = the document does not give it, or gives null.
func (g Given) At(path string) *tree.Node { return g[path] }

// Has reports whether the document gave a value other than null.
func (g Given) Has(path string) bool { return g[path] != nil }

// Where returns the place of a path, or of the nearest given parent with the
// missing names added to its pointer.
func (g Given) Where(path string) tree.Place {
	missing := ""
	for {
		if n := g[path]; n != nil {
			at := n.Place
			at.Pointer += missing
			return at
		}
		cut := strings.LastIndexByte(path, '.')
		missing = "/" + path[cut+1:] + missing
		path = path[:max(cut, 0)]
	}
}

// Decoder reads nodes into the fields of structs. Keys match the fields'
// JSON names; the table of fields restricts their values, see [FieldAt].
//
// Decodable values may read and change its fields.
type Decoder struct {
	*problem.Report
	Given
	Options  DecodeOptions
	Failed   map[string]bool // canonical paths whose value could not be read
	Injected []string        // values that substitutions put into secret places
	validate *validator.Validate

	Confidential []string // those of Injected that ${secret:NAME} gave
}

// NewDecoder returns a decoder that reports problems to r.
func NewDecoder(r *problem.Report, o DecodeOptions) *Decoder {
	return &Decoder{
		Report: r, Options: o, Given: make(Given), Failed: make(map[string]bool),
		validate: validator.New(),
	}
}

// Document reads a whole tree into the struct that p points to.
func (d *Decoder) Document(root *tree.Node, p any) {
	d.Given[""] = root
	d.object(root, reflect.ValueOf(p).Elem(), "")
	root.Walk(func(n *tree.Node) {
		if n.Confidential {
			d.Fail(n.Place, problem.CodeNotAllowed, "%s: cannot be a secret; use it in the API key, a header, a URL parameter, extra, or inline records",
				problem.Label(n.Place))
		}
	})
}

// object reads the members of n into the fields of a struct. Keys match the
// fields' JSON names, in camelCase or snake_case.
func (d *Decoder) object(n *tree.Node, v reflect.Value, path string) {
	if n.Shape != tree.Object {
		d.WrongType(n, path, "an object")
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
		d.Given[full] = m.Value
		d.value(m.Value, v.FieldByIndex(f.Index), FieldAt(full), full)
	}
}

// Fields reads n into the struct that p points to.
func (d *Decoder) Fields(n *tree.Node, p any, path string) {
	d.object(n, reflect.ValueOf(p).Elem(), path)
}

// FieldNamed finds the field of t for a key.
func FieldNamed(t reflect.Type, key string) (reflect.StructField, string, bool) {
	for f := range t.Fields() {
		name := FieldName(f)
		if name != "" && (key == name || strings.Contains(key, "_") && key == tree.SnakeCase(name)) {
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
func (d *Decoder) notOurs(m tree.Member, t reflect.Type, path string) {
	if d.Full() {
		return
	}
	known := FieldAt(path).Lacks
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
	d.Unknown(m, append(names, shortNames(path)...))
}

// unsupported accepts the value that switches f off and reports any other.
func (d *Decoder) unsupported(n *tree.Node, f Lack) {
	bad := f.Difference(n)
	switch {
	case bad == nil:
		if on := n.Get("enabled"); on != nil && on.Scalar == "true" {
			d.Warn(n.Place, problem.CodeNoEffect, "%s is not supported by aiperfd yet; no data is collected", f.What)
		}
	case f.Inert:
		d.Warn(n.Place, problem.CodeNoEffect, "%s has no effect: aiperfd is a single process without a message bus", problem.Label(n.Place))
	case f.Extra && d.Options.IgnoreUnsupported:
		d.Warn(n.Place, problem.CodeNoEffect, "%s: ignored, since %s is not supported by aiperfd yet", problem.Label(n.Place), f.What)
	case f.Extra:
		d.Fail(bad.Place, problem.CodeUnsupported, "%s: not supported by aiperfd yet: %s; --ignore-unsupported "+
			"(ignoreUnsupported: true in the document) runs without it", problem.Label(bad.Place), f.What)
	case f.Name == "trustRemoteCode" && d.Options.Untrusted:
		d.Fail(bad.Place, problem.CodeNotAllowed, "%s: %s is not allowed here", problem.Label(bad.Place), f.What)
	default:
		d.Fail(bad.Place, problem.CodeUnsupported, "%s: not supported by aiperfd yet: %s", problem.Label(bad.Place), f.What)
	}
}

// Unknown reports a member whose name is none of the known ones.
func (d *Decoder) Unknown(m tree.Member, known []string) {
	d.Fail(m.Place, problem.CodeUnknownField, "unknown field %q%s", problem.Clip(m.Name), suggest.DidYouMean(m.Name, known))
}

// ownedByServer reports whether a daemon sets the field itself, and warns.
func (d *Decoder) ownedByServer(m tree.Member, path string) bool {
	if !d.Options.Untrusted {
		return false
	}
	if slices.Contains(d.Options.ServerOwned, path) {
		d.Warn(m.Place, problem.CodeServerOwned, "%s is set by the server; the value is ignored", m.Name)
		return true
	}
	return false
}

// value reads n into v, which may be a pointer, and applies the field's rules.
func (d *Decoder) value(n *tree.Node, v reflect.Value, row Field, path string) {
	if v.Kind() == reflect.Pointer {
		optional := v
		v = reflect.New(v.Type().Elem()).Elem()
		defer func() {
			if !d.Failed[path] {
				optional.Set(v.Addr())
			}
		}()
	}
	f := Target{d, path, row}
	ok := false
	switch to := v.Addr().Interface().(type) {
	case Decodable:
		ok = to.Decode(f, n)
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
func (f Target) plain(n *tree.Node, v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Struct:
		f.object(n, v, f.Path)
		return true
	case reflect.Slice:
		return f.list(n, v)
	case reflect.Bool:
		if n.Shape != tree.Boolean {
			return f.WrongType(n, f.Path, "true or false")
		}
		v.SetBool(n.Scalar == "true")
	case reflect.Int, reflect.Int64:
		i, ok := f.integer(n, f.Path)
		if !ok {
			return false
		}
		v.SetInt(i)
	case reflect.Float64:
		x, ok := f.Float(n, f.Path)
		if !ok {
			return false
		}
		v.SetFloat(x)
	case reflect.String:
		if !n.IsText() && !(n.Shape == tree.Number && f.Row.Form == "version") {
			return f.WrongType(n, f.Path, "a string")
		}
		if most := f.Row.textBytes(); len(n.Scalar) > most && !f.Options.Stored {
			return f.Invalid(n, fmt.Sprintf("must have at most %d bytes, not %d", most, len(n.Scalar)))
		}
		v.SetString(n.Scalar)
	}
	return true
}

func (f Target) list(n *tree.Node, v reflect.Value) bool {
	if n.Shape != tree.List {
		return f.WrongType(n, f.Path, "a list")
	}
	if most := f.Row.Longest(true); len(n.Items) > most && !f.Options.Stored {
		return f.Invalid(n, fmt.Sprintf("takes at most %d elements, not %d", most, len(n.Items)))
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items)))
	for i, item := range n.Items {
		at := Join(f.Path, strconv.Itoa(i))
		f.Given[at] = item
		f.value(item, v.Index(i), Field{Form: f.Row.Form}, at) // the limits of the row are those of the list
	}
	return true
}

// secret reads a text.
func (f Target) secret(n *tree.Node, to *secret.Text) bool {
	v, ok := f.SecretText(n, f.Path)
	*to = secret.New(v)
	return ok
}

// url reads a base URL, or the URL of a proxy or a path if that is the form of the field.
func (f Target) url(n *tree.Node, to *secret.URL) bool {
	confidential := n.Confidential
	raw, ok := f.SecretText(n, f.Path)
	if !ok {
		return false
	}
	if len(raw) > MaxText {
		return f.Invalid(n, fmt.Sprintf("must have at most %d bytes, not %d", MaxText, len(raw)))
	}
	parse := secret.ParseURL
	switch f.Row.Form {
	case "proxy":
		parse = secret.ParseProxy
	case "path":
		parse = secret.ParsePath
	case "mlflow":
		parse = secret.ParseMLflow
	case "collector":
		parse = secret.ParseCollector
	case "page":
		parse = secret.ParsePage
	}
	u, requirement := parse(raw)
	if requirement == "" && slices.ContainsFunc(n.Secrets, func(s string) bool { return confidential && strings.Contains(u.String(), s) }) {
		requirement = "a secret must be a password or the value of a parameter such as api_key"
	}
	if requirement != "" {
		return f.Invalid(n, requirement)
	}
	*to = u
	return true
}

// SecretText reads a text that may be secret and is not a placeholder.
func (d *Decoder) SecretText(n *tree.Node, path string) (string, bool) {
	if !n.IsText() {
		d.Failed[path] = true
		d.Fail(n.Place, problem.CodeWrongType, "%s: must be a string", problem.Label(n.Place))
		return "", false
	}
	if len(n.Scalar) > MaxSecret && !d.Options.Stored {
		d.Failed[path] = true
		d.Fail(n.Place, problem.CodeOutOfRange, "%s: must have at most %d bytes, not %d", problem.Label(n.Place), MaxSecret, len(n.Scalar))
		return "", false
	}
	if d.Options.Stored {
		return strings.ReplaceAll(n.Scalar, redact.Placeholder, "redacted"), true
	}
	if strings.Contains(n.Scalar, redact.Placeholder) || strings.Contains(strings.ToLower(n.Scalar), "%3credacted%3e") {
		d.Failed[path] = true
		d.Fail(n.Place, problem.CodeRedacted, "%s: contains a redaction placeholder; give the actual value", problem.Label(n.Place))
		return "", false
	}
	d.Take(n)
	return n.Scalar, true
}

// Take records the secrets of a node that stands where a secret may stand.
func (d *Decoder) Take(n *tree.Node) {
	d.Injected = append(d.Injected, n.Secrets...)
	if n.Confidential {
		d.Confidential = append(d.Confidential, n.Secrets...)
		n.Confidential = false
	}
}

// integer accepts 10, 10.0 and 1e1.
func (d *Decoder) integer(n *tree.Node, path string) (int64, bool) {
	const exact = 1 << 53
	if n.Shape != tree.Number {
		return 0, d.WrongType(n, path, "a whole number")
	}
	if i, err := strconv.ParseInt(n.Scalar, 10, 64); err == nil {
		return i, true
	}
	f, err := strconv.ParseFloat(n.Scalar, 64)
	if err != nil || f < -exact || f > exact {
		d.Failed[path] = true
		d.FailValue(n, problem.CodeOutOfRange, "too large")
		return 0, false
	}
	if f != float64(int64(f)) {
		return 0, d.WrongType(n, path, "a whole number")
	}
	return int64(f), true
}

// Float reads a finite number.
func (d *Decoder) Float(n *tree.Node, path string) (float64, bool) {
	if n.Shape != tree.Number {
		return 0, d.WrongType(n, path, "a number")
	}
	f, err := strconv.ParseFloat(n.Scalar, 64)
	if err != nil {
		d.Failed[path] = true
		d.FailValue(n, problem.CodeOutOfRange, "too large")
		return 0, false
	}
	return f, true
}

// Conflict reports a given value that contradicts others.
func (d *Decoder) Conflict(path, detail string) {
	at := d.Where(path)
	d.Fail(at, problem.CodeConflict, "%s: %s", problem.Label(at), detail)
}

// Invalid reports the value of n, which must satisfy a requirement, and returns
// false.
func (f Target) Invalid(n *tree.Node, requirement string) bool {
	f.Failed[f.Path] = true
	f.FailValue(n, problem.CodeOutOfRange, requirement)
	return false
}

// WrongType reports n, which must be something else, and returns false.
func (d *Decoder) WrongType(n *tree.Node, path, want string) bool {
	d.Failed[path] = true
	if n.Shape == tree.Text && n.Written != "" && strings.Contains(n.Scalar, "{{") {
		return false // a template without a result, reported already
	}
	if d.Options.Flags || n.Shape < tree.List {
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
