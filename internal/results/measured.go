package results

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"aiperfd/internal/engine/bench"
)

// Measured are the records of a run as they were measured, of which its results can be computed
// again.
type Measured struct {
	// Clock has the epoch of the run once a record has been read; before, the zero Unix time.
	Clock bench.Clock
	// LeftOut is the number of records so far whose lines lack content events, because
	// there were more than export.MaxListed.
	LeftOut int

	results  *Results
	progress func(read, total int64)
}

// epochUnknown returns the epoch of records that were not read yet.
func epochUnknown() time.Time { return time.Unix(0, 0) }

// Measured returns the records that the lines of the run have; those in Parquet are not whole
// before its end. progress is called now and then with bytes of the file.
func (r *Results) Measured(progress func(read, total int64)) *Measured {
	return &Measured{Clock: bench.ClockAt(epochUnknown()), results: r, progress: progress}
}

// Records yields the records in the order of the file, as they were written but without the texts
// of the answers. It ends after the first error, which is that of ctx if that ends before. A last
// line that is not whole, as a crash leaves it, ends the records without an error.
func (m *Measured) Records(ctx context.Context) iter.Seq2[*bench.Record, error] {
	return func(yield func(*bench.Record, error) bool) {
		for r, err := range m.written(ctx) {
			if !yield(r.record, err) {
				return
			}
		}
	}
}

// writtenRecord is a record with its line, which is valid until the next one is read.
type writtenRecord struct {
	record *bench.Record
	line   []byte
}

// written yields the records with their lines, see [Measured.Records].
func (m *Measured) written(ctx context.Context) iter.Seq2[writtenRecord, error] {
	return func(yield func(writtenRecord, error) bool) {
		var epoch int64
		var torn error // if nothing follows the line, its blocks came to the disk in part
		line, sessions := 0, recordedSessions{}
		err := m.results.eachWritten(func(text []byte) error {
			line++
			if torn != nil {
				return torn
			}
			var l measuredLine
			if err := l.decode(text); err != nil {
				torn = &LineError{line, err}
				return nil
			}
			if line == 1 {
				epoch = l.Own.Epoch
				m.Clock = bench.ClockAt(time.Unix(0, epoch))
			}
			if l.Own.Epoch == 0 || l.Own.Epoch != epoch {
				err := fmt.Errorf("epoch is %d, not that of the run, %d", l.Own.Epoch, epoch)
				return &LineError{line, err}
			}
			record := l.record()
			if l.Own.Recorded != nil {
				record.Content.Replayed = &bench.Turn{Recorded: sessions.add(l.Own.Recorded)}
				record.Entered = l.Own.Recorded.Entered
			}
			if record.Answer.LeftOut > 0 {
				m.LeftOut++
			}
			if !yield(writtenRecord{record, text}, nil) {
				return errStopped
			}
			return nil
		}, func(in io.Reader, size int64) io.Reader {
			return &watchedReader{Reader: in, ctx: ctx, total: size, progress: m.progress}
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(writtenRecord{}, err)
		}
	}
}

// lineRecorded is what the recording says of the turn of a recorded session.
type lineRecorded struct {
	Trace   string        `json:"trace"`
	Digest  string        `json:"sha256"`
	Turns   int           `json:"turns"`
	Turn    int           `json:"turn"`
	Later   int           `json:"later"`
	Start   time.Duration `json:"start"`
	End     time.Duration `json:"end"`
	Entered time.Duration `json:"entered"`
	After   []int         `json:"after"`
}

// recordedSessions are the recorded sessions whose requests were read so far, by their ids.
type recordedSessions map[string]*bench.RecordedSession

// mostTurns bounds the memory for the turns of a session.
const mostTurns = 1 << 20

// add returns the turn that a line tells of.
func (s recordedSessions) add(l *lineRecorded) *bench.Recording {
	session := s[l.Trace]
	if session == nil {
		turns := make([]*bench.Recording, min(max(l.Turns, 0), mostTurns))
		session = &bench.RecordedSession{ID: l.Trace, Digest: l.Digest, Turns: turns}
		s[l.Trace] = session
	}
	turn := func(n int) *bench.Recording {
		if n < 0 || n >= len(session.Turns) {
			return nil
		}
		if session.Turns[n] == nil {
			session.Turns[n] = &bench.Recording{Session: session, Number: n}
		}
		return session.Turns[n]
	}
	r := turn(l.Turn)
	if r == nil {
		return &bench.Recording{Session: session, Start: l.Start, End: l.End} // of a line that was changed
	}
	r.Start, r.End, r.Later, r.After = l.Start, l.End, l.Later, r.After[:0]
	for _, n := range l.After {
		if before := turn(n); before != nil && before != r {
			r.After = append(r.After, before)
		}
	}
	return r
}

// watchedReader is a file whose reader is told how far it is, and stops when a context ends.
type watchedReader struct {
	io.Reader
	ctx         context.Context //nolint:containedctx // that of one read of the file
	read, total int64
	progress    func(read, total int64)
}

// Read implements io.Reader.
func (w *watchedReader) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.Reader.Read(p)
	w.read += int64(n)
	w.progress(w.read, w.total)
	return n, err
}

// measuredLine is what is read of a line.
type measuredLine struct {
	Metadata Metadata    `json:"metadata"`
	Own      ownMembers  `json:"aiperfd"`
	Earlier  *ownMembers `json:"ours"` // the same, as version 0.1 named it

	Acceptance *lineAcceptance `json:"spec_decode_acceptance"`
}

// decode reads a line without its metrics.
func (l *measuredLine) decode(text []byte) error {
	for _, part := range partsOf(text).measured() {
		if err := json.Unmarshal(part, l); err != nil {
			return err
		}
	}
	if l.Earlier != nil {
		l.Own = *l.Earlier
	}
	return nil
}

// ownMembers are what AIPerf's members do not hold.
type ownMembers struct {
	Epoch           int64                    `json:"epoch_ns"`
	Model           string                   `json:"model"`
	Category        string                   `json:"category"`
	Target          int                      `json:"target"`
	Turns           int                      `json:"turns"`
	Status          int                      `json:"status"`
	Stamps          lineStamps               `json:"stamps"`
	Connection      lineConnection           `json:"connection"`
	Path            *linePath                `json:"path"`
	Items           int                      `json:"items"`
	RequestedTokens bench.Tokens             `json:"requested_tokens"`
	Expected        *bench.Tokens            `json:"expected_cached_tokens"`
	Lane            int                      `json:"lane"`
	Recorded        *lineRecorded            `json:"recorded"`
	Images          int                      `json:"images"`
	Audio           time.Duration            `json:"audio_ns"`
	Ramp            bool                     `json:"ramp"`
	AnswerAudio     time.Duration            `json:"answer_audio_ns"`
	TokenSource     bench.TokenSource        `json:"token_source"`
	Counts          lineCounts               `json:"counts"`
	ClientCounts    lineCounts               `json:"client_counts"`
	Usage           *lineUsage               `json:"usage"`
	ServerTimes     map[string]time.Duration `json:"server_times_ns"`
	Speculation     *bench.Speculation       `json:"speculation"` // of earlier versions
	Job             *lineJob                 `json:"job"`
	Streamed        bool                     `json:"streamed"`
	Chunks          [][6]int64               `json:"chunks"`
	LeftOut         struct {
		Chunks int64 `json:"chunks"`
	} `json:"left_out"`
	Choices       []lineChoice      `json:"choices"`
	ResponseID    string            `json:"response_id"`
	ResponseModel string            `json:"response_model"`
	Headers       map[string]string `json:"response_headers"`
	Warnings      map[string]int    `json:"warnings"`
	Failure       *lineFailure      `json:"failure"`
}

type lineStamps struct {
	Due        time.Duration `json:"due"`
	Scheduled  time.Duration `json:"scheduled"`
	Queued     time.Duration `json:"queued"`
	Permit     time.Duration `json:"permit"`
	Start      time.Duration `json:"start"`
	Connected  time.Duration `json:"connected"`
	Wrote      time.Duration `json:"wrote"`
	FirstByte  time.Duration `json:"first_byte"`
	Headers    time.Duration `json:"headers"`
	FirstBody  time.Duration `json:"first_body"`
	FirstEvent time.Duration `json:"first_event"`
	End        time.Duration `json:"end"`
	Skipped    time.Duration `json:"skipped"`
}

type lineConnection struct {
	Reused   bool            `json:"reused"`
	Kernel   bool            `json:"kernel"`
	DNS      time.Duration   `json:"dns_ns"`
	Connect  time.Duration   `json:"connect_ns"`
	TLS      time.Duration   `json:"tls_ns"`
	Blocked  time.Duration   `json:"blocked_ns"`
	Retries  int             `json:"retries"`
	Wasted   time.Duration   `json:"wasted_ns"`
	Held     time.Duration   `json:"held_ns"`
	Reads    int32           `json:"reads"`
	Writes   int32           `json:"writes"`
	Polls    int32           `json:"polls"`
	Sent     bench.Bytes     `json:"sent_bytes"`
	Received bench.Bytes     `json:"received_bytes"`
	Trace    *bench.Trace    `json:"-"` // is not read
	Path     bench.PathCount `json:"-"` // stands beside it
}

type linePath struct {
	Retransmitted int32 `json:"retransmitted"`
	OutOfOrder    int32 `json:"out_of_order"`
}

type lineCounts struct {
	Input     *bench.Tokens `json:"input"`
	Output    *bench.Tokens `json:"output"`
	Reasoning *bench.Tokens `json:"reasoning"`
}

type lineUsage struct {
	Input      *bench.Tokens `json:"input"`
	Output     *bench.Tokens `json:"output"`
	Total      *bench.Tokens `json:"total"`
	Reasoning  *bench.Tokens `json:"reasoning"`
	Cached     *bench.Tokens `json:"cached"`
	CacheWrite *bench.Tokens `json:"cache_write"`
	CacheMiss  *bench.Tokens `json:"cache_miss"`
	AudioIn    *bench.Tokens `json:"audio_in"`
	AudioOut   *bench.Tokens `json:"audio_out"`
	Accepted   *bench.Tokens `json:"accepted"`
	Rejected   *bench.Tokens `json:"rejected"`
	ImageIn    *bench.Tokens `json:"image_in"`
	ImageOut   *bench.Tokens `json:"image_out"`

	AudioSeconds *float64 `json:"audio_seconds"`
}

// lineAcceptance is what speculative decoding did, as AIPerf's records have it.
type lineAcceptance struct {
	Engine       string               `json:"engine"`
	Steps        bench.Tokens         `json:"num_spec_steps"`
	Accepted     bench.Tokens         `json:"num_accepted_draft_tokens"`
	Drafted      bench.Tokens         `json:"num_draft_tokens"`
	Most         bench.Tokens         `json:"num_spec_tokens"`
	Histogram    map[int]bench.Tokens `json:"acceptance_histogram"`
	StepAccepted []bench.Tokens       `json:"per_step_accepted"`
	StepDrafted  []bench.Tokens       `json:"per_step_drafted"`
}

// mostAccepted bounds the draft tokens that a step can have accepted, so that a line that somebody
// else wrote needs no more memory than its length explains.
const mostAccepted = 1024

// speculation returns the report that the server sent; nil = there was none.
func (a *lineAcceptance) speculation() *bench.Speculation {
	if a == nil || a.Steps <= 0 {
		return nil
	}
	s := &bench.Speculation{
		Engine: a.Engine, Steps: a.Steps, Accepted: a.Accepted, Drafted: a.Drafted, Most: a.Most,
		StepAccepted: a.StepAccepted, StepDrafted: a.StepDrafted,
	}
	for accepted, steps := range a.Histogram {
		if accepted < 0 || accepted > mostAccepted {
			continue
		}
		for len(s.Histogram) <= accepted {
			s.Histogram = append(s.Histogram, 0)
		}
		s.Histogram[accepted] = steps
	}
	return s
}

type lineJob struct {
	Started    time.Duration `json:"started"`
	Fetched    time.Duration `json:"fetched"`
	PeakMemory float64       `json:"peak_memory_mb"`
}

type lineChoice struct {
	Index  int          `json:"index"`
	Finish bench.Finish `json:"finish"`
}

type lineFailure struct {
	Class      bench.Class   `json:"class"`
	Step       bench.Step    `json:"step"`
	Status     int           `json:"status"`
	Code       string        `json:"code"`
	Type       string        `json:"type"`
	Message    string        `json:"message"`
	RetryAfter time.Duration `json:"retry_after_ns"`
}

// record turns a line back into the record that it was.
func (l *measuredLine) record() *bench.Record {
	m, o := &l.Metadata, &l.Own
	s, c := &o.Stamps, &o.Connection
	r := &bench.Record{
		Phase: m.Phase, SessionNum: m.SessionNum, Turn: m.Turn, Turns: o.Turns, RequestID: m.RequestID,
		CorrelationID: m.CorrelationID, ConversationID: m.ConversationID, Category: o.Category, Model: o.Model, Target: o.Target,
		Stamps: bench.Stamps{
			Due: s.Due, Scheduled: s.Scheduled, Queued: s.Queued, Permit: s.Permit, Start: s.Start,
			Connected: s.Connected, Wrote: s.Wrote, FirstByte: s.FirstByte, Headers: s.Headers, FirstBody: s.FirstBody, End: s.End,
			Skipped: s.Skipped,
		},
		Conn: bench.Connection(*c), Status: o.Status,
		Ramp: o.Ramp, Items: o.Items, TokenSource: o.TokenSource, Lane: o.Lane,
		Content: bench.Content{
			RequestedTokens: o.RequestedTokens, Images: o.Images, AudioLength: o.Audio, Expected: o.Expected,
		},
		InputTokens: o.Counts.Input, OutputTokens: o.Counts.Output, ReasoningTokens: o.Counts.Reasoning,
		ClientInput: o.ClientCounts.Input, ClientOutput: o.ClientCounts.Output,
		ClientReasoning: o.ClientCounts.Reasoning,
	}
	if m.Depth > 0 {
		r.Lineage = &bench.Lineage{Depth: m.Depth, Root: m.Root}
	}
	if p := o.Path; p != nil {
		r.Conn.Path = bench.PathCount{Known: true, Retransmitted: p.Retransmitted, OutOfOrder: p.OutOfOrder}
	}
	a := &r.Answer
	a.Streamed, a.ResponseID, a.Model = o.Streamed, o.ResponseID, o.ResponseModel
	a.AudioLength, a.LeftOut = o.AnswerAudio, o.LeftOut.Chunks
	a.FirstEvent, a.Warnings, a.Headers = s.FirstEvent, o.Warnings, o.Headers
	if a.Speculation = l.Acceptance.speculation(); a.Speculation == nil {
		a.Speculation = o.Speculation
	}
	a.ServerTimes, a.Job = o.ServerTimes, (*bench.Job)(o.Job)
	a.Usage, a.Failure = (*bench.Usage)(o.Usage), (*bench.Failure)(o.Failure)
	for _, x := range o.Chunks {
		a.Chunks = append(a.Chunks, bench.Chunk{
			At: time.Duration(x[0]), Bytes: int32(x[1]), Tokens: int32(x[2]),
			Kind: bench.ChunkKind(x[3]), Choice: uint16(x[4]), Read: int32(x[5]),
		})
	}
	for _, x := range o.Choices {
		a.Choices = append(a.Choices, bench.Choice{Index: x.Index, Finish: x.Finish})
	}
	return r
}
