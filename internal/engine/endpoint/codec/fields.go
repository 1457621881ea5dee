package codec

import (
	"encoding/json"
	"slices"
	"strings"
)

// Bodies of the APIs that know neither conversations nor stream_options are flat
// lists of fields: the dialect's own, and the user's laid over them.

// MergeExtra lays the extra inputs of the run and of the turn over fields, in this
// order. Fields that the dialect keeps for itself are passed over.
func MergeExtra(fields []Field, r *Request, reserved ...string) ([]Field, error) {
	err := eachExtra(r, func(f Field) {
		if !slices.Contains(reserved, f.Name) {
			fields = SetField(fields, f.Name, f.Value)
		}
	})
	if err != nil {
		return nil, err
	}
	return fields, nil
}

// FieldValue returns the value of a field; nil = it is not there.
func FieldValue(fields []Field, name string) json.RawMessage {
	for _, f := range fields {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// IsTrue reports whether a field is true, in JSON or as a text.
func IsTrue(fields []Field, name string) bool { return formValue(FieldValue(fields, name)) == "true" }

// JoinTexts is the text of a turn for APIs that take one.
func JoinTexts(r *Request) string { return strings.Join(r.Turn.Texts, " ") }
