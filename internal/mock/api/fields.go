package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fastjson"
)

// Fields reads typed members of a JSON object and keeps the first error. A null member
// counts as missing.
type Fields struct {
	Value *fastjson.Value
	Err   *Error  // of the outermost object
	outer *Fields // the object whose error this one shares; nil = it is the outermost
}

// In returns the fields of an object within this one, which share its error.
func (f *Fields) In(v *fastjson.Value) *Fields { return &Fields{Value: v, outer: f.outermost()} }

func (f *Fields) outermost() *Fields {
	if f.outer != nil {
		return f.outer
	}
	return f
}

// Failed reports whether there was an error.
func (f *Fields) Failed() bool { return f.outermost().Err != nil }

// Refuse keeps an error about a parameter, unless there is one already.
func (f *Fields) Refuse(param, message string) { f.Reject(BadRequest(param, message)) }

// Reject keeps an error, unless there is one already.
func (f *Fields) Reject(e *Error) {
	if root := f.outermost(); root.Err == nil {
		root.Err = e
	}
}

// Fail keeps an error about a member of the wrong type, unless there is one already.
func (f *Fields) Fail(name, want string) {
	if !f.Failed() {
		f.Refuse(name, fmt.Sprintf("Input should be a valid %s: %s", want, name))
	}
}

// Get returns a member; ok is false if it is missing or null.
func (f *Fields) Get(name string) (*fastjson.Value, bool) {
	v := f.Value.Get(name)
	return v, v != nil && v.Type() != fastjson.TypeNull
}

// OneOf reads the first of several members that is present; "" if none is.
func (f *Fields) OneOf(names ...string) string {
	for _, name := range names {
		if _, ok := f.Get(name); ok {
			return name
		}
	}
	return ""
}

// List returns the items of a member that must be a list with at least one item; want is
// what the error asks for.
func (f *Fields) List(name, want string) []*fastjson.Value {
	v, _ := f.Get(name)
	items := v.GetArray()
	if len(items) == 0 {
		f.Fail(name, want)
	}
	return items
}

// Member reads a member that is an object; nil if it is missing.
func (f *Fields) Member(name string) *fastjson.Value {
	v, ok := f.Get(name)
	if !ok {
		return nil
	}
	if v.Type() != fastjson.TypeObject {
		f.Fail(name, "dictionary")
		return nil
	}
	return v
}

// Object returns the fields of a member that is an object; an absent one has none.
func (f *Fields) Object(name string) *Fields { return f.In(f.Member(name)) }

// Boolean reads a boolean member; otherwise is the value of a missing one.
func (f *Fields) Boolean(name string, otherwise bool) bool {
	v, ok := f.Get(name)
	if !ok {
		return otherwise
	}
	b, err := v.Bool()
	if err != nil {
		f.Fail(name, "boolean")
	}
	return b
}

// Flag reads a boolean member; false if it is missing.
func (f *Fields) Flag(name string) bool { return f.Boolean(name, false) }

// Text reads a string member; "" if it is missing.
func (f *Fields) Text(name string) string {
	v, ok := f.Get(name)
	if !ok {
		return ""
	}
	b, err := v.StringBytes()
	if err != nil {
		f.Fail(name, "string")
	}
	return string(b)
}

// Integer reads an integer member; ok is false if it is missing.
func (f *Fields) Integer(name string) (int, bool) {
	v, ok := f.Get(name)
	if !ok {
		return 0, false
	}
	x, err := v.Float64()
	if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
		f.Fail(name, "integer")
		return 0, false
	}
	return int(x), true
}

// Count reads an integer of at least least; 0 if it is missing.
func (f *Fields) Count(name string, least int) int {
	n, ok := f.Integer(name)
	if ok && n < least {
		f.Refuse(name, fmt.Sprintf("%s must be at least %d, got %d.", name, least, n))
	}
	return n
}

// Within reads an integer within a range; other is the value of a missing one.
func (f *Fields) Within(name string, low, high, other int) int {
	n, ok := f.Integer(name)
	if !ok {
		return other
	}
	if n < low || n > high {
		f.Refuse(name, fmt.Sprintf("%s must be between %d and %d, got %d.", name, low, high, n))
	}
	return n
}

// Seed reads a seed under the first of the names that is present.
func (f *Fields) Seed(names ...string) uint64 {
	for _, name := range names {
		if n, ok := f.Integer(name); ok {
			return uint64(n)
		}
	}
	return 0
}

// maxDimensions is the maximum number of dimensions of a request.
const maxDimensions = 8192

// Dimensions reads the number of dimensions of the vectors.
func (f *Fields) Dimensions(otherwise int) int {
	if n := f.Within("dimensions", 1, maxDimensions, otherwise); n >= 1 && n <= maxDimensions {
		return n
	}
	return otherwise // there is an error, and vectors may be computed before it is looked at
}

// Base64 reports whether vectors are encoded in base64.
func (f *Fields) Base64() bool {
	switch format := f.Text("encoding_format"); format {
	case "", "float":
	case "base64":
		return true
	default:
		f.Refuse("encoding_format", fmt.Sprintf("Input should be 'float' or 'base64', got %q.", format))
	}
	return false
}

// Texts reads a member that is a text or a list of texts; list reports which. A text may
// be wrapped in an object: {"text": …}, or {"content": parts}, whose media become
// separate words.
func (f *Fields) Texts(name string) (texts []string, list bool) {
	v, ok := f.Get(name)
	if !ok {
		f.Fail(name, "string or list")
		return nil, false
	}
	items := []*fastjson.Value{v}
	if list = v.Type() == fastjson.TypeArray; list {
		items = v.GetArray()
	}
	texts = make([]string, len(items))
	for i, item := range items {
		if texts[i], ok = TextOf(item); !ok {
			f.Fail(name, "string or list of strings")
		}
	}
	return texts, list
}

// maxParts is the maximum number of parts of a form.
const maxParts = 1000

// upload is a file of a form.
type upload struct {
	Name string // of its field
	Data []byte // a part of the body
}

// Form reads typed fields of a form and keeps the first error.
type Form struct {
	Values map[string][]string
	Files  []upload
	Err    *Error
}

// ReadForm reads a form (RFC 7578) from a complete body. Files do not keep the memory
// of body alive.
func ReadForm(r *http.Request, body []byte) *Form {
	f := &Form{Values: make(map[string][]string)}
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "multipart/form-data" || params["boundary"] == "" {
		f.Err = BadRequest("", "Input should be a multipart form, with its boundary in the Content-Type.")
		return f
	}
	parts := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for range maxParts {
		p, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return f
		}
		var content []byte
		if err == nil {
			content, err = io.ReadAll(p)
		}
		if err != nil {
			f.Err = BadRequest("", "There was an error parsing the body: "+firstLine(err))
			return f
		}
		if p.FileName() != "" {
			f.Files = append(f.Files, upload{p.FormName(), content})
		} else {
			f.Values[p.FormName()] = append(f.Values[p.FormName()], string(content))
		}
	}
	f.Err = BadRequest("", "Too many parts: at most "+strconv.Itoa(maxParts)+" are accepted.")
	return f
}

// Fail keeps an error about a field, unless there is one already.
func (f *Form) Fail(name, message string) {
	if f.Err == nil {
		f.Err = BadRequest(name, message)
	}
}

// Text returns the last value of a field; "" if it is missing.
func (f *Form) Text(name string) string {
	if v := f.Values[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// Need returns the value of a required field.
func (f *Form) Need(name string) string {
	v := f.Text(name)
	if v == "" {
		f.Fail(name, "Field required: "+name)
	}
	return v
}

// Boolean reads a boolean field; false if it is missing.
func (f *Form) Boolean(name string) bool {
	switch strings.ToLower(f.Text(name)) {
	case "", "false", "0", "off", "no":
		return false
	case "true", "1", "on", "yes":
		return true
	}
	f.Fail(name, "Input should be a valid boolean: "+name)
	return false
}

// Integer reads an integer from low to high; other is the value of a missing field.
func (f *Form) Integer(name string, low, high, other int) int {
	text := f.Text(name)
	if text == "" {
		return other
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		f.Fail(name, name+" must be an integer from "+strconv.Itoa(low)+" to "+strconv.Itoa(high)+".")
		return other
	}
	return n
}

// NeedFiles returns the files of the fields with these names, at least one.
func (f *Form) NeedFiles(names ...string) [][]byte {
	var out [][]byte
	for _, u := range f.Files {
		if slices.Contains(names, u.Name) {
			out = append(out, u.Data)
		}
	}
	if len(out) == 0 {
		f.Fail(names[0], "Field required: "+names[0])
	}
	return out
}
