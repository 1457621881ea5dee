package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/view"
)

// The numbers that are judged besides throughput; all other metrics are judged by those that
// they are computed from.
const (
	firstToken      = "time_to_first_token"
	requestLatency  = "request_latency"
	chunkGap        = "inter_chunk_latency"
	correctedPrefix = "corrected_"
)

// sources returns the judged numbers whose errors enter a metric. Averages over the tokens of
// a response (inter_token_latency and what is derived from it) have none: the error of one
// timestamp is divided by the number of tokens.
func sources(tag string) []string {
	for _, prefix := range []string{"adj_", "lower_bound_", "slo_attainment.", "network_adjusted_"} {
		tag = strings.TrimPrefix(tag, prefix)
	}
	base, corrected := strings.CutPrefix(tag, correctedPrefix)
	var out []string
	switch base {
	case firstToken, "time_to_first_output_token", "time_to_first_event", "time_to_first_image", "stream_prefill_latency", "prefill_throughput_per_user":
		out = []string{firstToken}
	case requestLatency, "e2e_latency", "effective_latency", "stream_end_latency", "normalized_latency", "e2e_output_token_throughput",
		"turn_latency", "session_latency", "image_latency", "image_throughput", "rtfx":
		out = []string{requestLatency}
	case chunkGap, "inter_token_gap", "inter_token_stall", "time_to_second_token":
		out = []string{chunkGap}
	case "goodput", "output_token_goodput": // the latencies decide which requests are good
		out = []string{throughput, firstToken, requestLatency}
	case "good_request_count", "good_request_fraction":
		out = []string{firstToken, requestLatency}
	case throughput, "benchmark_duration":
		out = []string{throughput}
	default:
		if def, ok := catalogue.Lookup(base); ok && strings.HasSuffix(def.Unit, "/sec") {
			out = []string{throughput}
		}
	}
	for i := range out {
		if corrected {
			out[i] = correctedPrefix + out[i]
		}
	}
	return out
}

// Affects returns the worst of the reasons that concern a metric; nil = none does.
func Affects(reasons []Reason, tag string) *Reason {
	var out *Reason
	from := sources(tag)
	for i := range reasons {
		r := &reasons[i]
		concerned := slices.ContainsFunc(r.Concerns, func(number string) bool { return slices.Contains(from, number) })
		if concerned && (out == nil || r.Level.rank() > out.Level.rank()) {
			out = r
		}
	}
	return out
}

// Side returns on which side the client's errors are: 1 = the values of the metric are too large,
// -1 = too small, 0 = either. A late client makes every number worse, except gaps: of the two
// around a late event, one is too long and the other too short.
func Side(tag string) int {
	def, ok := catalogue.Lookup(tag)
	switch {
	case !ok || slices.Contains(sources(tag), chunkGap):
		return 0
	case def.Better == catalogue.Lower:
		return 1
	case def.Better == catalogue.Higher:
		return -1
	}
	return 0
}

// Of returns how accurate a metric is: the level of the worst reason that concerns it.
func Of(reasons []Reason, tag string) Level {
	if r := Affects(reasons, tag); r != nil {
		return r.Level
	}
	return OK
}

// Decisive returns the reasons that decide the verdict of a run.
func Decisive(reasons []Reason) []Reason {
	return slices.DeleteFunc(slices.Clone(reasons), func(r Reason) bool { return r.Unreported })
}

// off says by how much the number is off.
func (r *Reason) off() string {
	text := r.bound() + r.share()
	if r.Unit == "ms" {
		text += fmt.Sprintf(" (limit %s ms)", view.Bound(r.Limit))
	}
	return text
}

// share says of how many values the bound holds.
func (r *Reason) share() string {
	if r.Percentile == 0 {
		return ""
	}
	return fmt.Sprintf(" for %.0f %% of %s", r.Percentile, values(r.Concerns[0]))
}

// bound is the error itself.
func (r *Reason) bound() string {
	if r.Code == pathLoss {
		return "delayed by the network in " + view.Bound(100*r.Value) + " % of requests or more"
	}
	if r.Code == nicBusy || r.Code == portsShort {
		return "possibly delayed"
	}
	if r.Unit == "ratio" {
		return "up to " + view.Bound(100*r.Value) + " % low"
	}
	text := "by at most " + view.Bound(r.Value) + " ms"
	if r.Level != Invalid {
		return "possibly off, " + text
	}
	return "off " + text
}

// values is what the values of a judged number are taken of.
func values(number string) string {
	if number == chunkGap {
		return "gaps"
	}
	return "requests"
}

// nameOf is the short name of a judged number.
func nameOf(number string) string {
	base, corrected := strings.CutPrefix(number, correctedPrefix)
	name := map[string]string{firstToken: "TTFT", requestLatency: "latency"}[base]
	if name != "" && corrected {
		return "corrected " + name
	}
	return cmp.Or(name, number)
}

// because is the cause with who used the processors.
func (r *Reason) because() string {
	if r.Source == "" {
		return r.Cause
	}
	return r.Cause + "; " + r.Source
}

// Sentences returns the reasons for people, those with the same level and cause together.
func Sentences(reasons []Reason) []string {
	var out []string
	for i := range reasons {
		r := &reasons[i]
		same := func(o Reason) bool {
			return o.Cause != "" && o.Cause == r.Cause && o.Level == r.Level && o.Phase == r.Phase
		}
		if slices.ContainsFunc(reasons[:i], same) {
			continue
		}
		if r.Cause == "" { // of a run of an earlier version
			out = append(out, r.Message)
			continue
		}
		var numbers []string
		for k := i; k < len(reasons); k++ {
			if same(reasons[k]) {
				numbers = append(numbers, reasons[k].Concerns[0]+" "+reasons[k].off())
			}
		}
		out = append(out, strings.Join(numbers, ", ")+": "+r.because())
	}
	return out
}

// Why returns the first of [Sentences] that has the worst level, and the number of others;
// empty without reasons.
func Why(reasons []Reason) string {
	if len(reasons) == 0 {
		return ""
	}
	worst := slices.MaxFunc(reasons, func(a, b Reason) int { return a.Level.rank() - b.Level.rank() }).Level
	all := Sentences(reasons)
	first := Sentences(slices.DeleteFunc(slices.Clone(reasons), func(r Reason) bool { return r.Level != worst }))[0]
	if n := len(all) - 1; n > 0 {
		return fmt.Sprintf("%s (and %d more)", first, n)
	}
	return first
}

// Brief returns one text per reason, in their order: the number, its error and the kind of
// cause, as in "TTFT off by at most 9 ms (short of CPU)".
func Brief(reasons []Reason) []string {
	var out []string
	for i := range reasons {
		r := &reasons[i]
		if r.Cause == "" { // of a run of an earlier version
			out = append(out, r.Message)
			continue
		}
		out = append(out, fmt.Sprintf("%s %s (%s)", nameOf(r.Concerns[0]), r.bound(), shortCause(r.Code)))
	}
	return out
}

// Advice returns the level, what decides it, and what to do, in few words; empty if nothing
// does.
func (r *Report) Advice() string {
	reasons := Decisive(r.Reasons)
	if len(reasons) == 0 {
		return ""
	}
	var parts, remedies []string
	for i := range reasons {
		x := &reasons[i]
		same := func(o Reason) bool { return o.Code == x.Code && o.Phase == x.Phase && o.Cause != "" }
		if slices.ContainsFunc(reasons[:i], same) {
			continue
		}
		if x.Remedy != "" && !slices.Contains(remedies, x.Remedy) {
			remedies = append(remedies, x.Remedy)
		}
		if x.Cause == "" {
			parts = append(parts, x.Message)
			continue
		}
		var numbers []string
		for k := i; k < len(reasons); k++ {
			if !same(reasons[k]) {
				continue
			}
			name, off, _ := reasons[k].Short()
			if last := len(numbers) - 1; last >= 0 && strings.HasSuffix(numbers[last], " "+off) {
				numbers[last] = strings.TrimSuffix(numbers[last], " "+off)
				numbers[last] += " and " + name + " " + off
				continue
			}
			numbers = append(numbers, name+" "+off)
		}
		_, _, cause := x.Short()
		part := strings.Join(numbers, ", ") + " (" + cause + ")"
		if x.Worker != "" {
			part = x.Worker + ": " + part
		}
		parts = append(parts, part)
	}
	return string(r.Verdict) + ": " + strings.Join(append(parts, remedies...), "; ")
}

// Short returns the number, its error and the cause in few words: "TTFT", "off by at most 9 ms
// for 95 % of requests", "short of CPU: other processes used 1.89 of the 2 cores".
func (r *Reason) Short() (number, off, cause string) {
	cause = shortCause(r.Code)
	if r.Source != "" {
		cause += ": " + r.Source
	}
	return nameOf(r.Concerns[0]), r.bound() + r.share(), cause
}

// shortCause names the kind of a cause in few words.
func shortCause(code string) string {
	switch code {
	case "tick-lag", "scheduler-latency":
		return "short of CPU"
	case "send-lag":
		return "slow to send"
	case "schedule-lag", "rate-not-delivered":
		return "sent late"
	case "concurrency-not-delivered":
		return "client fell behind"
	case pathLoss:
		return "losses on the network"
	case nicBusy:
		return "network interface busy"
	case portsShort:
		return "local ports short"
	}
	return code
}

// remedyOf says what to do if nothing is known of who used the processors.
func remedyOf(code string) string {
	switch code {
	case "send-lag":
		return "move the client closer to the server, or send shorter prompts"
	case nicBusy:
		return "a faster network interface, or several clients"
	case portsShort:
		return "reuse connections, add source addresses (--source-address), or extend net.ipv4.ip_local_port_range"
	case pathLoss:
		return "find where the network loses segments, or move the client closer to the server"
	}
	return "more CPU for the client, a lower load, or several clients"
}
