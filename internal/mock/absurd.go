package mock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"aiperfd/internal/mock/options"
)

// Absurd is an inference server that answers absurdly. The first part of the path of a
// request is the endpoint type. The same seed makes the same responses, in the order of
// the requests.
type Absurd struct {
	types map[string][]options.Case

	mu   sync.Mutex
	rand *rand.Rand // guarded by mu
}

var _ http.Handler = (*Absurd)(nil)

// NewAbsurd returns a server that has recorded responses.
func NewAbsurd(seed uint64, recorded []options.Case) *Absurd {
	s := &Absurd{types: map[string][]options.Case{}, rand: rand.New(rand.NewPCG(seed, 0))}
	for i := range recorded {
		name := recorded[i].Type
		s.types[name] = append(s.types[name], recorded[i])
	}
	return s
}

// ServeHTTP implements [http.Handler].
func (s *Absurd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	media, body, ok := s.response(name)
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", media)
	for part := range slices.Chunk(body, max(1, len(body)/parts+1)) {
		time.Sleep(time.Millisecond) // or nothing takes any time, which is an error of its own
		if _, err := w.Write(part); err != nil {
			return
		}
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
}

// parts is the number of writes of a response.
const parts = 7

// response makes a response for an endpoint type; false = none is recorded.
func (s *Absurd) response(name string) (media string, body []byte, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := mutator{s.rand}
	all := s.types[name]
	if len(all) == 0 {
		return "", nil, false
	}
	c := all[m.IntN(len(all))]
	reads := c.Reads
	if c.Polled && len(reads) > 0 { // each is a response of its own
		i := m.IntN(len(reads))
		reads = reads[i : i+1]
	}
	var whole []byte
	for i := range reads {
		data, err := reads[i].Bytes()
		if err != nil {
			return "", nil, false
		}
		whole = append(whole, data...)
	}
	return c.Headers["Content-Type"], m.body(whole), true
}

// mutator makes documents extreme.
type mutator struct{ *rand.Rand }

// body changes the documents of a body: itself, its lines, or the data of its events.
func (m mutator) body(data []byte) []byte {
	if json.Valid(data) {
		return m.document(data)
	}
	blocks := bytes.SplitAfter(data, []byte("\n\n"))
	if len(blocks) < 3 {
		blocks = bytes.SplitAfter(data, []byte("\n"))
	}
	var out []byte
	for _, block := range m.arrange(blocks) {
		for line := range bytes.Lines(block) {
			name, text, found := bytes.Cut(line, []byte("data:"))
			if found && len(name) == 0 {
				out = append(out, "data: "...)
				line = text
			}
			end := line[len(bytes.TrimRight(line, "\r\n")):]
			if text := bytes.TrimSpace(line); len(text) > 0 && json.Valid(text) {
				line = append(m.document(text), end...)
			}
			out = append(out, line...)
		}
	}
	return out
}

// arrange changes the order and the number of events.
func (m mutator) arrange(blocks [][]byte) (out [][]byte) {
	for _, block := range blocks {
		switch m.IntN(40) {
		case 0: // it is missing
		case 1:
			out = append(out, slices.Repeat([][]byte{block}, 1+m.IntN(300))...)
		default:
			out = append(out, block)
		}
	}
	if n := len(out); n > 1 && m.IntN(10) == 0 {
		i, j := m.IntN(n), m.IntN(n)
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// document changes a JSON document.
func (m mutator) document(data []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return data
	}
	out, err := json.Marshal(m.value(v))
	if err != nil {
		panic(fmt.Sprintf("encode what was decoded: %v", err))
	}
	return out
}

// numbers are those that programs seldom expect.
var numbers = [...]json.Number{
	"-1", "0", "1", "-0", "0.5", "-0.5", "1e-320", "255", "65536", "1048576", "2147483647", "2147483648", "4294967296",
	"9007199254740993", "2305843009213693952", "4611686018427387904", "9223372036854775807", "-9223372036854775808",
	"9223372036854775808", "99999999999999999999", "1e300", "-1e300", "1e999",
}

// strange are texts that programs seldom expect.
var strange = [...]string{
	"", " ", "0", "-1", "null", "true", "[DONE]", "\x00", "\u200b", "\u202e", "\U0001F469\u200d\U0001F680",
	"stop", "error", "abort", "AAAA",
}

// value changes a value, or what it contains.
func (m mutator) value(v any) any {
	if m.IntN(100) == 0 {
		return m.other()
	}
	switch v := v.(type) {
	case json.Number:
		if m.IntN(6) == 0 {
			return numbers[m.IntN(len(numbers))]
		}
	case string:
		switch m.IntN(40) {
		case 0:
			return strange[m.IntN(len(strange))]
		case 1:
			return strings.Repeat(v+"x", 1<<m.IntN(12))
		}
	case []any:
		return m.list(v)
	case map[string]any:
		return m.object(v)
	}
	return v
}

// other returns a value of any type.
func (m mutator) other() any {
	values := [...]any{
		nil, true, numbers[m.IntN(len(numbers))], strange[m.IntN(len(strange))], []any{}, map[string]any{}, []any{[]any{nil}},
	}
	return values[m.IntN(len(values))]
}

func (m mutator) list(v []any) any {
	out := make([]any, 0, len(v))
	for _, item := range v {
		out = append(out, m.value(item))
	}
	switch n := m.IntN(60); {
	case n == 0:
		return []any{}
	case n == 1 && len(out) > 0:
		return slices.Repeat(out, 1<<m.IntN(9))
	case n == 2:
		slices.Reverse(out)
	case n == 3:
		return []any{out}
	}
	return out
}

func (m mutator) object(v map[string]any) any {
	var names []string
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names) // so that the seed decides
	out := make(map[string]any, len(v))
	for i, name := range names {
		switch m.IntN(100) {
		case 0: // it is missing
		case 1:
			out[name] = m.value(v[names[(i+1)%len(names)]])
		default:
			out[name] = m.value(v[name])
		}
	}
	return out
}

// AbsurdDocument is the document of a run of some requests against a server at a URL.
func AbsurdDocument(url, endpoint string, streaming bool, seed uint64) string {
	data := `{type: file, format: single_turn, records: [{text: one, output_length: 3}]}`
	options := ""
	switch endpoint {
	case "rerank", "cohere_rankings", "nim_rankings", "hf_tei_rankings", "score":
		data = `{type: synthetic, entries: 4, rankings: {passages: 3}}`
	case "audio_transcription", "audio_translation":
		data = `{type: synthetic, entries: 2, prompts: {isl: 3, osl: 3}, audio: {length: {mean: 0.1}, batchSize: 1}}`
	case "image_edit", "image_retrieval":
		data = `{type: synthetic, entries: 2, prompts: {isl: 3, osl: 3}, ` +
			`images: {width: {mean: 8}, height: {mean: 8}, batchSize: 1}}`
	case "template":
		options = `, template: {body: '{"text": {{ text|tojson }}}', responseField: text}`
	}
	return fmt.Sprintf(`
randomSeed: %d
benchmark:
  model: m
  endpoint: {url: "%s/%s", type: %s, streaming: %v, timeout: 20%s}
  tokenizer: {name: builtin}
  dataset: %s
  phases: {type: concurrency, concurrency: 3, requests: 24, duration: 60, gracePeriod: 5}
`, seed, url, endpoint, endpoint, streaming, options, data)
}
