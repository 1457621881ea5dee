package worker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"aiperfd/internal/cluster/bus"
	"aiperfd/internal/cluster/lane"
	"aiperfd/internal/cluster/message"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/report"
	"aiperfd/internal/engine/series"
)

// Clock implements [engine.Part].
func (p *part) Clock() bench.Clock { return p.clock }

// Worker implements [engine.Part].
func (p *part) Worker() string { return p.worker.options.Name }

// Share implements [engine.Part].
func (p *part) Share(of *spec.Phase) *spec.Share {
	owners := lane.Deal(of.Concurrency, p.task.Weights)
	share := p.lanes.Share(p.own, func(slot int) bool { return owners[slot] == p.task.Index })
	return &share
}

// within returns an error that names all caps that the part exceeds.
func (p *part) within(caps Caps) error {
	var errs []error
	share := float64(p.own.Len()) / lane.Count
	for i := range p.plan.Phases {
		ph := &p.plan.Phases[i]
		rate := ph.Rate
		if ph.Users != nil {
			rate = ph.Users.Rate
		}
		rate *= share
		switch {
		case caps.Rate == 0:
		case ph.Replay != nil:
			const text = "phase %s: the dataset says when requests are due, so that their rate is not known before; " +
				"this load generator performs at most %v per second (--max-rate)"
			errs = append(errs, fmt.Errorf(text, ph.Name, caps.Rate))
		case rate > caps.Rate:
			const text = "phase %s: the share of this load generator is %.6g arrivals per second; it performs at most %v (--max-rate)"
			errs = append(errs, fmt.Errorf(text, ph.Name, rate, caps.Rate))
		}
		slots := lane.Apportion(ph.Concurrency, p.task.Weights)[p.task.Index]
		if ph.Users != nil {
			slots = max(slots, int(math.Ceil(float64(ph.Users.Count)*share)))
		}
		if caps.Concurrency > 0 && slots > caps.Concurrency {
			const text = "phase %s: the share of this load generator is a concurrency of %d; it performs at most %d (--max-concurrency)"
			errs = append(errs, fmt.Errorf(text, ph.Name, slots, caps.Concurrency))
		}
	}
	return errors.Join(errs...)
}

// Meet implements [engine.Part]: it asks the controller until all load generators are ready.
func (p *part) Meet(ctx context.Context, phase int, after int64) (start time.Time, first int64, err error) {
	w := p.worker
	question := message.Ready{Run: p.task.Run, Phase: phase, After: after}
	for {
		var answer message.Start
		err := w.request(ctx, meetWait, bus.FromWorker(w.id, message.KindReady), &question, &answer)
		switch {
		case ctx.Err() != nil:
			return time.Time{}, 0, ctx.Err()
		case err != nil || answer.Wait:
		case answer.Error != "":
			return time.Time{}, 0, errors.New(answer.Error)
		default:
			start, _, err := w.local(answer.At)
			if late := time.Since(start); err == nil && late > 0 {
				err = fmt.Errorf("the load generator heard of the start %v too late", late.Round(time.Millisecond))
			}
			return start, answer.First, err
		}
		select {
		case <-ctx.Done():
			return time.Time{}, 0, ctx.Err()
		case <-time.After(askEvery):
		}
	}
}

// Show implements [engine.Part].
func (p *part) Show(of *spec.Phase, stats *bench.PhaseStats, set *measure.Set) {
	live, err := set.MarshalLive()
	if err != nil {
		p.worker.options.Log.Error().Err(err).Msg("encode the metrics of a phase")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phases[of.Index] = message.Phase{Stats: *stats, Live: live}
}

// mostSeconds bounds the seconds that wait for a controller that does not answer: it takes the worker for lost before.
const mostSeconds = 1200

// ShowSecond implements [engine.Part].
func (p *part) ShowSecond(s series.Window) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.number++
	if len(p.seconds) < mostSeconds && len(s.Data) <= message.MaxSecond {
		p.seconds = append(p.seconds, message.Second{Number: p.number, Window: s})
	}
}

// Ended implements [engine.Part].
func (p *part) Ended(e *report.Ending) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ending.Ending = e
}
