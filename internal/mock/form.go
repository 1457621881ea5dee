package mock

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"

	"aiperfd/internal/mock/apierror"
)

// maxParts bounds the parts of one form.
const maxParts = 1000

// upload is a file of a form.
type upload struct {
	name string // of its field
	data []byte // a part of the body
}

// formFields reads typed fields of a form and keeps the first problem.
type formFields struct {
	values map[string][]string
	files  []upload
	err    *apierror.Error
}

// readForm reads a form (RFC 7578) that came in whole. Files keep no memory of
// body alive.
func readForm(r *http.Request, body []byte) *formFields {
	f := &formFields{values: make(map[string][]string)}
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "multipart/form-data" || params["boundary"] == "" {
		f.err = apierror.BadRequest("", "Input should be a multipart form, with its boundary in the Content-Type.")
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
			f.err = apierror.BadRequest("", "There was an error parsing the body: "+firstLine(err))
			return f
		}
		if p.FileName() != "" {
			f.files = append(f.files, upload{p.FormName(), content})
		} else {
			f.values[p.FormName()] = append(f.values[p.FormName()], string(content))
		}
	}
	f.err = apierror.BadRequest("", "Too many parts: at most "+strconv.Itoa(maxParts)+" are accepted.")
	return f
}

func (f *formFields) fail(name, message string) {
	if f.err == nil {
		f.err = apierror.BadRequest(name, message)
	}
}

// text returns the last value of a field; empty = it is not there.
func (f *formFields) text(name string) string {
	if v := f.values[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// need is text of a field that must be there.
func (f *formFields) need(name string) string {
	v := f.text(name)
	if v == "" {
		f.fail(name, "Field required: "+name)
	}
	return v
}

func (f *formFields) boolean(name string) bool {
	switch strings.ToLower(f.text(name)) {
	case "", "false", "0", "off", "no":
		return false
	case "true", "1", "on", "yes":
		return true
	}
	f.fail(name, "Input should be a valid boolean: "+name)
	return false
}

// integer returns a whole number from low to high; other is for a field that is
// not there.
func (f *formFields) integer(name string, low, high, other int) int {
	text := f.text(name)
	if text == "" {
		return other
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		f.fail(name, name+" must be an integer from "+strconv.Itoa(low)+" to "+strconv.Itoa(high)+".")
		return other
	}
	return n
}

// needFiles returns what the fields of these names hold, at least one.
func (f *formFields) needFiles(names ...string) [][]byte {
	var out [][]byte
	for _, u := range f.files {
		for _, name := range names {
			if u.name == name {
				out = append(out, u.data)
			}
		}
	}
	if len(out) == 0 {
		f.fail(names[0], "Field required: "+names[0])
	}
	return out
}

// soundSeconds returns how long a file plays: by its header if it is a WAV file,
// else as one of 128 kbit/s.
func soundSeconds(b []byte) float64 {
	const compressed = 16_000 // bytes a second
	rate, size := uint32(compressed), len(b)
	if len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WAVE" {
		for at := 12; at+8 <= len(b); {
			n := binary.LittleEndian.Uint32(b[at+4:])
			switch string(b[at : at+4]) {
			case "fmt ":
				if at+20 <= len(b) {
					rate = max(1, binary.LittleEndian.Uint32(b[at+16:]))
				}
			case "data":
				return float64(min(int64(n), int64(len(b)-at-8))) / float64(rate)
			}
			if int64(n) > int64(len(b)-at-8) {
				break
			}
			at += 8 + int(n) + int(n&1)
		}
	}
	return float64(size) / float64(rate)
}
