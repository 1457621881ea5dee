package measure

import (
	"encoding/json"
	"errors"
	"fmt"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
)

// liveSet is what [Set.MarshalLive] encodes.
type liveSet struct {
	Tally    catalogue.Tally     `json:"tally"`
	Errors   []metric.ErrorGroup `json:"errors,omitempty"`
	Sketches map[string][]byte   `json:"sketches"` // by tag; without empty ones
}

// mostDrafts bounds the draft tokens that a step of speculative decoding accepts.
const mostDrafts = 1 << 12

// MarshalLive encodes what [Set.Live] needs: counts, sketches and errors, whose size does not grow with the number of
// records. [Set.MergeLive] reads it in another process.
func (s *Set) MarshalLive() ([]byte, error) {
	out := liveSet{Tally: s.tally, Errors: s.errors.Groups(), Sketches: make(map[string][]byte)}
	for i := range s.series {
		se := &s.series[i]
		if se.sketch.Count() == 0 {
			continue
		}
		data, err := se.sketch.AppendBinary(nil)
		if err != nil {
			return nil, fmt.Errorf("encode the sketch of %s: %w", se.row.Tag, err)
		}
		out.Sketches[se.row.Tag] = data
	}
	return json.Marshal(&out)
}

// MergeLive adds the records of a set of another process, which has the same options, from what its MarshalLive
// returned. Percentiles are those of sketches from then on. After an error the set is of no use.
func (s *Set) MergeLive(data []byte) error {
	var in liveSet
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("decode metrics: %w", err)
	}
	if len(in.Tally.SLOs) != len(s.tally.SLOs) || len(in.Tally.AcceptedDrafts) > mostDrafts {
		return errors.New("decode metrics: they are those of other options")
	}
	for i := range in.Tally.SLOs {
		if in.Tally.SLOs[i].Tag != s.tally.SLOs[i].Tag {
			return errors.New("decode metrics: their objectives differ")
		}
	}
	s.dropExact()
	for tag, sketch := range in.Sketches {
		i, ok := s.byTag[tag]
		if !ok {
			return fmt.Errorf("decode metrics: %.100q is not measured", tag)
		}
		if err := s.series[i].sketch.MergeBinary(sketch); err != nil {
			return fmt.Errorf("decode the sketch of %s: %w", tag, err)
		}
	}
	s.tally.Merge(&in.Tally)
	for i := range in.Errors {
		s.errors.AddGroup(&in.Errors[i])
	}
	return nil
}
