package api

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

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
