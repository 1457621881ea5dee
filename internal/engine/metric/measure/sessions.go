package measure

import (
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
)

// mostTurns bounds the turns that have metrics of their own. The last one stands for all
// later ones too.
const mostTurns = 16

// sessions follows conversations of several turns: the start of each whose turns have all
// succeeded so far, by correlation id. A run has no more of them than conversations in progress.
type sessions map[string]time.Duration

// observe adds the record of v. It returns the start of the conversation if the record ends
// it and all its turns succeeded; otherwise 0.
func (s sessions) observe(v *catalogue.View) time.Duration {
	r := v.Record
	if r.Turns <= 1 {
		return 0
	}
	start, found := s[r.CorrelationID]
	switch {
	case v.Outcome != catalogue.Success:
		delete(s, r.CorrelationID)
	case r.Turn == 0:
		s[r.CorrelationID] = r.Stamps.Start
	case found && r.Turn == r.Turns-1:
		delete(s, r.CorrelationID)
		return start
	}
	return 0
}

// turnOf returns what accumulates the turn of a record; nil = its conversation has no other.
func turnOf(s *Set, r *bench.Record) *fold {
	if r.Turns <= 1 {
		return nil
	}
	i := min(r.Turn, mostTurns-1)
	growTurns(s, i+1)
	return s.turns[i]
}

// growTurns makes room for n turns.
func growTurns(s *Set, n int) {
	for len(s.turns) < n {
		s.turns = append(s.turns, newFold(s))
	}
}

// ByTurn returns the metrics of the turns of finished phases together, from the first on;
// nil without a conversation of several turns. Rates are divided by the windows of the
// phases.
func ByTurn(parts ...Part) []metric.Results {
	most := 0
	for _, p := range parts {
		most = max(most, len(p.Set.turns))
	}
	for _, p := range parts {
		growTurns(p.Set, most)
	}
	return grouped(parts, func(s *Set) []*fold { return s.turns })
}
