package metric

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"aiperfd/internal/engine/metric/catalogue"
)

// MarshalJSON writes tag, unit, count, the error bound of the percentiles or the
// width of the bins if there is one, the confidence, and the statistics that
// exist. JSON has no infinities: they are
// the strings "inf" and "-inf".
func (r Result) MarshalJSON() ([]byte, error) {
	if r.Def == nil {
		return nil, fmt.Errorf("encode metric: it has no definition")
	}
	b := make([]byte, 0, 512)
	b = append(b, `{"tag":`...)
	b = strconv.AppendQuote(b, r.Def.Tag) // tags are plain ASCII words
	b = append(b, `,"unit":`...)
	b = strconv.AppendQuote(b, r.Def.Unit)
	b = append(b, `,"count":`...)
	b = strconv.AppendInt(b, r.Count, 10)
	if r.RelError != 0 {
		b = append(b, `,"rel_error":`...)
		b = appendNumber(b, r.RelError)
	}
	if r.Bin != 0 {
		b = append(b, `,"bin_ns":`...)
		b = strconv.AppendInt(b, int64(r.Bin), 10)
	}
	if r.Confidence != nil {
		b = append(b, `,"confidence":`...)
		b = r.Confidence.appendJSON(b)
	}
	b = append(b, `,"stats":{`...)
	first := true
	for s := range numStats {
		v, ok := r.Get(s)
		if !ok {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = strconv.AppendQuote(b, s.String())
		b = append(b, ':')
		b = appendNumber(b, v)
	}
	return append(b, "}}"...), nil
}

// appendNumber writes the shortest text that gives v back.
func appendNumber(b []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(b, `"inf"`...)
	case math.IsInf(v, -1):
		return append(b, `"-inf"`...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}

// UnmarshalJSON reads what MarshalJSON wrote and finds the definition by its
// tag. A tag that this version does not know gets a definition made from
// the document.
func (r *Result) UnmarshalJSON(data []byte) error {
	var in struct {
		Tag      string
		Unit     string
		Count    int64
		RelError float64       `json:"rel_error"`
		Bin      time.Duration `json:"bin_ns"`
		Stats    map[string]json.RawMessage

		Confidence *Confidence
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("decode metric: %w", err)
	}
	if in.Tag == "" {
		return fmt.Errorf("decode metric: it has no tag")
	}
	def, ok := catalogue.Lookup(in.Tag)
	if !ok {
		def = &catalogue.Def{Tag: in.Tag, Header: in.Tag, Unit: in.Unit, Kind: catalogue.Derived, Origin: catalogue.Ours}
	}
	*r = Result{Def: def, Count: in.Count, RelError: in.RelError, Bin: in.Bin, Confidence: in.Confidence}
	for s := range numStats {
		raw, ok := in.Stats[s.String()]
		if !ok {
			continue
		}
		v, err := parseNumber(raw)
		if err != nil {
			return fmt.Errorf("decode metric %s: statistic %s: %w", in.Tag, s, err)
		}
		r.Set(s, v)
	}
	return nil
}

// parseNumber reads what appendNumber wrote.
func parseNumber(raw json.RawMessage) (float64, error) {
	switch string(raw) {
	case `"inf"`:
		return math.Inf(1), nil
	case `"-inf"`:
		return math.Inf(-1), nil
	}
	var v float64
	err := json.Unmarshal(raw, &v)
	return v, err
}
