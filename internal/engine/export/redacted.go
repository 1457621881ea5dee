package export

import (
	"encoding/json"
	"slices"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/redact"
)

// Redacted returns a copy of a report without secrets. They were taken out of it
// before; this is the net under that. Names are searched for exact values only,
// free text for patterns too.
func Redacted(r *Report, s *redact.Set) *Report {
	c := *r
	for _, text := range []*string{&c.Reason, &c.CLICommand, &c.Load} {
		*text = s.String(*text)
	}
	for _, name := range []*string{&c.Name, &c.Title, &c.Tokenizer, &c.Endpoint} {
		*name = s.Exact(*name)
	}
	c.Models = slices.Clone(r.Models)
	for i := range c.Models {
		c.Models[i] = s.Exact(c.Models[i])
	}
	c.Targets = slices.Clone(r.Targets)
	for i := range c.Targets {
		c.Targets[i] = s.String(c.Targets[i])
	}
	if r.Labels != nil {
		c.Labels = make(map[string]string, len(r.Labels))
		for k, v := range r.Labels {
			c.Labels[s.Exact(k)] = s.Exact(v)
		}
	}
	c.Warnings = slices.Clone(r.Warnings)
	for i := range c.Warnings {
		c.Warnings[i].Detail = s.String(c.Warnings[i].Detail)
	}
	c.Errors = redactedErrors(r.Errors, s)
	c.Phases = slices.Clone(r.Phases)
	for i := range c.Phases {
		c.Phases[i].Errors = redactedErrors(c.Phases[i].Errors, s)
	}
	c.InputConfig = redactedValue{r.InputConfig, s}
	return &c
}

func redactedErrors(groups []metric.ErrorGroup, s *redact.Set) []metric.ErrorGroup {
	out := slices.Clone(groups)
	for i := range out {
		g := &out[i]
		for _, text := range []*string{&g.Code, &g.Type, &g.Pattern, &g.Example} {
			*text = s.String(*text)
		}
	}
	return out
}

// redactedValue encodes a value without secrets.
type redactedValue struct {
	value   any
	secrets *redact.Set
}

var _ json.Marshaler = redactedValue{}

// MarshalJSON implements json.Marshaler.
func (v redactedValue) MarshalJSON() ([]byte, error) {
	data, err := plainjson.Marshal(v.value)
	if err != nil {
		return nil, err
	}
	return v.secrets.JSON(data), nil
}
