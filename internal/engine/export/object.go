package export

import (
	"strconv"
	"time"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/plainjson"
)

// jsonStats is the order of statistics in a metric block; count and sum follow.
var jsonStats = [...]metric.Stat{
	metric.Avg, metric.P1, metric.P5, metric.P10, metric.P25, metric.P50, metric.P75, metric.P90, metric.P95,
	metric.P99, metric.P999, metric.P9999, metric.Min, metric.Max, metric.Std,
}

// object is a JSON object whose members keep their order. Numbers in it are written as Python
// does, and texts without HTML escaping.
type object []property

// property is a member of an object. Its value is a string, a finite float64, an object, a list of
// objects, or what encoding/json writes.
type property struct {
	name  string
	value any
}

// add appends a member.
func (o *object) add(name string, value any) { *o = append(*o, property{name, value}) }

// addTime appends an instant in UTC without a zone, as AIPerf does; an unknown one is left out.
func (o *object) addTime(name string, t time.Time) {
	if !t.IsZero() {
		o.add(name, t.UTC().Format("2006-01-02T15:04:05.000000"))
	}
}

// addStat appends a statistic of a metric; one that it does not have, or that is not finite, is
// left out.
func (o *object) addStat(m *metric.Result, stat metric.Stat) {
	if v, ok := m.Get(stat); ok && finite(v) {
		o.add(stat.String(), v)
	}
}

// addMetric appends a metric. One that has no finite statistic is left out.
func (o *object) addMetric(m *metric.Result) {
	if !printable(m) {
		return
	}
	block := object{{"unit", m.Def.Unit}}
	for _, stat := range jsonStats {
		block.addStat(m, stat)
	}
	if m.Count > 0 {
		block.add("count", m.Count)
	}
	block.addStat(m, metric.Sum)
	o.add(m.Def.Tag, block)
}

// addMetrics appends the metrics that are for everybody, but not those in skip: AIPerf's, and
// then ours.
func (o *object) addMetrics(rs metric.Results, skip map[string]bool) {
	for _, m := range ordered(rs) {
		if !skip[m.Def.Tag] {
			o.addMetric(m)
		}
	}
}

// metricsObject returns an object of the metrics that are for everybody.
func metricsObject(rs metric.Results) object {
	out := object{}
	out.addMetrics(rs, nil)
	return out
}

// ordered returns the metrics that are for everybody: AIPerf's first, then
// ours, both in catalogue order.
func ordered(rs metric.Results) []*metric.Result {
	var theirs, ours []*metric.Result
	for i := range rs {
		switch m := &rs[i]; {
		case !m.Def.Shown():
		case m.Def.Origin == "aiperf":
			theirs = append(theirs, m)
		default:
			ours = append(ours, m)
		}
	}
	return append(theirs, ours...)
}

// printable reports whether a metric has a finite statistic.
func printable(m *metric.Result) bool {
	for _, stat := range jsonStats {
		if v, ok := m.Get(stat); ok && finite(v) {
			return true
		}
	}
	return false
}

// appendJSON appends the object.
func (o object) appendJSON(b []byte) ([]byte, error) {
	b = append(b, '{')
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, m.name), ':')
		var err error
		if b, err = appendMember(b, m.value); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func appendMember(b []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case string:
		return appendText(b, v), nil
	case float64:
		return appendFloat(b, v), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case object:
		return v.appendJSON(b)
	case []object:
		b = append(b, '[')
		for i, one := range v {
			if i > 0 {
				b = append(b, ',')
			}
			var err error
			if b, err = one.appendJSON(b); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	}
	data, err := plainjson.Marshal(value)
	return append(b, data...), err
}
