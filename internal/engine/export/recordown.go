package export

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"aiperfd/internal/engine/bench"
)

// ownMembers appends what AIPerf's keys do not hold. What is zero or absent is left
// out. Stamps are offsets from the run's epoch in nanoseconds.
func (w *RecordWriter) ownMembers(b []byte, r *bench.Record) []byte {
	a := &r.Answer
	b = field(b, "epoch_ns", w.opts.Clock.UnixNano(0))
	b = w.text(b, "model", r.Model)
	if r.Category != "" {
		b = w.text(b, "category", r.Category)
	}
	b = some(b, "target", int64(r.Target))
	b = some(b, "turns", int64(r.Turns))
	b = some(b, "status", int64(r.Status))
	b = stamps(b, r)
	if r.Ramp {
		b = boolean(b, "ramp", true)
	}
	b = connection(b, &r.Conn)
	b = pathCount(b, &r.Conn.Path)
	b = some(b, "items", int64(r.Items))
	b = some(b, "lane", int64(r.Lane))
	b = w.recorded(b, r)
	b = content(b, &r.Content)
	b = some(b, "answer_audio_ns", int64(a.AudioLength))
	if r.TokenSource != bench.TokensNone {
		b = w.text(b, "token_source", string(r.TokenSource))
	}
	b = tokens(b, "counts", []optionalCount{
		{"input", r.InputTokens}, {"output", r.OutputTokens}, {"reasoning", r.ReasoningTokens},
	})
	b = tokens(b, "client_counts", []optionalCount{
		{"input", r.ClientInput}, {"output", r.ClientOutput}, {"reasoning", r.ClientReasoning},
	})
	if u := a.Usage; u != nil {
		b = usage(b, u)
	}
	b = w.serverTimes(b, a.ServerTimes)
	if a.Job != nil {
		b = job(b, a.Job)
	}
	b = boolean(b, "streamed", a.Streamed)
	b = w.chunks(b, a.Chunks)
	b = w.choices(b, a.Choices)
	if a.ResponseID != "" {
		b = w.text(b, "response_id", a.ResponseID)
	}
	if a.Model != "" {
		b = w.text(b, "response_model", a.Model)
	}
	if len(a.Headers) > 0 {
		b = append(key(b, "response_headers"), '{')
		for _, name := range slices.Sorted(maps.Keys(a.Headers)) {
			b = w.text(b, name, a.Headers[name])
		}
		b = append(b, '}')
	}
	b = w.warnings(b, a.Warnings)
	if f := a.Failure; f != nil {
		b = w.failure(b, f)
	}
	return b
}

// content appends what the request contained.
func content(b []byte, c *bench.Content) []byte {
	b = some(b, "requested_tokens", int64(c.RequestedTokens))
	if c.Expected != nil {
		b = field(b, "expected_cached_tokens", int64(*c.Expected))
	}
	b = some(b, "images", int64(c.Images))
	return some(b, "audio_ns", int64(c.AudioLength))
}

// recorded appends what the recording says of the turn of a recorded session, and which turns it followed.
func (w *RecordWriter) recorded(b []byte, r *bench.Record) []byte {
	if r.Content.Replayed == nil {
		return b
	}
	one := r.Content.Replayed.Recorded
	b = append(key(b, "recorded"), '{')
	b = w.text(b, "trace", one.Session.ID)
	b = w.text(b, "sha256", one.Session.Digest)
	b = field(b, "turns", int64(len(one.Session.Turns)))
	b = field(b, "turn", int64(one.Number))
	b = field(b, "later", int64(one.Later))
	b = field(b, "start", int64(one.Start))
	b = field(b, "end", int64(one.End))
	b = some(b, "entered", int64(r.Entered))
	b = append(key(b, "after"), '[')
	for i, before := range one.After {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(before.Number), 10)
	}
	return append(b, ']', '}')
}

// some appends a number unless it is 0.
func some(b []byte, name string, v int64) []byte {
	if v == 0 {
		return b
	}
	return field(b, name, v)
}

func stamps(b []byte, r *bench.Record) []byte {
	s := &r.Stamps
	b = append(key(b, "stamps"), '{')
	for _, x := range [...]struct {
		name string
		at   time.Duration
	}{
		{"due", s.Due}, {"scheduled", s.Scheduled}, {"queued", s.Queued}, {"permit", s.Permit}, {"start", s.Start}, {"connected", s.Connected}, {"wrote", s.Wrote},
		{"first_byte", s.FirstByte}, {"headers", s.Headers}, {"first_body", s.FirstBody}, {"first_event", r.Answer.FirstEvent},
		{"end", s.End}, {"skipped", s.Skipped},
	} {
		b = some(b, x.name, int64(x.at))
	}
	return append(b, '}')
}

func connection(b []byte, c *bench.Connection) []byte {
	b = append(key(b, "connection"), '{')
	b = boolean(b, "reused", c.Reused)
	if c.Kernel {
		b = boolean(b, "kernel", true)
	}
	for _, x := range [...]struct {
		name string
		v    int64
	}{
		{"dns_ns", int64(c.DNS)}, {"connect_ns", int64(c.Connect)}, {"tls_ns", int64(c.TLS)},
		{"blocked_ns", int64(c.Blocked)}, {"retries", int64(c.Retries)},
		{"wasted_ns", int64(c.Wasted)}, {"held_ns", int64(c.Held)}, {"reads", int64(c.Reads)}, {"writes", int64(c.Writes)}, {"polls", int64(c.Polls)},
		{"sent_bytes", int64(c.Sent)}, {"received_bytes", int64(c.Received)},
	} {
		b = some(b, x.name, x.v)
	}
	return append(b, '}')
}

// pathCount appends what the kernel counted for the response, if that is known.
func pathCount(b []byte, p *bench.PathCount) []byte {
	if !p.Known {
		return b
	}
	b = append(key(b, "path"), '{')
	b = field(b, "retransmitted", int64(p.Retransmitted))
	return append(field(b, "out_of_order", int64(p.OutOfOrder)), '}')
}

// optionalCount is a token count that may be unknown.
type optionalCount struct {
	name string
	n    *bench.Tokens
}

// tokens appends an object of the counts that are known, if any is.
func tokens(b []byte, name string, counts []optionalCount) []byte {
	if !slices.ContainsFunc(counts, func(c optionalCount) bool { return c.n != nil }) {
		return b
	}
	b = append(key(b, name), '{')
	for _, c := range counts {
		if c.n != nil {
			b = field(b, c.name, int64(*c.n))
		}
	}
	return append(b, '}')
}

// usage appends the server's own counts; an empty object says that it sent a
// block without any.
func usage(b []byte, u *bench.Usage) []byte {
	b = append(key(b, "usage"), '{')
	for _, c := range []optionalCount{
		{"input", u.Input}, {"output", u.Output}, {"total", u.Total}, {"reasoning", u.Reasoning},
		{"cached", u.Cached}, {"cache_write", u.CacheWrite}, {"cache_miss", u.CacheMiss},
		{"audio_in", u.AudioIn}, {"audio_out", u.AudioOut}, {"accepted", u.Accepted}, {"rejected", u.Rejected},
		{"image_in", u.ImageIn}, {"image_out", u.ImageOut},
	} {
		if c.n != nil {
			b = field(b, c.name, int64(*c.n))
		}
	}
	if u.AudioSeconds != nil {
		b = appendFloat(key(b, "audio_seconds"), *u.AudioSeconds)
	}
	return append(b, '}')
}

// chunks appends a list [offset, bytes, tokens, kind, choice, read] for each
// content event. Kinds are numbered as in bench: 0 text, 1 reasoning, 2 refusal,
// 3 tool, 4 audio, 5 image, 6 image_partial, 7 video, 8 embedding, 9 ranking,
// 10 binary. Of more than MaxListed events it has the first ones and the last one.
func (w *RecordWriter) chunks(b []byte, list []bench.Chunk) []byte {
	if len(list) == 0 {
		return b
	}
	cut := max(0, len(list)-MaxListed)
	w.leaveOut("chunks", cut)
	b = append(key(b, "chunks"), '[')
	for i := range len(list) - cut {
		c := &list[i]
		if i == MaxListed-1 {
			c = &list[len(list)-1]
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = strconv.AppendInt(b, int64(c.At), 10)
		b = appendNext(b, c.Bytes)
		b = appendNext(b, c.Tokens)
		b = appendNext(b, int32(c.Kind))
		b = appendNext(b, int32(c.Choice))
		b = appendNext(b, c.Read)
		b = append(b, ']')
	}
	return append(b, ']')
}

// leftOut are values of a list that a line does not have.
type leftOut struct {
	list string
	n    int
}

// leaveOut notes values that the line does not have; 0 = it has all.
func (w *RecordWriter) leaveOut(list string, n int) {
	if n > 0 {
		w.left = append(w.left, leftOut{list, n})
	}
}

// leftOutMember appends how many values the line does not have, by the name of the list, if
// it does not have all.
func (w *RecordWriter) leftOutMember(b []byte) []byte {
	if len(w.left) == 0 {
		return b
	}
	b = append(key(b, "left_out"), '{')
	for _, l := range w.left {
		b = field(b, l.list, int64(l.n))
	}
	return append(b, '}')
}

// appendNext appends a comma and a number, which mostly is a digit.
func appendNext(b []byte, v int32) []byte {
	if v >= 0 && v < 10 {
		return append(b, ',', '0'+byte(v))
	}
	return strconv.AppendInt(append(b, ','), int64(v), 10)
}

// choices appends how each answer ended; texts are not kept.
func (w *RecordWriter) choices(b []byte, list []bench.Choice) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(key(b, "choices"), '[')
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		b = field(b, "index", int64(list[i].Index))
		b = w.text(b, "finish", string(list[i].Finish))
		b = append(b, '}')
	}
	return append(b, ']')
}

func (w *RecordWriter) warnings(b []byte, all map[string]int) []byte {
	return appendNumbers(w, b, "warnings", all)
}

func (w *RecordWriter) failure(b []byte, f *bench.Failure) []byte {
	b = append(key(b, "failure"), '{')
	b = appendText(key(b, "class"), string(f.Class))
	b = appendText(key(b, "step"), string(f.Step))
	b = some(b, "status", int64(f.Status))
	b = w.text(b, "code", f.Code)
	b = w.text(b, "type", f.Type)
	b = w.text(b, "message", f.Message)
	b = some(b, "retry_after_ns", int64(f.RetryAfter))
	return append(b, '}')
}

// serverTimes appends what the server says it took, in nanoseconds.
func (w *RecordWriter) serverTimes(b []byte, times map[string]time.Duration) []byte {
	return appendNumbers(w, b, "server_times_ns", times)
}

// appendNumbers appends a member whose names come from outside; nothing if there are none.
func appendNumbers[V ~int | ~int64](w *RecordWriter, b []byte, member string, all map[string]V) []byte {
	if len(all) == 0 {
		return b
	}
	b = append(key(b, member), '{')
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(appendText(b, w.opts.Secrets.Exact(name)), ':')
		b = strconv.AppendInt(b, int64(all[name]), 10)
	}
	return append(b, '}')
}

// job appends what is known of a piece of work.
func job(b []byte, j *bench.Job) []byte {
	b = append(key(b, "job"), '{')
	b = some(b, "started", int64(j.Started))
	b = some(b, "fetched", int64(j.Fetched))
	if j.PeakMemory != 0 && finite(j.PeakMemory) {
		b = appendFloat(key(b, "peak_memory_mb"), j.PeakMemory)
	}
	return append(b, '}')
}
