package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"aiperfd/internal/engine/bench"
)

// RecordLog is a record file that is being read.
type RecordLog struct {
	// Clock has the epoch of the run that wrote the file; the zero Unix time for
	// a file without records.
	Clock bench.Clock
	// Records yields the records in the order of the file, as they were written
	// but without the texts of the answers. It can be ranged over once, reads
	// the file as it goes, and ends after the first error.
	Records iter.Seq2[*bench.Record, error]
	// LeftOut is the number of records so far whose lines lack content events, because
	// there were more than [MaxListed].
	LeftOut int
}

// maxLine bounds a line of a record file, in bytes.
const maxLine = 256 << 20

// ReadRecords reads what a [RecordWriter] wrote. A last line that is not whole,
// as a crash leaves it, ends the records without an error. The error is that of
// the first line.
func ReadRecords(r io.Reader) (*RecordLog, error) {
	in := &recordReader{lines: bufio.NewReaderSize(r, 256<<10)}
	first, err := in.next()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read records: %w", err)
	}
	log := &RecordLog{Clock: bench.ClockAt(time.Unix(0, in.epoch))}
	log.Records = func(yield func(*bench.Record, error) bool) {
		for rec, err := first, err; !errors.Is(err, io.EOF); rec, err = in.next() {
			if err != nil {
				yield(nil, fmt.Errorf("read records: %w", err))
				return
			}
			if rec.Answer.LeftOut > 0 {
				log.LeftOut++
			}
			if !yield(rec, nil) {
				return
			}
		}
	}
	return log, nil
}

// recordReader reads line by line.
type recordReader struct {
	lines *bufio.Reader
	line  int   // number of the last line, from 1
	epoch int64 // of the first line, in Unix nanoseconds
}

// next returns the next record; io.EOF at the end, and at a torn last line.
func (in *recordReader) next() (*bench.Record, error) {
	text, err := in.read()
	if err != nil {
		return nil, err
	}
	in.line++
	var l recordLine
	if err := l.decode(text); err != nil {
		if _, end := in.lines.Peek(1); errors.Is(end, io.EOF) {
			return nil, io.EOF // the blocks of the last line came to the disk in part
		}
		return nil, fmt.Errorf("line %d: %w", in.line, err)
	}
	if in.line == 1 {
		in.epoch = l.Own.Epoch
	}
	if l.Own.Epoch == 0 || l.Own.Epoch != in.epoch {
		return nil, fmt.Errorf("line %d: epoch is %d, not that of the run, %d", in.line, l.Own.Epoch, in.epoch)
	}
	return l.record(), nil
}

// decode reads a line. The metrics, which are most of it and are computed again, are
// skipped as the writer places them: between the two other members.
func (l *recordLine) decode(text []byte) error {
	from := bytes.Index(text, []byte(`},"metrics":{`))
	to := bytes.LastIndex(text, []byte(`},"aiperfd":{`))
	if to < 0 {
		to = bytes.LastIndex(text, []byte(`},"ours":{`))
	}
	var err error
	if from < 0 || to < from {
		err = json.Unmarshal(text, l)
	} else {
		rest := append([]byte("{"), text[to+len("},"):]...)
		err = errors.Join(json.Unmarshal(append(text[:from+1:from+1], '}'), l), json.Unmarshal(rest, l))
	}
	if l.Earlier != nil {
		l.Own, l.Earlier = *l.Earlier, nil
	}
	return err
}

// read returns the next line that ends in a newline.
func (in *recordReader) read() ([]byte, error) {
	var line []byte
	for {
		part, err := in.lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimSuffix(line, []byte("\n")), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err // io.EOF: what there is of a line is torn
		case len(line) > maxLine:
			return nil, fmt.Errorf("line %d is longer than %d bytes", in.line+1, maxLine)
		}
	}
}

// recordLine is what is read of a line.
type recordLine struct {
	Metadata struct {
		SessionNum     int64  `json:"session_num"`
		RequestID      string `json:"x_request_id"`
		CorrelationID  string `json:"x_correlation_id"`
		ConversationID string `json:"conversation_id"`
		Turn           int    `json:"turn_index"`
		Phase          int    `json:"phase_index"`
		Depth          int    `json:"agent_depth"`
		Root           string `json:"root_correlation_id"`
	} `json:"metadata"`
	Own     ownMembers  `json:"aiperfd"`
	Earlier *ownMembers `json:"ours"` // the same, as version 0.1 named it
}

// ownMembers are what AIPerf's members do not hold.
type ownMembers struct {
	Epoch           int64              `json:"epoch_ns"`
	Model           string             `json:"model"`
	Target          int                `json:"target"`
	Turns           int                `json:"turns"`
	Status          int                `json:"status"`
	Stamps          lineStamps         `json:"stamps"`
	Connection      lineConnection     `json:"connection"`
	Items           int                `json:"items"`
	RequestedTokens bench.Tokens       `json:"requested_tokens"`
	Images          int                `json:"images"`
	Audio           time.Duration      `json:"audio_ns"`
	Ramp            bool               `json:"ramp"`
	AnswerAudio     time.Duration      `json:"answer_audio_ns"`
	TokenSource     bench.TokenSource  `json:"token_source"`
	Counts          lineCounts         `json:"counts"`
	ClientCounts    lineCounts         `json:"client_counts"`
	Usage           *lineUsage         `json:"usage"`
	ServerTimes     lineTimes          `json:"server_times_ns"`
	Speculation     *bench.Speculation `json:"speculation"`
	Job             *lineJob           `json:"job"`
	Streamed        bool               `json:"streamed"`
	Chunks          [][6]int64         `json:"chunks"`
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
}

type lineConnection struct {
	Reused   bool          `json:"reused"`
	Kernel   bool          `json:"kernel"`
	DNS      time.Duration `json:"dns_ns"`
	Connect  time.Duration `json:"connect_ns"`
	TLS      time.Duration `json:"tls_ns"`
	Blocked  time.Duration `json:"blocked_ns"`
	Retries  int           `json:"retries"`
	Wasted   time.Duration `json:"wasted_ns"`
	Held     time.Duration `json:"held_ns"`
	Reads    int32         `json:"reads"`
	Writes   int32         `json:"writes"`
	Polls    int32         `json:"polls"`
	Sent     bench.Bytes   `json:"sent_bytes"`
	Received bench.Bytes   `json:"received_bytes"`
	Trace    *bench.Trace  `json:"-"` // is not read
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
func (l *recordLine) record() *bench.Record {
	m, o := &l.Metadata, &l.Own
	s, c := &o.Stamps, &o.Connection
	r := &bench.Record{
		Phase: m.Phase, SessionNum: m.SessionNum, Turn: m.Turn, Turns: o.Turns, RequestID: m.RequestID,
		CorrelationID: m.CorrelationID, ConversationID: m.ConversationID, Model: o.Model, Target: o.Target,
		Stamps: bench.Stamps{
			Due: s.Due, Scheduled: s.Scheduled, Queued: s.Queued, Permit: s.Permit, Start: s.Start, Connected: s.Connected, Wrote: s.Wrote,
			FirstByte: s.FirstByte, Headers: s.Headers, FirstBody: s.FirstBody, End: s.End,
		},
		Conn: bench.Connection(*c), Status: o.Status,
		Ramp: o.Ramp, Items: o.Items, Content: bench.Content{RequestedTokens: o.RequestedTokens, Images: o.Images, AudioLength: o.Audio}, TokenSource: o.TokenSource,
		InputTokens: o.Counts.Input, OutputTokens: o.Counts.Output, ReasoningTokens: o.Counts.Reasoning,
		ClientInput: o.ClientCounts.Input, ClientOutput: o.ClientCounts.Output, ClientReasoning: o.ClientCounts.Reasoning,
	}
	if m.Depth > 0 {
		r.Lineage = &bench.Lineage{Depth: m.Depth, Root: m.Root}
	}
	a := &r.Answer
	a.Streamed, a.ResponseID, a.Model = o.Streamed, o.ResponseID, o.ResponseModel
	a.AudioLength, a.LeftOut = o.AnswerAudio, o.LeftOut.Chunks
	a.FirstEvent, a.Warnings, a.Headers = s.FirstEvent, o.Warnings, o.Headers
	a.Speculation = o.Speculation
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
