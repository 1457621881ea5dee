package trace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
)

// defaultBlockSize is the number of tokens per hash id of formats that do not say it.
const defaultBlockSize = 512

// maxTokens bounds the length of a prompt and of an answer.
const maxTokens = 1 << 24

// Request is one recorded request.
type Request struct {
	Session string        // requests with the same one are turns of one conversation; empty = a conversation of its own
	At      time.Duration // in the trace's own time
	Timed   bool          // At is known
	Input   int           // tokens of the prompt; 0 = not known
	Output  int           // tokens of the answer; 0 = not known
	IDs     []int64       // hash ids of the blocks of the prompt; nil = not known

	number int // in the trace, from 0
	delay  time.Duration
	took   time.Duration // until the answer had ended; 0 = not known
	kind   kind
	mode   bench.ContextMode
	turn   bench.Turn // the literal content

	hints *hints // nil = none
}

// kind is what a request consists of.
type kind uint8

const (
	generated kind = iota // a generated prompt
	text                  // a recorded prompt
	messages              // chat messages
	payload               // a complete body
)

// String returns the member that a kind has.
func (k kind) String() string {
	return [...]string{"input_length", "text_input", "messages", "payload"}[k]
}

// literal returns how kinds are told apart in a session: prompts, recorded or generated,
// are of one kind.
func (k kind) literal() kind { return max(k, text) }

// fields decodes the members of a record and collects their problems.
type fields struct{ problems source.Problems }

func (f *fields) fail(name, format string, a ...any) {
	f.problems = append(f.problems, name+": "+fmt.Sprintf(format, a...))
}

// given reports whether a member has a value.
func given(v json.RawMessage) bool { return len(v) > 0 && string(v) != "null" }

// object decodes a record into a struct of its members.
func (f *fields) object(data []byte, to any) bool {
	if !utf8.Valid(data) {
		f.problems = append(f.problems, "the record is not valid UTF-8")
		return false
	}
	err := json.Unmarshal(data, to)
	if err == nil && data[0] == '{' {
		return true
	}
	f.problems = append(f.problems, cmp.Or(file.CheckObject(data), err).Error())
	return false
}

// whole decodes an integer.
func (f *fields) whole(name string, v json.RawMessage, least, most int64) int64 {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if real, floatErr := strconv.ParseFloat(string(v), 64); err != nil && floatErr == nil && real == math.Trunc(real) && math.Abs(real) < 1<<53 {
		n, err = int64(real), nil // 12.0, as data frames write integers
	}
	if err != nil || n < least || n > most {
		f.fail(name, "must be an integer from %d to %d, not %s", least, most, file.Clip(string(v)))
		return least
	}
	return n
}

// required decodes a member that must be given.
func (f *fields) required(name string, v json.RawMessage, decode func()) {
	if !given(v) {
		f.problems = append(f.problems, name+" is missing")
		return
	}
	decode()
}

// output decodes the length of an answer, which is at least 1.
func (f *fields) output(name string, v json.RawMessage) int {
	return max(1, int(f.whole(name, v, 0, maxTokens)))
}

// time decodes a number of units that is not negative.
func (f *fields) time(name string, v json.RawMessage, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(string(v), 64)
	if err != nil || !(n >= 0) || math.IsInf(n, 0) {
		f.fail(name, "must be a number of %s, not negative, not %s", map[time.Duration]string{time.Second: "seconds", time.Millisecond: "milliseconds"}[unit], file.Clip(string(v)))
		return 0
	}
	return source.Milliseconds(math.Round(n*float64(unit))/float64(time.Millisecond), nil)
}

// text decodes a string that is not empty.
func (f *fields) text(name string, v json.RawMessage) (s string) {
	if err := json.Unmarshal(v, &s); err != nil {
		f.fail(name, "must be a string, not %s", file.Clip(string(v)))
	} else if s == "" {
		f.fail(name, "must not be empty")
	}
	return s
}

// ids decodes a list of integers.
func (f *fields) ids(name string, v json.RawMessage) (ids []int64) {
	if json.Unmarshal(v, &ids) == nil {
		return ids
	}
	var hashes []uint64
	if err := json.Unmarshal(v, &hashes); err != nil {
		f.fail(name, "must be a list of integers of 64 bits, not %s", file.Clip(string(v)))
	}
	ids = make([]int64, len(hashes))
	for i, hash := range hashes {
		ids[i] = int64(hash)
	}
	return ids
}

// list decodes a list of objects, of which each has a member, unless that is empty.
func (f *fields) list(name string, v json.RawMessage, member string) json.RawMessage {
	var items []map[string]json.RawMessage
	if err := json.Unmarshal(v, &items); err != nil || len(items) == 0 {
		f.fail(name, "must be a list of objects, not empty, not %s", file.Clip(string(v)))
		return nil
	}
	for i, item := range items {
		var s string
		if member != "" && (json.Unmarshal(item[member], &s) != nil || s == "") {
			f.fail(name, "item %d has no %s", i, member)
			return nil
		}
	}
	return compact(v)
}

// merge decodes an object that is not empty.
func (f *fields) merge(name string, v json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(v, &members); err != nil || len(members) == 0 {
		f.fail(name, "must be an object, not empty, not %s", file.Clip(string(v)))
		return nil
	}
	return compact(v)
}
