// Package trace reads recorded requests: their times, lengths and the hash ids of the
// blocks of their prompts. Prompts that were not recorded are generated so that they
// share exactly the blocks that the trace says they share.
package trace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
)

// Spec are the options that only traces have.
type Spec struct {
	Synthesis Synthesis
	// IgnoreDelays drops the times and delays of the trace, except when conversations
	// begin.
	IgnoreDelays bool
	Baseten      Baseten
}

// decoder decodes the records of one pass, in their order. A record has a request or
// problems.
type decoder func(data []byte) (Request, source.Problems)

// format is one row of the table of formats of traces.
type format struct {
	source.Format
	recorded bool // prompts were recorded, so that no multiplier changes them
	decoder  func() decoder
}

// formats lists the formats in the order of the documentation.
func formats() []format {
	return []format{mooncake(), bailian(), burstGPT(), baseten()}
}

// Formats lists the formats in the order of the documentation. They are opened by [Open].
func Formats() []source.Format {
	var out []source.Format
	for _, f := range formats() {
		out = append(out, f.Format)
	}
	return out
}

func find(name string) (format, error) {
	for _, f := range formats() {
		if f.Name == name {
			return f, nil
		}
	}
	return format{}, fmt.Errorf("format %q is no trace", name)
}

// Open returns the conversations of a trace.
func Open(ctx context.Context, name string, o source.Options, spec Spec) (source.Source, error) {
	f, err := find(name)
	if err != nil {
		return nil, err
	}
	t := &trace{format: &f, spec: spec, blockSize: cmp.Or(o.BlockSize, f.BlockSize, defaultBlockSize)}
	o.File.Numbers = f.Numbers
	if err := t.check(&o); err != nil {
		return nil, err
	}
	if spec.Synthesis.reshapes() {
		if t.shared, err = countIDs(ctx, &f, o.File); err != nil {
			return nil, fmt.Errorf("open dataset %s: count hash ids: %w", o.File.Path, err)
		}
		if err := spec.Synthesis.fits(t.shared.most); err != nil {
			return nil, fmt.Errorf("open dataset %s: %w", o.File.Path, err)
		}
	}
	t.texts = sync.OnceValues(func() (*prompts, error) { return newPrompts(&o, t.blockSize, &t.inexact) })
	if limit := spec.Baseten.IdleCap; limit > 0 {
		if t.gaps, err = findGaps(ctx, &f, &o, &spec); err != nil {
			return nil, fmt.Errorf("open dataset %s: find gaps: %w", o.File.Path, err)
		}
	}
	row := f.Format
	row.New, row.Note = t.pass, t.note
	return source.OpenFile(ctx, &row, o)
}

// trace makes conversations of the records of one format.
type trace struct {
	format    *format
	spec      Spec
	blockSize int
	shared    *idCounts                // nil = prompts are not reshaped
	texts     func() (*prompts, error) // made when the first prompt is generated
	inexact   atomic.Int64             // prompts that missed their length
	gaps      gaps
}

// note adds what the generated prompts have found.
func (t *trace) note(d *source.Description) {
	if d.Inexact = int(t.inexact.Load()); d.Inexact > 0 {
		d.Warnings = append(d.Warnings, fmt.Sprintf(
			"%d generated prompts missed their length, because this tokenizer joins the end of a block with the beginning of the next; "+
				"their real lengths are used", d.Inexact))
	}
}

// check returns the options that exclude each other.
func (t *trace) check(o *source.Options) error {
	var errs []error
	if t.spec.Synthesis.reshapes() && t.format.recorded {
		errs = append(errs, fmt.Errorf("%s has recorded prompts, which multipliers of prefixes and prompts do not change", t.format.Name))
	}
	if t.spec.Synthesis.reshapes() && !o.File.Rewindable() {
		errs = append(errs, errors.New("multipliers of prefixes and prompts need a file that can be read twice, to find the hash ids that occur more than once"))
	}
	if t.spec.Baseten.IdleCap > 0 && !o.File.Rewindable() {
		errs = append(errs, errors.New(
			"a limit of the time between requests needs a file that can be read twice, to find the gaps"))
	}
	return errors.Join(append(errs, t.spec.Synthesis.check())...)
}

// pass returns the function that decodes the records of one pass.
func (t *trace) pass(o *source.Options) source.Decoder {
	p := t.begin()
	p.tokenizer, p.seed = o.Tokenizer != nil, o.Seed
	if t.shared != nil {
		p.synthesis = &synthesizer{Synthesis: t.spec.Synthesis, shared: t.shared, blockSize: t.blockSize, seed: o.Seed}
	}
	return p.decodeRow
}

// manyRecent is how many sessions, ids and chats a pass remembers at least.
const manyRecent = 1 << 15

// pass is what is known of the records of one pass so far.
type pass struct {
	*trace
	synthesis *synthesizer // nil = prompts are not reshaped
	tokenizer bool
	seed      bench.Seed
	decode    decoder
	sizes     source.Recent[int64, int32]          // tokens of the blocks
	kinds     source.Recent[string, kind]          // of the sessions
	ends      source.Recent[string, time.Duration] // of the last requests of the sessions
	requests  int
}

// begin returns a pass over the records.
func (t *trace) begin() *pass {
	return &pass{
		trace: t, decode: t.format.decoder(),
		sizes: source.NewRecent[int64, int32](manyRecent), kinds: source.NewRecent[string, kind](manyRecent),
		ends: source.NewRecent[string, time.Duration](manyRecent),
	}
}

// decodeRow returns the conversation, or the part of one, that a record describes. A record
// that is filtered out has no turn and no problem.
func (p *pass) decodeRow(record file.Record) (source.Row, error) {
	r, problems := p.decode(record.Data)
	if len(problems) > 0 {
		return source.Row{}, problems
	}
	r.number = p.requests
	p.requests++
	if most := p.spec.Synthesis.MaxISL; most > 0 && r.Input > most {
		return source.Row{}, nil
	}
	p.arrange(&r)
	session := r.Session
	if p.spec.Baseten.Strict {
		r.Session = ""
	}
	known, err := p.joined(&r)
	if err == nil {
		err = p.sized(&r)
	}
	if err != nil {
		return source.Row{}, err
	}
	if p.synthesis != nil && r.kind == generated {
		p.synthesis.reshape(&r)
	}
	row := p.row(&r, known)
	row.Sampled = session
	return row, nil
}

// joined reports whether the conversation of a request has earlier turns, which have to be
// of the same kind.
func (p *pass) joined(r *Request) (known bool, err error) {
	if r.Session == "" {
		return false, nil
	}
	k, known := p.kinds.Get(r.Session)
	if known && k.literal() != r.kind.literal() {
		return known, fmt.Errorf("session %q has %s, but its records before have %s; a session has one kind",
			file.Clip(r.Session), r.kind, k)
	}
	p.kinds.Set(r.Session, r.kind)
	return known, nil
}

// sized checks that the ids fit the length, and that no id has two sizes.
func (p *pass) sized(r *Request) error {
	if r.kind != generated {
		return nil
	}
	if !p.tokenizer {
		return errors.New("input_length: a tokenizer is needed to generate prompts")
	}
	for i, id := range r.IDs {
		size := min(p.blockSize, r.Input-i*p.blockSize)
		if size <= 0 {
			return fmt.Errorf("hash_ids: %d blocks of %d tokens are more than an input_length of %d; "+
				"the trace may have another block size (--isl-block-size)", len(r.IDs), p.blockSize, r.Input)
		}
		if before, ok := p.sizes.Get(id); ok && before != int32(size) {
			return fmt.Errorf("hash_ids: %d is a block of %d tokens here and one of %d tokens before; "+
				"the trace may have another block size (--isl-block-size)", id, size, before)
		}
		p.sizes.Set(id, int32(size))
	}
	return nil
}

// arrange gives a request its time: in the schedule without long gaps, or after the request before it in its session.
func (p *pass) arrange(r *Request) {
	if p.spec.Baseten.Closed && r.Session != "" {
		end, known := p.ends.Get(r.Session)
		p.ends.Set(r.Session, r.At+r.took)
		if known {
			r.delay, r.Timed = max(0, r.At-end), false
		}
	}
	r.At = p.gaps.shorten(r.At)
}

// row returns the row of a request. known means that the conversation has earlier turns.
func (p *pass) row(r *Request, known bool) source.Row {
	t := r.turn
	s := &p.spec.Synthesis
	t.MaxTokens = s.output(r.Output)
	if !p.spec.IgnoreDelays || !known {
		t.At, t.Timed = r.At, r.Timed
	}
	if !p.spec.IgnoreDelays {
		t.Delay = r.delay
	}
	row := source.Row{Session: r.Session, Conversation: bench.Conversation{Mode: r.mode, Turns: []bench.Turn{t}}}
	if r.kind != generated {
		if r.hints != nil {
			r.hints.apply(&row.Conversation.Turns[0], r.IDs, &p.spec.Baseten)
		}
		return row
	}
	// With a history before it, a prompt has more than these blocks.
	if turn := &row.Conversation.Turns[0]; len(r.IDs) > 0 && !(known && r.mode == bench.DeltasWithoutResponses) {
		turn.BlockIDs, turn.BlockSize = r.IDs, p.blockSize
	}
	number, length, ids := r.number, r.Input, r.IDs
	row.Finish = func(turns []bench.Turn) error {
		texts, err := p.texts()
		if err != nil {
			return err
		}
		text, tokens, err := texts.prompt(number, length, ids)
		if err != nil {
			return fmt.Errorf("request %d of the trace: %w", number+1, err)
		}
		turns[0].Texts, turns[0].InputTokens = []string{text}, bench.Tokens(tokens)
		return nil
	}
	return row
}
