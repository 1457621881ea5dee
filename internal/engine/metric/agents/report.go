package agents

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/view"
)

// Report is what the replay of recorded sessions measured in the profiling phases. Times are in milliseconds. A null
// is unknown.
type Report struct {
	// Trees has the plays of sessions by their outcome. Those that are left-truncated, because they began in the
	// middle of the session, are counted in Midway as well.
	Trees     int `json:"trees_started"`
	Completed int `json:"trees_completed"`
	Running   int `json:"trees_running"` // when the load ended
	Cut       int `json:"trees_cut"`     // by a request that failed
	Midway    int `json:"trees_left_truncated"`

	// CompletionTime is the time from the first due time of a tree to its last end, of the trees that began with the
	// first turn of their session. Those that went on when the load ended count as longer (Kaplan-Meier).
	CompletionTime *Times `json:"job_completion_time"`
	// Dilation is how many times as long as in its recording a tree took, of those with three requests or more.
	Dilation  *Spread `json:"job_dilation"`
	Inflation *Spread `json:"critical_path_inflation"` // the same for the requests on the critical path, without pauses
	Makespan  *Spread `json:"tree_makespan"`
	JoinWait  *Spread `json:"join_wait"` // per tree with joins, its mean
	// ByTree has the medians of the trees, so that one with many requests does not count for more than others.
	ByTree ByTree `json:"by_tree"`
	// Path is where the time on the critical paths of all trees went, as shares.
	Path *Shares `json:"critical_path_share"`

	// WorkRate is how many recorded seconds were played per second and tree.
	WorkRate    *float64 `json:"work_rate"`
	JobsPerHour *float64 `json:"jobs_per_hour"` // completed trees
	// The rates per GPU need the number of GPUs, which the configuration gives.
	JobsPerHourPerGPU *float64 `json:"jobs_per_hour_per_gpu,omitempty"`
	OutputRatePerGPU  *float64 `json:"output_tokens_per_second_per_gpu,omitempty"`
	// JobsPerHourPerUser is 3,600 divided by the mean completion time of the trees that completed from their first
	// turn on.
	JobsPerHourPerUser *float64 `json:"jobs_per_hour_per_user"`

	// IdleSkipped is how much idle time limits left out of all trees, and IdleShare that as a share of the recorded pauses.
	IdleSkipped float64  `json:"idle_skipped"`
	IdleShare   *float64 `json:"idle_skipped_share"`

	// Hits are shares of what prefix caches had of the prompts.
	Hits Hits `json:"prefix_cache"`

	ByContext  []Group `json:"by_context,omitempty"`  // by the tokens of the prompt
	ByUncached []Group `json:"by_uncached,omitempty"` // by those that servers had to compute

	// Plan is the SHA-256 of what the lanes begin with: their sessions and the instants at which these are entered.
	// Runs with the same one begin alike. Empty without lanes.
	Plan string `json:"plan_sha256,omitempty"`

	List  []Tree `json:"trees,omitempty"` // in the order in which they began
	Lanes []Lane `json:"lanes,omitempty"`
}

// Hits are the three hit rates of prefix caches, which are not to be mixed.
type Hits struct {
	// Theoretical is that of the recording: blocks that an earlier request of the trace had. Its base are blocks.
	Theoretical *float64 `json:"theoretical"`
	// Expected is what a cache of unlimited size could have of what this run sent; tokens.
	Expected *float64 `json:"expected"`
	// Reported is what the servers say was cached; tokens.
	Reported *float64 `json:"reported"`
}

// ByTree are distributions of the medians of trees.
type ByTree struct {
	TTFT    *Spread `json:"time_to_first_token"`
	Latency *Spread `json:"request_latency"`
}

// Spread is the distribution of a value over trees.
type Spread struct {
	Count int     `json:"count"`
	Mean  float64 `json:"avg"`
	// Low and High are the 95 % confidence interval of the mean, with trees as the units that were drawn; null if there
	// are less than 10, which then are not more than these trees.
	Low  *float64 `json:"avg_low,omitempty"`
	High *float64 `json:"avg_high,omitempty"`
	P50  float64  `json:"p50"`
	P90  float64  `json:"p90"`
	Max  float64  `json:"max"`
}

// Times is the distribution of times of which some are only known to be longer. A quantile is null if too few ended.
type Times struct {
	Count    int      `json:"count"` // that ended
	Censored int      `json:"censored"`
	P50      *float64 `json:"p50"`
	P90      *float64 `json:"p90"`
}

// Shares are shares of a time.
type Shares struct {
	Prefill float64 `json:"prefill"`
	Decode  float64 `json:"decode"`
	Gap     float64 `json:"gap"`
	Client  float64 `json:"client"`
}

// Summarize returns the report on trees that were played in a window of time; nil = there were none.
func Summarize(jobs *Jobs, window time.Duration) *Report {
	r := summarizeTrees(jobs.Trees(), window)
	if r != nil {
		r.ByContext, r.ByUncached = jobs.contexts.list(), jobs.uncached.list()
		r.Lanes = jobs.Lanes()
		r.Plan = planDigest(r.Lanes)
	}
	return r
}

// summarizeTrees returns the part of the report that follows from the trees; nil = there are none.
func summarizeTrees(trees []Tree, window time.Duration) *Report {
	if len(trees) == 0 {
		return nil
	}
	r := &Report{Trees: len(trees), List: trees}
	var dilations, inflations, makespans, joins, firsts, latencies []float64
	var jobs []lifetime
	var path Path
	var played, recorded, whole, wholeTime, pauses float64
	for i := range trees {
		t := &trees[i]
		switch t.Outcome {
		case Completed:
			r.Completed++
		case Running:
			r.Running++
		case Cut:
			r.Cut++
		}
		if t.Midway {
			r.Midway++
		} else if t.Outcome != Cut {
			jobs = append(jobs, lifetime{t.Makespan, t.Outcome == Running})
			if t.Outcome == Completed {
				whole, wholeTime = whole+1, wholeTime+t.Makespan
			}
		}
		makespans = append(makespans, t.Makespan)
		firsts, latencies = appendKnown(firsts, t.TTFT), appendKnown(latencies, t.Latency)
		r.IdleSkipped, pauses = r.IdleSkipped+t.Skipped, pauses+t.Pauses
		if t.Dilation != nil {
			dilations = append(dilations, *t.Dilation)
			played, recorded = played+t.Makespan, recorded+t.Recorded
		}
		inflations = appendKnown(inflations, t.Inflation)
		if t.JoinWaits > 0 {
			joins = append(joins, t.JoinWait/float64(t.JoinWaits))
		}
		path.Prefill += t.Path.Prefill
		path.Decode += t.Path.Decode
		path.Gap += t.Path.Gap
		path.Client += t.Path.Client
	}
	r.CompletionTime = timesOf(jobs)
	r.Dilation, r.Inflation, r.Makespan, r.JoinWait = spreadOf(dilations), spreadOf(inflations), spreadOf(makespans), spreadOf(joins)
	r.ByTree = ByTree{spreadOf(firsts), spreadOf(latencies)}
	if all := path.Prefill + path.Decode + path.Gap + path.Client; all > 0 {
		r.Path = &Shares{path.Prefill / all, path.Decode / all, path.Gap / all, path.Client / all}
	}
	r.IdleShare, r.WorkRate = quotient(r.IdleSkipped, pauses), quotient(recorded, played)
	if r.Completed > 0 && window > 0 {
		r.JobsPerHour = new(float64(r.Completed) / window.Hours())
	}
	if whole > 0 && wholeTime > 0 {
		r.JobsPerHourPerUser = new(float64(time.Hour/time.Millisecond) * whole / wholeTime)
	}
	return r
}

// quotient returns a / b; nil = b is 0.
func quotient(a, b float64) *float64 {
	if b == 0 {
		return nil
	}
	return new(a / b)
}

// appendKnown appends a value if it is known.
func appendKnown(values []float64, v *float64) []float64 {
	if v == nil {
		return values
	}
	return append(values, *v)
}

// spreadOf returns the distribution of values; nil = there are none.
func spreadOf(values []float64) *Spread {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	at := func(p float64) float64 { return values[max(0, int(math.Ceil(p*float64(len(values))))-1)] }
	s := &Spread{Count: len(values), P50: at(0.5), P90: at(0.9), Max: values[len(values)-1]}
	for _, v := range values {
		s.Mean += v / float64(len(values))
	}
	if len(values) >= enoughTrees {
		s.Low, s.High = meanInterval(values)
	}
	return s
}

// meanInterval returns the 95 % interval of the mean by the bootstrap: of 2,000 samples as large as the values, drawn
// from them with a fixed seed. Of many values it is that of the normal distribution, which is then the same.
func meanInterval(values []float64) (low, high *float64) {
	const draws, many, width = 2000, 1000, 1.96
	if len(values) > many {
		n, mean, squares := float64(len(values)), 0.0, 0.0
		for _, v := range values {
			mean += v / n
		}
		for _, v := range values {
			squares += (v - mean) * (v - mean)
		}
		half := width * math.Sqrt(squares/(n-1)/n)
		return new(mean - half), new(mean + half)
	}
	r := bench.Seed(0).Child("trees").Rand("bootstrap")
	means := make([]float64, draws)
	for i := range means {
		for range values {
			means[i] += values[r.IntN(len(values))]
		}
		means[i] /= float64(len(values))
	}
	slices.Sort(means)
	const tail = draws * 25 / 1000
	return &means[tail-1], &means[draws-tail]
}

// lifetime is a time, or one that a value is only known to exceed.
type lifetime struct {
	ms       float64
	censored bool
}

// timesOf estimates the distribution of times as Kaplan and Meier do (1958); nil = there are none.
func timesOf(all []lifetime) *Times {
	if len(all) == 0 {
		return nil
	}
	// Of equal times, those that ended come first.
	slices.SortFunc(all, func(a, b lifetime) int {
		if c := cmp.Compare(a.ms, b.ms); c != 0 || a.censored == b.censored {
			return c
		}
		if a.censored {
			return 1
		}
		return -1
	})
	t := &Times{}
	longer := 1.0 // share of the times that are longer
	for i, one := range all {
		if one.censored {
			t.Censored++
			continue
		}
		t.Count++
		longer *= 1 - 1/float64(len(all)-i)
		const rounding = 1e-9
		if t.P50 == nil && longer <= 0.5+rounding {
			t.P50 = new(one.ms)
		}
		if t.P90 == nil && longer <= 0.1+rounding {
			t.P90 = new(one.ms)
		}
	}
	return t
}

// enoughTrees is the number of trees from which on a rate or a percentile of them is worth a line.
const enoughTrees = 10

// Line is the report in one line, such as "17 trees: 12 completed, 5 still running at the end; 84 completed per hour;
// 1.08 × as long as recorded (p90 1.31)". Of few trees it has neither a rate nor a percentile.
func (r *Report) Line() string {
	outcomes := []string{}
	for _, o := range []struct {
		n    int
		what string
	}{{r.Completed, "completed"}, {r.Running, "still running at the end"}, {r.Cut, "cut by a failed request"}} {
		if o.n > 0 {
			outcomes = append(outcomes, fmt.Sprintf("%d %s", o.n, o.what))
		}
	}
	parts := []string{fmt.Sprintf("%s: %s", view.Plural(r.Trees, "tree"), strings.Join(outcomes, ", "))}
	if r.JobsPerHour != nil && r.Completed >= enoughTrees {
		parts = append(parts, view.Figure(*r.JobsPerHour)+" completed per hour")
	}
	if d := r.Dilation; d != nil {
		text := view.Figure(d.Mean) + " × as long as recorded"
		if d.Count >= enoughTrees {
			text += " (p90 " + view.Figure(d.P90) + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// HitLine is what prefix caches had of the prompts, in one line; empty = nothing is known.
func (r *Report) HitLine() string {
	var parts []string
	for _, h := range []struct {
		share *float64
		what  string
	}{
		{r.Hits.Reported, "reported by the server"}, {r.Hits.Expected, "possible for what was sent"},
		{r.Hits.Theoretical, "in the recording"},
	} {
		if h.share != nil {
			parts = append(parts, view.Percent(*h.share)+" "+h.what)
		}
	}
	return strings.Join(parts, ", ")
}
