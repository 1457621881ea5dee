package export

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/redact"
)

// row is one request; the files have its name. Times are in nanoseconds since the epoch of the run, which is in
// the metadata of the file; null = the request did not reach this point.
type row struct {
	Phase          int32     `parquet:"phase_index,dict"`
	Session        int64     `parquet:"session_num,delta"`
	Turn           int32     `parquet:"turn_index,dict"`
	Turns          int32     `parquet:"turns,dict"`
	RequestID      uuid.UUID `parquet:"x_request_id,uuid"`     // zero = it is not a UUID, and in rest
	CorrelationID  uuid.UUID `parquet:"x_correlation_id,uuid"` // likewise
	ConversationID string    `parquet:"conversation_id"`
	Model          string    `parquet:"model,dict"`
	Target         int32     `parquet:"target,dict"`
	Status         int32     `parquet:"status,dict"`
	Error          string    `parquet:"error_class,dict"` // empty = success

	Start      int64 `parquet:"start_ns,delta"`
	Due        int64 `parquet:"due_ns,optional,delta"`
	Permit     int64 `parquet:"permit_ns,optional,delta"`
	Connected  int64 `parquet:"connected_ns,optional,delta"`
	Wrote      int64 `parquet:"wrote_ns,optional,delta"`
	FirstByte  int64 `parquet:"first_byte_ns,optional,delta"`
	Headers    int64 `parquet:"headers_ns,optional,delta"`
	FirstBody  int64 `parquet:"first_body_ns,optional,delta"`
	FirstEvent int64 `parquet:"first_event_ns,optional,delta"`
	End        int64 `parquet:"end_ns,optional,delta"`

	Input      *int64 `parquet:"input_tokens,optional,dict"`
	Output     *int64 `parquet:"output_tokens,optional,dict"`
	Reasoning  *int64 `parquet:"reasoning_tokens,optional,dict"`
	Sent       int64  `parquet:"sent_bytes,delta"`
	Received   int64  `parquet:"received_bytes,delta"`
	ResponseID string `parquet:"response_id"`

	// The content events: the time of the first, the gaps between them, and for each
	// its size in bytes. The others are empty if they are 0 for all events, reads if
	// each event came in the read after that of the one before.
	Events     int64   `parquet:"first_content_ns,optional,delta"`
	FirstRead  int32   `parquet:"first_content_read,dict"`
	Gaps       []int64 `parquet:"content_gap_ns,list" parquet-element:",delta"`
	Bytes      []int32 `parquet:"content_bytes,dict"`
	Tokens     []int32 `parquet:"content_tokens,dict"`
	Kinds      []int32 `parquet:"content_kind,dict"`
	ChoiceOf   []int32 `parquet:"content_choice,dict"`
	ReadsAfter []int32 `parquet:"content_reads,dict"`

	Rest []byte `parquet:"rest,json"` // everything else
}

// newRow returns the row of a record, without secrets.
func newRow(r *bench.Record, secrets *redact.Set) (*row, error) {
	s, a := &r.Stamps, &r.Answer
	out := &row{
		Phase: int32(r.Phase), Session: r.SessionNum, Turn: int32(r.Turn), Turns: int32(r.Turns), ConversationID: secrets.Exact(r.ConversationID),
		Model: secrets.Exact(r.Model), Target: int32(r.Target), Status: int32(r.Status), Start: int64(s.Start),
		Due: int64(s.Due), Permit: int64(s.Permit), Connected: int64(s.Connected), Wrote: int64(s.Wrote),
		FirstByte: int64(s.FirstByte), Headers: int64(s.Headers), FirstBody: int64(s.FirstBody),
		FirstEvent: int64(a.FirstEvent), End: int64(s.End),
		Input: tokenCount(r.InputTokens), Output: tokenCount(r.OutputTokens), Reasoning: tokenCount(r.ReasoningTokens),
		Sent: int64(r.Conn.Sent), Received: int64(r.Conn.Received), ResponseID: secrets.Exact(a.ResponseID),
	}
	rest := *r
	rest.Phase, rest.SessionNum, rest.Turn, rest.Turns, rest.ConversationID, rest.Model, rest.Target, rest.Status = 0, 0, 0, 0, "", "", 0, 0
	scheduled := s.Scheduled
	rest.Stamps = bench.Stamps{Scheduled: scheduled}
	rest.InputTokens, rest.OutputTokens, rest.ReasoningTokens, rest.Conn.Sent, rest.Conn.Received = nil, nil, nil, 0, 0
	rest.Content.Prompt, rest.Content.Blocks, rest.Content.Marker = 0, nil, "" // as in lines
	rest.Answer.FirstEvent, rest.Answer.ResponseID, rest.Answer.Chunks, rest.Answer.Choices = 0, "", nil, nil
	for _, c := range a.Choices {
		rest.Answer.Choices = append(rest.Answer.Choices, bench.Choice{Index: c.Index, Finish: c.Finish})
	}
	if j := a.Job; j != nil && (math.IsNaN(j.PeakMemory) || math.IsInf(j.PeakMemory, 0)) {
		clean := *j
		clean.PeakMemory = 0
		rest.Answer.Job = &clean
	}
	out.RequestID, rest.RequestID = identifier(r.RequestID)
	out.CorrelationID, rest.CorrelationID = identifier(r.CorrelationID)
	if a.Failure != nil {
		out.Error = string(a.Failure.Class)
	}
	out.events(a.Chunks)
	data, err := json.Marshal(&rest)
	if err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	out.Rest = secrets.JSON(data)
	return out, nil
}

// identifier returns a UUID, or the text if it is not the usual form of one.
func identifier(text string) (uuid.UUID, string) {
	id, err := uuid.Parse(text)
	if err != nil || id.String() != text || id == (uuid.UUID{}) {
		return uuid.UUID{}, text
	}
	return id, ""
}

func tokenCount(n *bench.Tokens) *int64 {
	if n == nil {
		return nil
	}
	return new(int64(*n))
}

// events fills the columns of the content events.
func (r *row) events(chunks []bench.Chunk) {
	if len(chunks) == 0 {
		return
	}
	r.Events, r.FirstRead = int64(chunks[0].At), chunks[0].Read
	column := func(plain int32, value func(i int) int32) []int32 {
		list := make([]int32, len(chunks))
		usual := true
		for i := range chunks {
			list[i] = value(i)
			usual = usual && list[i] == plain
		}
		if usual {
			return nil
		}
		return list
	}
	for i := 1; i < len(chunks); i++ {
		r.Gaps = append(r.Gaps, int64(chunks[i].At-chunks[i-1].At))
	}
	r.Bytes = column(-1, func(i int) int32 { return chunks[i].Bytes })
	r.Tokens = column(0, func(i int) int32 { return chunks[i].Tokens })
	r.Kinds = column(0, func(i int) int32 { return int32(chunks[i].Kind) })
	r.ChoiceOf = column(0, func(i int) int32 { return int32(chunks[i].Choice) })
	r.ReadsAfter = column(1, func(i int) int32 {
		if i == 0 {
			return 1
		}
		return chunks[i].Read - chunks[i-1].Read
	})
}

// record returns the record that a row was made of, without the texts of the answer.
func (r *row) record() (*bench.Record, error) {
	out := &bench.Record{}
	if err := json.Unmarshal(r.Rest, out); err != nil {
		return nil, fmt.Errorf("decode record: %w", err)
	}
	out.Phase, out.SessionNum, out.Turn, out.Turns, out.ConversationID = int(r.Phase), r.Session, int(r.Turn), int(r.Turns), r.ConversationID
	out.Model, out.Target, out.Status = r.Model, int(r.Target), int(r.Status)
	if r.RequestID != (uuid.UUID{}) {
		out.RequestID = r.RequestID.String()
	}
	if r.CorrelationID != (uuid.UUID{}) {
		out.CorrelationID = r.CorrelationID.String()
	}
	out.Stamps = bench.Stamps{
		Due: time.Duration(r.Due), Scheduled: out.Stamps.Scheduled, Permit: time.Duration(r.Permit), Start: time.Duration(r.Start),
		Connected: time.Duration(r.Connected), Wrote: time.Duration(r.Wrote), FirstByte: time.Duration(r.FirstByte),
		Headers: time.Duration(r.Headers), FirstBody: time.Duration(r.FirstBody), End: time.Duration(r.End),
	}
	for to, from := range map[**bench.Tokens]*int64{&out.InputTokens: r.Input, &out.OutputTokens: r.Output, &out.ReasoningTokens: r.Reasoning} {
		if from != nil {
			*to = new(bench.Tokens(*from))
		}
	}
	out.Conn.Sent, out.Conn.Received = bench.Bytes(r.Sent), bench.Bytes(r.Received)
	out.Answer.FirstEvent, out.Answer.ResponseID = time.Duration(r.FirstEvent), r.ResponseID
	return out, r.chunks(out)
}

// chunks restores the content events.
func (r *row) chunks(out *bench.Record) error {
	if r.Events == 0 {
		return nil
	}
	n := len(r.Gaps) + 1
	for _, list := range [][]int32{r.Bytes, r.Tokens, r.Kinds, r.ChoiceOf, r.ReadsAfter} {
		if len(list) != 0 && len(list) != n {
			return fmt.Errorf("decode record: %d values for %d content events", len(list), n)
		}
	}
	value := func(list []int32, i int, usual int32) int32 {
		if len(list) == 0 {
			return usual
		}
		return list[i]
	}
	now, read := time.Duration(r.Events), r.FirstRead
	for i := range n {
		if i > 0 {
			now += time.Duration(r.Gaps[i-1])
			read += value(r.ReadsAfter, i, 1)
		}
		out.Answer.Chunks = append(out.Answer.Chunks, bench.Chunk{
			At: now, Bytes: value(r.Bytes, i, 0), Tokens: value(r.Tokens, i, 0), Read: read,
			Kind: bench.ChunkKind(value(r.Kinds, i, 0)), Choice: uint16(value(r.ChoiceOf, i, 0)),
		})
	}
	return nil
}
