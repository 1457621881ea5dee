package schema

import (
	_ "embed"
	"math"
	"slices"
	"strings"
	"sync"

	"aiperfd/internal/engine/config/tree"
)

// Field is a row of the table of fields: what a document may have at a path, and what that means.
// The decoder, the defaults, the reference, the JSON Schema and completion read it. The Go type of
// the field's value stands in the struct of its section.
type Field struct {
	Path     string // canonical, with * for an index or a name
	Required bool   // an object without this member, or with null, is refused
	Forms    []Form // short forms of the value
	// Form is version for a text that may be written as a number, infinite for a duration that may
	// be "inf", proxy for the URL of a proxy, collector and mlflow for those of such servers, path for a path of a server, and file for that of a file.
	Form string
	// Flags are the options of the command line that give the field, by their main spellings, blanks
	// between: of a distribution its mean and its spread, of a phase also those of the warm-up.
	Flags string

	Choices string // accepted texts, blanks between; "" = any
	List    string // name of a closed list that other packages define; "" = none

	Above *float64 // the number must be greater
	Least *float64 // smallest number; of a distribution, smallest value
	Most  *float64 // greatest number

	MinLength int // characters, or elements of a list
	MaxLength int // 0 = [MaxText] bytes or [MaxList] elements; [Unlimited]
	MaxBytes  int // of a text; 0 = [MaxText]

	// Value is the default, if it is the same in all documents that have one: a string, bool, int,
	// float64 (also of a duration and for the mean of a distribution), or a list of them. nil = the
	// field is absent by default, or a rule chooses its value.
	Value   any
	Unit    string // "" = none, or s for a duration
	Default string // in words, if it is not the same in every document

	// AIPerf are the members of an object as AIPerf shows them, in its order; "" = as its type has
	// them. Own are members that only aiperfd has, and shows if they differ from their defaults.
	AIPerf, Own string
	Lacks       []Lack // the members of an object that aiperfd does not support, in AIPerf's order
	Lacked      string // AIPerf's choices that aiperfd does not support; a name that ends in * is a prefix
}

// Unlimited is the MaxLength of lists that only the size of the document limits.
const Unlimited = math.MaxInt

// Form is a short form of a value.
type Form uint8

// The short forms.
const (
	FormElement  Form = iota // of a list: its only element
	FormList                 // the list itself, for an object with the member items
	FormName                 // the member name of an object
	FormSwitch               // true is the object with its defaults, false is none
	FormScalar               // a number or a boolean, for a text
	FormBoolean              // true and false, for a choice
	FormNumber               // a number or its text, for an object
	FormDuration             // a duration, which is the first member of an object
	FormPoints               // the list that is the member points of an object, or its member path
	FormGroups               // an object of lists, for a list
	FormJSON                 // [json] is true
	FormURL                  // a boolean, a URL or a list of them: the members enabled and urls of an object
)

// section is a part of the table, whose paths are below a prefix; "" is the prefix itself.
type section struct {
	prefix string
	plain  string // further members, blanks between, that have no limits, no default and no flags
	rows   []Field
}

// Fields returns the table, by sections.
func Fields() []Field {
	var all []Field
	for _, s := range slices.Concat(documentFields(), endpointFields(), datasetFields(), phaseFields(), sweepFields()) {
		for name := range strings.FieldsSeq(s.plain) {
			s.rows = append(s.rows, Field{Path: name})
		}
		for _, row := range s.rows {
			row.Path = strings.Trim(s.prefix+"."+row.Path, ".")
			all = append(all, row)
		}
	}
	return all
}

var fieldsByPath = sync.OnceValue(func() map[string]Field {
	rows := make(map[string]Field)
	for _, f := range Fields() {
		rows[f.Path] = f
	}
	return rows
})

// FieldAt returns the row of a canonical path. The zero Field, which has no limits, is for paths
// without a row.
func FieldAt(path string) Field { return fieldsByPath()[tree.GenericPath(path)] }

//go:embed fields.md
var fieldsText string

// FieldTexts returns what fields mean, in one or two sentences of Markdown, by path. A field that
// has none means what the help of its flag says.
func FieldTexts() map[string]string {
	texts := make(map[string]string)
	_, sections, _ := strings.Cut(fieldsText, "\n## ") // behind the heading of the file
	for section := range strings.SplitSeq(sections, "\n## ") {
		path, text, _ := strings.Cut(section, "\n")
		texts[strings.TrimPrefix(path, "(document)")] = strings.TrimSpace(text)
	}
	return texts
}

// textBytes returns the number of bytes that a text may have. MaxLength is in characters.
func (f *Field) textBytes() int {
	if f.MaxBytes > 0 {
		return f.MaxBytes
	}
	return max(MaxText, f.MaxLength)
}

// Longest returns the greatest length: of a text in characters or bytes, of a list in elements.
func (f *Field) Longest(list bool) int {
	switch {
	case f.MaxLength > 0:
		return f.MaxLength
	case list:
		return MaxList
	}
	return f.textBytes()
}
