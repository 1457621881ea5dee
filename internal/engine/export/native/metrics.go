package native

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
)

// metrics are results as an object by tag, in the order of the catalogue. Each says how
// its percentiles were computed.
type metrics metric.Results

// MarshalJSON implements json.Marshaler.
func (m metrics) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i := range m {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, m[i].Def.Tag), ':') // tags are plain ASCII words
		value, err := m[i].MarshalJSON()
		if err != nil {
			return nil, err
		}
		b = append(strconv.AppendQuote(append(b, `{"percentile_method":`...), string(m[i].Method())), ',')
		b = append(b, value[1:]...)
	}
	return append(b, '}'), nil
}

// flatMetrics are metrics whose statistics are also beside the member stats, where the other
// files and the API have them.
type flatMetrics metrics

// MarshalJSON implements json.Marshaler.
func (m flatMetrics) MarshalJSON() ([]byte, error) {
	var all map[string]json.RawMessage
	data, err := metrics(m).MarshalJSON()
	if err != nil || json.Unmarshal(data, &all) != nil {
		return nil, err
	}
	b := []byte{'{'}
	for i := range m {
		if i > 0 {
			b = append(b, ',')
		}
		tag := m[i].Def.Tag
		b = append(append(strconv.AppendQuote(b, tag), ':'), all[tag]...)
		const name = `"stats":{`
		stats := all[tag][bytes.LastIndex(all[tag], []byte(name))+len(name):]
		if len(stats) > len("}}") {
			b = append(append(b[:len(b)-1], ','), stats[:len(stats)-1]...)
		}
	}
	return append(b, '}'), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *flatMetrics) UnmarshalJSON(data []byte) error { return (*metrics)(m).UnmarshalJSON(data) }

// UnmarshalJSON implements json.Unmarshaler.
func (m *metrics) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	start, err := d.Token()
	if err != nil || start != json.Delim('{') {
		return fmt.Errorf("metrics are not an object: %v", start)
	}
	*m = metrics{}
	for d.More() {
		tag, err := d.Token()
		if err != nil {
			return err
		}
		var r metric.Result
		if err := d.Decode(&r); err != nil {
			return fmt.Errorf("metric %v: %w", tag, err)
		}
		if r.Def.Tag != tag {
			return fmt.Errorf("metric %v has the tag %s", tag, r.Def.Tag)
		}
		*m = append(*m, r)
	}
	_, err = d.Token()
	return err
}

// stats are the counters of a phase, with names like those of the rest of the file.
type stats bench.PhaseStats

// phase returns the counters.
func (s *stats) phase() bench.PhaseStats { return bench.PhaseStats(*s) }

// MarshalJSON implements json.Marshaler.
func (s stats) MarshalJSON() ([]byte, error) { return members(reflect.ValueOf(s)) }

// UnmarshalJSON implements json.Unmarshaler.
func (s *stats) UnmarshalJSON(data []byte) error { return setMembers(reflect.ValueOf(s).Elem(), data) }

// members encodes a structure whose fields are numbers, texts and such structures.
// Durations are in nanoseconds.
func members(v reflect.Value) ([]byte, error) {
	b := []byte{'{'}
	for i := range v.NumField() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, memberName(v.Type().Field(i))), ':')
		value, err := json.Marshal(v.Field(i).Interface())
		if v.Field(i).Kind() == reflect.Struct {
			value, err = members(v.Field(i))
		}
		if err != nil {
			return nil, err
		}
		b = append(b, value...)
	}
	return append(b, '}'), nil
}

// setMembers decodes what members encoded. Unknown members are ignored, and missing
// ones are zero.
func setMembers(v reflect.Value, data []byte) error {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	for i := range v.NumField() {
		raw, ok := in[memberName(v.Type().Field(i))]
		switch f := v.Field(i); {
		case !ok:
		case f.Kind() == reflect.Struct:
			if err := setMembers(f, raw); err != nil {
				return err
			}
		default:
			if err := json.Unmarshal(raw, f.Addr().Interface()); err != nil {
				return fmt.Errorf("%s: %w", memberName(v.Type().Field(i)), err)
			}
		}
	}
	return nil
}

// memberName returns the name of a field in lower case, with underscores between its
// words.
func memberName(f reflect.StructField) string {
	var b strings.Builder
	for i, c := range f.Name {
		if i > 0 && unicode.IsUpper(c) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	if f.Type == reflect.TypeFor[time.Duration]() {
		b.WriteString("_ns")
	}
	return b.String()
}
