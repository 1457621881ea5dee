package api

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jsonappend"
)

// Object reads a member that is an object; an absent one has no members.
func (f *Fields) Object(name string) *Fields {
	v, ok := f.Get(name)
	if ok && v.Type() != fastjson.TypeObject {
		f.Fail(name, "dictionary")
	}
	if !ok {
		v = nil
	}
	return &Fields{Value: v, Err: f.Err}
}

// Count reads an integer of at least least; 0 if it is missing.
func (f *Fields) Count(name string, least int) int {
	n, ok := f.Integer(name)
	if !ok {
		return 0
	}
	if n < least && f.Err == nil {
		f.Err = apierror.BadRequest(name, fmt.Sprintf("%s must be at least %d, got %d.", name, least, n))
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

// Required reads a required string.
func (f *Fields) Required(m *Model, name string) []Prompt {
	v, ok := f.Get(name)
	if !ok || v.Type() != fastjson.TypeString {
		f.Fail(name, "string")
		return nil
	}
	return []Prompt{TextPrompt(m, v.GetStringBytes())}
}

// AppendText appends a JSON string with the tokens from … to−1 of c.
func AppendText(dst []byte, c *Choice, from, to int) []byte {
	dst = c.AppendTokens(append(dst, '"'), from, to)
	return append(dst, '"')
}

// AppendSimpleError appends {"error": message}, the form of TGI, Ollama and Triton.
func AppendSimpleError(dst []byte, message string) []byte {
	dst = jsonappend.String(append(dst, `{"error":`...), message)
	return append(dst, '}')
}

// SetMillis sets a header to a duration in milliseconds.
func SetMillis(h http.Header, name string, d time.Duration) {
	h.Set(name, strconv.FormatInt(d.Milliseconds(), 10))
}

// AppendSeconds appends d in seconds, to the microsecond.
func AppendSeconds(dst []byte, d time.Duration) []byte {
	return strconv.AppendFloat(dst, math.Round(d.Seconds()*1e6)/1e6, 'f', -1, 64)
}

// Within reads an integer within a range; other is the value of a missing one.
func (f *Fields) Within(name string, low, high, other int) int {
	n, ok := f.Integer(name)
	if !ok {
		return other
	}
	if (n < low || n > high) && f.Err == nil {
		f.Err = apierror.BadRequest(name, fmt.Sprintf("%s must be between %d and %d, got %d.", name, low, high, n))
	}
	return n
}

// maxDimensions is the maximum number of dimensions of a request.
const maxDimensions = 8192

// Dimensions reads the number of dimensions of the vectors.
func (f *Fields) Dimensions(otherwise int) int {
	n, ok := f.Integer("dimensions")
	if !ok {
		return otherwise
	}
	if (n < 1 || n > maxDimensions) && f.Err == nil {
		f.Err = apierror.BadRequest("dimensions", fmt.Sprintf("dimensions must be between 1 and %d, got %d.", maxDimensions, n))
		return otherwise
	}
	return n
}

// Base64 reports whether vectors are encoded in base64.
func (f *Fields) Base64() bool {
	switch format := f.Text("encoding_format"); format {
	case "", "float":
		return false
	case "base64":
		return true
	default:
		if f.Err == nil {
			f.Err = apierror.BadRequest("encoding_format", fmt.Sprintf("Input should be 'float' or 'base64', got %q.", format))
		}
		return false
	}
}
