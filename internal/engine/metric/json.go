package metric

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"aiperfd/internal/engine/metric/catalogue"
)

// number is written as the shortest text that gives it back. JSON has no infinities: they
// are the strings "inf" and "-inf".
type number float64

// MarshalJSON implements json.Marshaler.
func (n number) MarshalJSON() ([]byte, error) {
	switch v := float64(n); {
	case math.IsInf(v, 1):
		return []byte(`"inf"`), nil
	case math.IsInf(v, -1):
		return []byte(`"-inf"`), nil
	default:
		return strconv.AppendFloat(nil, v, 'g', -1, 64), nil
	}
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case `"inf"`:
		*n = number(math.Inf(1))
		return nil
	case `"-inf"`:
		*n = number(math.Inf(-1))
		return nil
	}
	return json.Unmarshal(data, (*float64)(n))
}

// statistics are the statistics of a result that exist, in their order.
type statistics Result

// MarshalJSON implements json.Marshaler.
func (r statistics) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for s := range numStats {
		if r.has&(1<<s) == 0 {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		text, _ := number(r.values[s]).MarshalJSON() // never fails
		b = append(append(strconv.AppendQuote(b, s.String()), ':'), text...)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON implements json.Unmarshaler. Statistics that this version does not know are left out.
func (r *statistics) UnmarshalJSON(data []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	for s := range numStats {
		var v number
		if raw := all[s.String()]; raw == nil {
			continue
		} else if err := json.Unmarshal(raw, &v); err != nil {
			return fmt.Errorf("statistic %s: %w", s, err)
		}
		(*Result)(r).Set(s, float64(v))
	}
	return nil
}

// resultJSON is a result as JSON.
type resultJSON struct {
	Tag        string        `json:"tag"`
	Unit       string        `json:"unit"`
	Count      int64         `json:"count"`
	RelError   number        `json:"rel_error,omitempty"`
	Bin        time.Duration `json:"bin_ns,omitempty"`
	Confidence *Confidence   `json:"confidence,omitempty"`
	Stats      statistics    `json:"stats"`
}

// MarshalJSON writes tag, unit, count, the error bound of the percentiles or the width of the
// bins if there is one, the confidence, and last the statistics that exist.
func (r Result) MarshalJSON() ([]byte, error) {
	if r.Def == nil {
		return nil, errors.New("encode metric: it has no definition")
	}
	return json.Marshal(resultJSON{
		r.Def.Tag, r.Def.Unit, r.Count, number(r.RelError), r.Bin, r.Confidence, statistics(r),
	})
}

// UnmarshalJSON reads what MarshalJSON wrote and finds the definition by its
// tag. A tag that this version does not know gets a definition made from
// the document.
func (r *Result) UnmarshalJSON(data []byte) error {
	var in resultJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("decode metric %s: %w", in.Tag, err)
	}
	if in.Tag == "" {
		return errors.New("decode metric: it has no tag")
	}
	def, ok := catalogue.Lookup(in.Tag)
	if !ok {
		def = &catalogue.Def{Tag: in.Tag, Header: in.Tag, Unit: in.Unit, Kind: catalogue.Derived, Origin: catalogue.Ours}
	}
	*r = Result(in.Stats)
	r.Def, r.Count, r.RelError, r.Bin, r.Confidence = def, in.Count, float64(in.RelError), in.Bin, in.Confidence
	return nil
}
