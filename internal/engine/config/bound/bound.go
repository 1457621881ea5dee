// Package bound has the limits of documents: how large, how deep and how long the parts of
// one can be. The loader checks them, the JSON Schema has them as maxLength and maxItems,
// and docs/document.md lists them.
package bound

import (
	"math"
	"reflect"
	"strconv"
	"strings"
)

// The limits of the text of a document, which are checked before it is parsed or while it is.
const (
	// Bytes is the size of a user's own document. The API has a lower limit.
	Bytes = 64 << 20
	// Depth is how deep lists and objects may nest.
	Depth = 64
	// Values is the number of values of a document from the network, and OwnValues that
	// of a user's own document. A value takes some 300 bytes of memory.
	Values    = 100_000
	OwnValues = 10_000_000
	// Pointer is the average length of the JSON pointers of the values in bytes; without
	// it, long names around many values would take their product in memory.
	Pointer = 256
	// Aliased is the number of values that YAML aliases may add.
	Aliased = 10_000
)

// The limits of values. Texts are measured in bytes.
const (
	// Text is the length of a text that has no limit of its own.
	Text = 4096
	// Name is the length of the name of a model, a dataset or a column.
	Name = 512
	// Prompt is the length of a text for a model and of the template of a request.
	Prompt = 1 << 20
	// Secret is the length of an API key, a header and a URL parameter.
	Secret = 64 << 10
	// List is the number of elements of a list that has no limit of its own.
	List = 1000
	// Labels is the length of the labels of all variations of a sweep together.
	Labels = 4 << 20
	// Members is the number of headers and of URL parameters.
	Members = 200
)

// TextOf returns the number of bytes that a text may have, by the tags of its field: size,
// or the rule max of validate, which the validator checks in characters.
func TextOf(tag reflect.StructTag) int {
	switch tag.Get("size") {
	case "prompt":
		return Prompt
	case "name":
		return Name
	}
	if n, ok := rule(tag); ok {
		return max(Text, n)
	}
	return Text
}

// ListOf returns the number of elements that a list may have, by the tags of its field:
// the rule max of validate, or [List]. Inline records are limited by the size of the document alone.
func ListOf(tag reflect.StructTag) int {
	if n, ok := rule(tag); ok {
		return n
	}
	if tag.Get("size") == "records" {
		return math.MaxInt
	}
	return List
}

// rule returns the parameter of the rule max.
func rule(tag reflect.StructTag) (int, bool) {
	for one := range strings.SplitSeq(tag.Get("validate"), ",") {
		if param, ok := strings.CutPrefix(one, "max="); ok {
			n, err := strconv.Atoi(param)
			return n, err == nil
		}
	}
	return 0, false
}
