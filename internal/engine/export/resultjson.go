package export

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

// resultMetrics are results as an object by tag, in the order of the catalogue. Each says how
// its percentiles were computed.
type resultMetrics metric.Results

// MarshalJSON implements json.Marshaler.
func (m resultMetrics) MarshalJSON() ([]byte, error) { return marshalMetrics(metric.Results(m), false) }

// flatMetrics are metrics whose statistics are also beside the member stats, where the other
// files and the API have them.
type flatMetrics resultMetrics

// MarshalJSON implements json.Marshaler.
func (m flatMetrics) MarshalJSON() ([]byte, error) { return marshalMetrics(metric.Results(m), true) }

// marshalMetrics encodes metrics. In flat ones the last member, stats, is repeated as members.
func marshalMetrics(rs metric.Results, flat bool) ([]byte, error) {
	b := []byte{'{'}
	for i := range rs {
		m := &rs[i]
		value, err := m.MarshalJSON()
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, m.Def.Tag), ':') // tags are plain ASCII words
		b = append(strconv.AppendQuote(append(b, `{"percentile_method":`...), string(m.Method())), ',')
		b = append(b, value[1:]...)
		if flat && !m.Empty() {
			const name = `"stats":{`
			stats := value[bytes.LastIndex(value, []byte(name))+len(name):]
			b = append(append(b[:len(b)-1], ','), stats[:len(stats)-1]...)
		}
	}
	return append(b, '}'), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *flatMetrics) UnmarshalJSON(data []byte) error {
	return (*resultMetrics)(m).UnmarshalJSON(data)
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *resultMetrics) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	start, err := d.Token()
	if err != nil || start != json.Delim('{') {
		return fmt.Errorf("metrics are not an object: %v", start)
	}
	*m = resultMetrics{}
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

// phaseStats are the counters of a phase, with names like those of the rest of the file.
type phaseStats bench.PhaseStats

// phase returns the counters.
func (s *phaseStats) phase() bench.PhaseStats { return bench.PhaseStats(*s) }

// MarshalJSON implements json.Marshaler.
func (s phaseStats) MarshalJSON() ([]byte, error) { return fieldMembers(reflect.ValueOf(s)) }

// UnmarshalJSON implements json.Unmarshaler.
func (s *phaseStats) UnmarshalJSON(data []byte) error {
	return setFieldMembers(reflect.ValueOf(s).Elem(), data)
}

// fieldMembers encodes a structure whose fields are numbers, texts and such structures.
// Durations are in nanoseconds.
func fieldMembers(v reflect.Value) ([]byte, error) {
	b := []byte{'{'}
	for i := range v.NumField() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, memberName(v.Type().Field(i))), ':')
		value, err := json.Marshal(v.Field(i).Interface())
		if v.Field(i).Kind() == reflect.Struct {
			value, err = fieldMembers(v.Field(i))
		}
		if err != nil {
			return nil, err
		}
		b = append(b, value...)
	}
	return append(b, '}'), nil
}

// setFieldMembers decodes what fieldMembers encoded. Unknown members are ignored, and missing
// ones are zero.
func setFieldMembers(v reflect.Value, data []byte) error {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	for i := range v.NumField() {
		raw, ok := in[memberName(v.Type().Field(i))]
		switch f := v.Field(i); {
		case !ok:
		case f.Kind() == reflect.Struct:
			if err := setFieldMembers(f, raw); err != nil {
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
