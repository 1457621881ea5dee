package metric

import (
	"encoding/json"
	"fmt"
)

// confidenceJSON is a confidence as JSON: the effective sample size, the intervals as pairs and
// the numbers of independent values by statistic, and the percentiles that the sample does not
// support.
type confidenceJSON struct {
	Effective   number               `json:"effective_sample_size"`
	Intervals   map[string][2]number `json:"intervals"`
	Independent map[string]number    `json:"independent"`
	Unsupported []string             `json:"unsupported"`
}

// MarshalJSON implements json.Marshaler.
func (c *Confidence) MarshalJSON() ([]byte, error) {
	out := confidenceJSON{number(c.Effective), map[string][2]number{}, map[string]number{}, []string{}}
	for i, s := range intervalStats {
		if in, ok := c.Interval(s); ok {
			out.Intervals[s.String()] = [2]number{number(in.Low), number(in.High)}
		}
		if c.independent[i] != 0 {
			out.Independent[s.String()] = number(c.independent[i])
		}
	}
	for _, s := range c.Unsupported {
		out.Unsupported = append(out.Unsupported, s.String())
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote. Statistics that this version does
// not know are left out.
func (c *Confidence) UnmarshalJSON(data []byte) error {
	var in confidenceJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("decode confidence: %w", err)
	}
	*c = Confidence{Effective: float64(in.Effective)}
	for _, s := range intervalStats {
		if pair, ok := in.Intervals[s.String()]; ok {
			c.SetInterval(s, Interval{float64(pair[0]), float64(pair[1])})
		}
		c.SetIndependent(s, float64(in.Independent[s.String()]))
	}
	for _, name := range in.Unsupported {
		if s, ok := ParseStat(name); ok {
			c.Unsupported = append(c.Unsupported, s)
		}
	}
	return nil
}
