package endpoint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Bodies of the APIs that know neither conversations nor stream_options are flat
// lists of fields: the dialect's own, and the user's laid over them.

// mergeExtra lays the extra inputs of the run and of the turn over fields, in this
// order. Fields that the dialect keeps for itself are passed over.
func mergeExtra(fields []Field, r *Request, reserved ...string) ([]Field, error) {
	lay := func(extra []Field) {
		for _, f := range extra {
			if !slices.Contains(reserved, f.Name) {
				fields = setField(fields, f.Name, f.Value)
			}
		}
	}
	lay(r.Settings.Extra)
	if len(r.Turn.ExtraBody) > 0 {
		extra, err := Fields(r.Turn.ExtraBody)
		if err != nil {
			return nil, fmt.Errorf("merge the turn's extra body: %w", err)
		}
		lay(extra)
	}
	return fields, nil
}

// fieldValue returns the value of a field; nil = it is not there.
func fieldValue(fields []Field, name string) json.RawMessage {
	for _, f := range fields {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// isTrue reports whether a field says true, in JSON or as a text.
func isTrue(fields []Field, name string) bool { return formValue(fieldValue(fields, name)) == "true" }

func textField(name, value string) Field { return Field{name, appendString(nil, value)} }

func numberField(name string, n int) Field { return Field{name, strconv.AppendInt(nil, int64(n), 10)} }

func trueField(name string) Field { return Field{name, json.RawMessage("true")} }

// joinTexts is the text of a turn for APIs that take one.
func joinTexts(r *Request) string { return strings.Join(r.Turn.Texts, " ") }
