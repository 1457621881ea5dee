package metric

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// MarshalJSON writes the effective sample size, the intervals as pairs and the numbers of
// independent values by statistic, and the percentiles that the sample does not support.
func (c *Confidence) MarshalJSON() ([]byte, error) { return c.appendJSON(nil), nil }

func (c *Confidence) appendJSON(b []byte) []byte {
	b = append(b, `{"effective_sample_size":`...)
	b = appendNumber(b, c.Effective)
	b = append(b, `,"intervals":{`...)
	first := true
	for _, s := range intervalStats {
		in, ok := c.Interval(s)
		if !ok {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(strconv.AppendQuote(b, s.String()), ":["...)
		b = append(appendNumber(b, in.Low), ',')
		b = append(appendNumber(b, in.High), ']')
	}
	b = append(b, `},"independent":{`...)
	first = true
	for i, s := range intervalStats {
		if c.independent[i] == 0 {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(strconv.AppendQuote(b, s.String()), ':')
		b = appendNumber(b, c.independent[i])
	}
	b = append(b, `},"unsupported":[`...)
	for i, s := range c.Unsupported {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendQuote(b, s.String())
	}
	return append(b, "]}"...)
}

// UnmarshalJSON reads what MarshalJSON wrote. Statistics that this version does
// not know are left out.
func (c *Confidence) UnmarshalJSON(data []byte) error {
	var in struct {
		Effective   float64 `json:"effective_sample_size"`
		Intervals   map[string][2]float64
		Independent map[string]float64
		Unsupported []string
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("decode confidence: %w", err)
	}
	*c = Confidence{Effective: in.Effective}
	for _, s := range intervalStats {
		if pair, ok := in.Intervals[s.String()]; ok {
			c.SetInterval(s, Interval{pair[0], pair[1]})
		}
		c.SetIndependent(s, in.Independent[s.String()])
	}
	for _, name := range in.Unsupported {
		if s, ok := ParseStat(name); ok {
			c.Unsupported = append(c.Unsupported, s)
		}
	}
	return nil
}
