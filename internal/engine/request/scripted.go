package request

import (
	"bytes"
	"crypto/rand"
	"io"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/transport"
)

// write writes the body of a request. Messages of a script, which may be megabytes, are left to be written while they
// are sent, if the endpoint type takes them as they are.
func (e *encoder) write(request *endpoint.Request, r *transport.Request) (err error) {
	script, kind := request.Turn.Script, &e.Plan.Kind
	if script == nil || !kind.Verbatim {
		r.Body, err = kind.Body(nil, request)
		return err
	}
	request.Turn.Script = gap{script, e.gap}
	around, err := kind.Body(nil, request)
	request.Turn.Script = script
	if err != nil {
		return err
	}
	switch bytes.Count(around, e.gap) {
	case 0: // the user gives other messages
		r.Body = around
	case 1:
		before, after, _ := bytes.Cut(around, e.gap)
		r.Content = &scripted{before, after, script, request.Turn.Mark, script.Size(request.Turn.Mark)}
	default:
		r.Body = bytes.ReplaceAll(around, e.gap, script.AppendMessages(nil, request.Turn.Mark))
	}
	return nil
}

// newGap returns bytes that stand for the messages of a script. No other body has them.
func newGap() []byte { return []byte(`"messages ` + rand.Text() + `"`) }

// gap is a script whose messages are a text that stands for them.
type gap struct {
	bench.Script
	text []byte
}

// AppendMessages implements [bench.Script].
func (g gap) AppendMessages(dst []byte, _ bench.Mark) []byte { return append(dst, g.text...) }

// Size implements [bench.Script].
func (g gap) Size(bench.Mark) int { return len(g.text) }

// scripted is a body with the messages of a script.
type scripted struct {
	before, after []byte
	script        bench.Script
	mark          bench.Mark
	size          int // of the messages
}

var _ transport.Content = (*scripted)(nil)

// Len implements [transport.Content].
func (s *scripted) Len() int { return len(s.before) + s.size + len(s.after) }

// Open implements [transport.Content].
func (s *scripted) Open() io.Reader {
	return io.MultiReader(bytes.NewReader(s.before), s.script.Messages(s.mark), bytes.NewReader(s.after))
}
