package trace

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
)

// gaps are the times between requests of a trace that are longer than a limit, in their order. The zero value has none.
type gaps struct {
	until []time.Duration // when the first request behind a gap was sent
	moved []time.Duration // by how much that and the later ones are sent earlier
}

// shorten returns the time at which a request is sent instead of its own.
func (g *gaps) shorten(at time.Duration) time.Duration {
	i, found := slices.BinarySearch(g.until, at)
	if found {
		i++ // the request is the first behind the gap
	}
	if i > 0 {
		at -= g.moved[i-1]
	}
	return at
}

// findGaps finds the gaps between the requests that are used. Records with problems are left out: reading them for the
// run reports them.
func findGaps(ctx context.Context, f *format, o *source.Options, spec *Spec) (g gaps, err error) {
	r, err := file.Open(ctx, o.File)
	if err != nil {
		return g, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	decode := f.decoder()
	var times []time.Duration
	begun := map[string]bool{} // sessions
	for number := 1; ; number++ {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if _, broken := errors.AsType[*file.RecordError](err); broken {
			continue
		}
		if err != nil {
			return g, err
		}
		request, problems := decode(record.Data)
		most := spec.Synthesis.MaxISL
		if len(problems) > 0 || most > 0 && request.Input > most || !o.Sampled(request.Session, number) {
			continue
		}
		if spec.Baseten.Closed && request.Session != "" {
			if begun[request.Session] {
				continue // it is sent after the answer to the one before
			}
			begun[request.Session] = true
		}
		times = append(times, request.At)
	}
	slices.Sort(times)
	limit, moved := spec.Baseten.IdleCap, time.Duration(0)
	for i := 1; i < len(times); i++ {
		if gap := times[i] - times[i-1]; gap > limit {
			moved += gap - limit
			g.until, g.moved = append(g.until, times[i]), append(g.moved, moved)
		}
	}
	return g, nil
}
