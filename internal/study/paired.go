package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/stat"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
	"aiperfd/internal/study/cell"
	"aiperfd/internal/study/export"
	"aiperfd/internal/study/paired"
	"aiperfd/internal/view"
)

// decided is why a study ends the runs of both servers once the answer is known.
const decided = "the answer is known"

// endedDecided reports whether a run was ended by its study because the answer is known. It has results.
func endedDecided(r *run.Run) bool {
	return r.State == bench.StateCancelled && r.Cancelled != nil && r.Cancelled.Reason == decided
}

// pairedQuestion is what a comparison of two servers answers.
const pairedQuestion = "Is server B better or worse than server A?"

// contest is a comparison of two servers that a study performs.
type contest struct {
	study     *performance
	twins     *twins
	pairs     *pairsFile
	before    time.Duration // for which earlier processes have loaded the servers
	processes int           // earlier ones that have measured
	budget    time.Duration // of load

	sides [2]*run.Run // guarded by mu of the study; the runs of both servers once they have ended
}

// compete measures both servers at the same time, until the answer is known or the budget is spent.
func (p *performance) compete(ctx context.Context) error {
	if p.stopped() {
		return errStop
	}
	s := p.doc.Sweep
	r := p.item.View()
	c := &contest{
		study: p, before: seconds(r.Study.LoadLost), processes: r.Study.Interruptions,
		budget: seconds(s.MaxLoadSeconds),
	}
	c.twins = newTwins(p.doc.Seed, c.processes, s.Design, paired.Rules{
		Block: seconds(s.BlockSeconds), Margin: s.Margin, Metrics: paired.Tags(r.Streaming),
	})
	dir := p.opts.Store.Dir(p.item.ID())
	spans, err := closedBlocks(dir, p.prefix)
	if err != nil {
		return err
	}
	pairs, rows, err := openPairs(dir, spans)
	if err != nil {
		return err
	}
	c.pairs = pairs
	c.before = c.twins.restore(spans, rows, c.before)
	p.mu.Lock()
	p.contest = c
	p.mu.Unlock()
	if a, b := p.found[position{0, 0}], p.found[position{1, 0}]; a != nil && b != nil {
		err = c.resume(ctx, [2]*run.Run{a, b})
	} else {
		err = c.perform(ctx)
	}
	if !errors.Is(err, errStop) || p.stopped() { // else the next process goes on behind the last block
		pairs.write(c.twins.rest())
	}
	return errors.Join(err, pairs.close())
}

// closedBlocks returns when the blocks that an earlier process has closed began and ended, and how many pairs each has.
func closedBlocks(dir, prefix string) ([]results.PairedBlock, error) {
	a, err := results.Open(dir, prefix).Answer()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the blocks of an earlier process: %w", err)
	case a.Paired == nil:
		return nil, nil
	}
	return a.Paired.Blocks, nil
}

// seconds returns a number of seconds as a duration.
func seconds(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }

// perform queues the runs of both servers, follows their pairs and waits for their ends.
func (c *contest) perform(ctx context.Context) error {
	var children [2]*run.Run
	for side := range children {
		c.study.outcomes = append(c.study.outcomes, cell.Outcome{Variation: c.study.doc.Variations[side]})
		c.study.item.Announce(run.EventChildPlanned, plannedNews{child{
			Index: side, Role: []string{paired.A: "a", paired.B: "b"}[side], Label: c.study.doc.Variations[side].Label,
			Why: purposeOfSide(c.study.doc.Sweep.Design),
		}})
		v := c.study.doc.Variations[side]
		if c.processes > 0 {
			v.Settings = sweep.PairedSettings(c.left().Seconds())
		}
		child, err := c.study.queue(ctx, &v, 0, twin{c.twins, paired.Side(side)})
		if err != nil {
			return errors.Join(err, c.abandon(ctx, children[:side]...))
		}
		children[side] = child
		if child.ID == "" { // its document is not valid
			return errors.Join(&faultError{run.Error{Code: run.NoSuccess, Message: sideFailure(side, child.StateReason)}},
				c.abandon(ctx, children[:side]...))
		}
		if request := c.study.begun(child.ID); request != nil {
			c.stopCell(ctx, child.ID, *request)
		}
		defer c.study.ended(child.ID)
	}
	c.study.item.Change(ctx, func(r *run.Run) { r.Study.Current = "A and B" })
	if c.study.opts.Observer != nil {
		c.study.opts.Observer.Started(c.study.item.View(), children[paired.A])
	}
	var errs [2]error
	watch, stop := context.WithCancel(ctx)
	var watching, waiting sync.WaitGroup
	watching.Go(func() { c.study.watchStart(watch, children[paired.A].ID) })
	watching.Go(func() { c.follow(watch, children) })
	for side := range children {
		waiting.Go(func() { children[side], errs[side] = c.await(ctx, side, children) })
	}
	waiting.Wait()
	stop()
	watching.Wait()
	if ctx.Err() != nil {
		return errStop // the runner ends its active runs when the process stops
	}
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	return c.finish(ctx, children)
}

// left returns for how long the servers may still be loaded. It is at least the time of one block: the runs of an
// earlier process have no results, and a study without any has failed.
func (c *contest) left() time.Duration {
	least := seconds(c.study.doc.Sweep.BlockSeconds)
	if blocks := c.twins.blocks(); len(blocks) > 0 {
		last := &blocks[len(blocks)-1]
		least = max(least, last.To-last.From)
	}
	return max(c.budget-c.before, least)
}

// resume takes the runs that an earlier process has ended.
func (c *contest) resume(ctx context.Context, children [2]*run.Run) error {
	for side := range children {
		c.study.outcomes = append(c.study.outcomes, cell.Outcome{Variation: c.study.doc.Variations[side]})
	}
	return c.finish(ctx, children)
}

// finish takes what is left of the pairs and adds the runs of both servers to the results.
func (c *contest) finish(ctx context.Context, children [2]*run.Run) error {
	c.study.mu.Lock()
	c.sides = children
	c.study.mu.Unlock()
	c.take(ctx)
	return c.judge(ctx, children)
}

// await waits for the end of the run of a side. A run that ends before its time ends the other one, too.
func (c *contest) await(ctx context.Context, side int, children [2]*run.Run) (*run.Run, error) {
	ended, err := c.study.opts.Runner.Wait(ctx, children[side].ID)
	if err != nil {
		return children[side], fmt.Errorf("wait for cell %s: %w", children[side].ID, err)
	}
	if ended.State != bench.StateCompleted && !endedDecided(ended) {
		why := fmt.Sprintf("the run of %s has ended: %s", paired.Side(side), cmp.Or(ended.StateReason, string(ended.State)))
		twin{c.twins, paired.Side(side)}.Leave(cmp.Or(ended.StateReason, string(ended.State)))
		c.stopCell(ctx, children[1-side].ID, run.CancelRequest{Force: true, Reason: why})
	}
	return ended, nil
}

// stopCell cancels a cell that may have ended.
func (c *contest) stopCell(ctx context.Context, id string, how run.CancelRequest) {
	if _, _, err := c.study.opts.Runner.Cancel(ctx, id, how); err != nil && !errors.Is(err, run.ErrAlreadyFinished) {
		c.study.opts.Log.Error().Err(err).Str("run", id).Msg("cancel cell")
	}
}

// abandon stops cells whose study does not go on, and waits for their ends.
func (c *contest) abandon(ctx context.Context, children ...*run.Run) error {
	var errs []error
	for _, child := range children {
		c.stopCell(ctx, child.ID, run.CancelRequest{Force: true, Reason: "the run of the other server cannot begin"})
		_, err := c.study.opts.Runner.Wait(ctx, child.ID)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// follow looks at the pairs until ctx ends, and ends both runs once the answer is known.
func (c *contest) follow(ctx context.Context, children [2]*run.Run) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for ended := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if why := c.take(ctx); why != "" && !ended {
			ended = true
			for _, child := range children {
				c.stopCell(ctx, child.ID, run.CancelRequest{Force: true, Reason: why})
			}
		}
	}
}

// take writes the pairs of the blocks that were closed, and the answer behind them: what the answer has is in the file
// of the pairs, from which the next process restores it. It returns why no more are needed; empty = they are.
func (c *contest) take(ctx context.Context) (why string) {
	rows, why := c.twins.look()
	c.study.storeLoad(ctx, c.twins.load())
	if len(rows) == 0 {
		return why
	}
	c.pairs.write(rows)
	c.pairs.flush()
	report := c.study.report()
	if err := export.WriteSummary(c.study.opts.Store.Dir(c.study.item.ID()), report); err != nil {
		c.study.opts.Log.Error().Err(err).Str("run", c.study.item.ID()).Msg("write summary of sweep")
	}
	c.study.announceAnswer(report.Answer())
	return why
}

// judge adds the runs of both sides to the results. The error says which server could not be measured.
func (c *contest) judge(ctx context.Context, children [2]*run.Run) error {
	var failed []string
	for side, child := range children {
		if err := c.study.writeConfig(child); err != nil {
			return err
		}
		result, err := c.study.conclude(ctx, side, child)
		if err != nil {
			return err
		}
		c.study.announceEnd(side, &result)
		if c.twins.silent(paired.Side(side)) {
			failed = append(failed, sideFailure(side, c.firstError(ctx, child)))
			continue
		}
		if result.Failure != "" && child.State == bench.StateFailed && !failedWith(child, run.TwinFailed) {
			failed = append(failed, sideFailure(side, result.Failure))
		}
	}
	if len(failed) > 0 {
		return &faultError{run.Error{Code: run.NoSuccess, Message: strings.Join(failed, "; ")}}
	}
	for side, child := range children { // somebody has cancelled one of them
		if child.State == bench.StateCancelled && !endedDecided(child) && !c.study.stopped() {
			return &faultError{run.Error{Code: run.TooManyFailures, Message: sideFailure(side, cmp.Or(child.StateReason, "cancelled"))}}
		}
	}
	return nil
}

// firstError says that no request of a run succeeded, with the error that most of them had.
func (c *contest) firstError(ctx context.Context, r *run.Run) string {
	text := "not one request succeeded"
	if snap, err := c.study.opts.Runner.Snapshot(ctx, r.ID); err == nil && len(snap.Errors) > 0 {
		text += ": " + snap.Errors[0].Example
	}
	return text
}

// sideFailure says that a server could not be measured.
func sideFailure(side int, why string) string {
	return fmt.Sprintf("the server %s was not measured: %s", paired.Side(side), why)
}

// answer returns what the pairs say so far. Call it with mu of the study held.
func (c *contest) answer(r *run.Run) *results.Answer {
	distorted := cmp.Or(c.twins.doubt(), c.distortedSide())
	a, decide := c.twins.answer(distorted)
	out := &results.Answer{
		AnswerHead: results.NewAnswerHead("ab", pairedQuestion,
			"these two servers, with this workload, while they were measured"),
		RunID: r.ID, Evidence: []results.AnswerProbe{}, Paired: pairedOf(&a, c.study.doc.Sweep),
	}
	out.Verdict, out.Sentences = results.Verdict(a.Verdict), []string{a.Headline() + ".", c.how()}
	out.Stop, out.Decide.Needs = c.stop(r, &a), decide
	out.Provenance = results.AnswerOrigin{Seed: &c.study.doc.Seed, Version: r.Version}
	out.Final = out.Stop.Reason != ""
	for _, d := range a.Doubts {
		out.AddDoubt(d.Code, d.Message)
	}
	if c.processes > 0 {
		out.AddDoubt("interrupted", fmt.Sprintf("the measurement was interrupted %s and went on with other prompts; "+
			"what belonged to no complete block then is left out", view.Plural(c.processes, "time")))
	}
	for side := range 2 {
		s := results.PairedSide{
			Name: paired.Side(side).String(), Failed: a.Failed[side], Lag: a.Lag[side].Seconds() * 1000,
			Targets: []string{}, Models: []string{},
		}
		if t := c.sides[side]; t != nil {
			s.RunID, s.Targets, s.Models = t.ID, t.Targets, append([]string{}, t.Models...)
		}
		out.Paired.Sides = append(out.Paired.Sides, s)
	}
	return out
}

// how says which requests the servers got, and when.
func (c *contest) how() string {
	switch s := c.study.doc.Sweep; s.Design {
	case sweep.Crossover:
		return fmt.Sprintf("The servers took turns of %v s, with the same requests in the turns of both; a coin decided "+
			"which had the first one.", s.BlockSeconds)
	case sweep.Split:
		return "Each server got half of the load: two of each four requests, with the same prompts."
	}
	return "Every request went to both servers at the same time, first to the one that a coin chose."
}

// purposeOfSide says why a server is measured.
func purposeOfSide(design string) string {
	switch design {
	case sweep.Crossover:
		return "to get the same requests as the other server, in turns"
	case sweep.Split:
		return "to get half of the load"
	}
	return "to get every request at the same time as the other server"
}

// distortedSide returns why the load generator distorted the run of a side; empty = it did not, or that is not known
// yet. Call it with mu held.
func (c *contest) distortedSide() string {
	for side, r := range c.sides {
		if r == nil || r.Client == nil || r.Client.Verdict != verdict.Invalid {
			continue
		}
		for i := range r.Client.Reasons {
			if reason := &r.Client.Reasons[i]; reason.Level == verdict.Invalid {
				_, off, cause := reason.Short()
				return fmt.Sprintf("the numbers of %s are %s, because it was %s", paired.Side(side), off, cause)
			}
		}
		return "it could not keep up with " + paired.Side(side).String()
	}
	return ""
}

// stop says why the measurement ended.
func (c *contest) stop(r *run.Run, a *paired.Answer) results.AnswerStop {
	out := results.AnswerStop{Load: (c.before + c.twins.load()).Seconds()}
	if n := len(a.Blocks); n > 0 && c.sides[0] != nil { // it has ended
		out.Load = a.Blocks[n-1].To.Seconds()
	}
	if c.budget > 0 {
		out.Budget = out.Load / c.budget.Seconds()
	}
	if r.State != bench.StateExporting && !r.State.Terminal() {
		return out
	}
	reached := c.sides[0] != nil && c.sides[1] != nil
	switch {
	case c.study.request != nil:
		out.Reason, out.Text = results.StopCancelled, "the study was cancelled"
	case reached && (endedDecided(c.sides[0]) || endedDecided(c.sides[1])):
		out.Reason, out.Text = results.StopDecided, fmt.Sprintf("the answer was known after %d blocks", len(a.Blocks))
		if a.Verdict == paired.Invalid {
			out.Text = fmt.Sprintf("all changes were known after %d blocks", len(a.Blocks))
		}
	case reached && c.sides[0].State == bench.StateCompleted && c.sides[1].State == bench.StateCompleted:
		out.Reason, out.Text = results.StopBudget, "the budget is spent"
	default:
		out.Reason, out.Text = "failed", "a server could not be measured"
	}
	return out
}

// pairedOf returns the details of an answer.
func pairedOf(a *paired.Answer, s *sweep.Block) *results.Paired {
	out := &results.Paired{
		Design: s.Design, Metrics: []results.PairedMetric{}, Pairs: a.Pairs, Looks: stat.FirstLook, Level: 0.95,
		Block: s.BlockSeconds,
		Sides: []results.PairedSide{}, Blocks: []results.PairedBlock{},
		Method: "asymptotic confidence sequence of the mean of the blocks, divided among the metrics; for errors, " +
			"while no request failed on one side alone: how often such a request may come although none was seen",
	}
	for i := range a.Metrics {
		m := &a.Metrics[i]
		one := results.PairedMetric{
			Tag: m.Tag, Verdict: string(m.Verdict), Unit: "%", Blocks: m.Blocks, Change: m.Change, Low: m.Low, High: m.High,
			Margin: m.Margin, Detectable: m.Detectable, Won: m.Won, Order: m.Order, OrderT: m.OrderT,
			DriftA: m.Drift[paired.A], DriftB: m.Drift[paired.B],
		}
		if m.Points {
			one.Unit = "points"
		}
		out.Metrics = append(out.Metrics, one)
	}
	for i := range a.Blocks {
		b := &a.Blocks[i]
		one := results.PairedBlock{
			From: b.From.Seconds(), To: b.To.Seconds(), Pairs: b.Pairs,
			Change: map[string]*float64{}, SoFar: map[string]results.PairedRunning{},
		}
		for _, s := range b.SoFar {
			one.SoFar[s.Tag] = results.PairedRunning{Change: s.Change, Low: s.Low, High: s.High}
		}
		for at := range a.Metrics {
			tag := a.Metrics[at].Tag
			if x, ok := b.Change(tag); ok {
				one.Change[tag] = new(x)
			} else {
				one.Change[tag] = nil
			}
		}
		out.Blocks = append(out.Blocks, one)
	}
	return out
}
