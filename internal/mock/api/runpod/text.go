package runpod

import (
	"strconv"

	"aiperfd/internal/mock/jsonappend"
	"aiperfd/internal/mock/options"
)

// appendNews appends the items that have become available since the last call; elapsed
// is the time since the start of the job, in nanoseconds.
func (t *textJob) appendNews(dst []byte, elapsed int64, done bool) []byte {
	if t.problem != "" && t.delivered == 0 {
		t.delivered = 1
		dst = append(dst, `{"output":`...)
		dst = t.appendProblem(dst)
		return append(dst, '}')
	}
	first := len(dst)
	for t.delivered < len(t.batches) && t.batches[t.delivered].after <= elapsed {
		last := done && t.delivered == len(t.batches)-1
		if len(dst) > first {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"metrics":{},"output":`...)
		dst = t.appendItem(dst, t.delivered, last)
		dst = append(dst, '}')
		t.delivered++
	}
	return dst
}

// appendProblem appends the worker's output for an error of the engine.
func (t *textJob) appendProblem(dst []byte) []byte {
	dst = append(dst, `{"error":`...)
	dst = jsonappend.String(dst, t.problem)
	return append(dst, '}')
}

// appendItem appends the output of one batch.
func (t *textJob) appendItem(dst []byte, i int, last bool) []byte {
	b := t.batches[i]
	if t.output == options.OutputTokens {
		return t.appendTokens(dst, b.from, b.to)
	}
	text := t.held
	t.held = nil
	for n := b.from; n < b.to; n++ {
		text = t.appendEvent(text, n)
	}
	if last {
		text = t.appendTail(text)
	} else {
		// Workers forward what they have read from their socket, so the end of an
		// event may be in the next piece.
		cut := len(text) - min(len(text)/2, 7+5*i%23)
		for cut < len(text) && text[cut]&0xc0 == 0x80 {
			cut++ // do not split a character
		}
		t.held = append([]byte(nil), text[cut:]...)
		text = text[:cut]
	}
	return jsonappend.String(dst, string(text))
}

// appendTokens appends tokens in the form of older workers.
func (t *textJob) appendTokens(dst []byte, from, to int) []byte {
	dst = append(dst, `{"choices":[{"tokens":["`...)
	dst = t.choice.AppendTokens(dst, from, to)
	dst = append(dst, `"]}],"usage":{"input":`...)
	dst = strconv.AppendInt(dst, int64(t.q.PromptTokens()), 10)
	dst = append(dst, `,"output":`...)
	dst = strconv.AppendInt(dst, int64(to), 10)
	return append(dst, "}}"...)
}

// appendDocumentHead appends the beginning of an object of OpenAI's API, up to the
// bracket of choices.
func (t *textJob) appendDocumentHead(dst []byte, object string) []byte {
	prefix := "cmpl-"
	if t.chat {
		prefix, object = "chatcmpl-", "chat.completion"+object
	} else {
		object = "text_completion"
	}
	dst = append(dst, `{"id":"`+prefix+`mock","object":"`+object+`","created":`...)
	dst = strconv.AppendInt(dst, t.created, 10)
	dst = append(dst, `,"model":`...)
	dst = jsonappend.String(dst, t.q.Model)
	return append(dst, `,"choices":[`...)
}

// appendEvent appends the event of one token.
func (t *textJob) appendEvent(dst []byte, n int) []byte {
	dst = t.appendDocumentHead(append(dst, "data: "...), ".chunk")
	if t.chat {
		dst = append(dst, `{"index":0,"delta":{"content":"`...)
		dst = t.choice.AppendTokens(dst, n, n+1)
		dst = append(dst, `"},"finish_reason":null}]}`...)
	} else {
		dst = append(dst, `{"index":0,"text":"`...)
		dst = t.choice.AppendTokens(dst, n, n+1)
		dst = append(dst, `","finish_reason":null}]}`...)
	}
	return append(dst, "\n\n"...)
}

// appendTail appends the events that end a stream.
func (t *textJob) appendTail(dst []byte) []byte {
	dst = t.appendDocumentHead(append(dst, "data: "...), ".chunk")
	if t.chat {
		dst = append(dst, `{"index":0,"delta":{},"finish_reason":`...)
	} else {
		dst = append(dst, `{"index":0,"text":"","finish_reason":`...)
	}
	dst = jsonappend.String(dst, t.choice.Finish)
	dst = t.appendDocumentHead(append(dst, "}]}\n\ndata: "...), ".chunk")
	dst = t.appendUsage(append(dst, "],"...))
	return append(dst, "}\n\ndata: [DONE]\n\n"...)
}

func (t *textJob) appendUsage(dst []byte) []byte {
	in, out := int64(t.q.PromptTokens()), int64(t.choice.Total)
	dst = append(dst, `"usage":{"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, in, 10)
	dst = append(dst, `,"total_tokens":`...)
	dst = strconv.AppendInt(dst, in+out, 10)
	dst = append(dst, `,"completion_tokens":`...)
	dst = strconv.AppendInt(dst, out, 10)
	return append(dst, '}')
}

// appendOutput appends the whole output of a finished job.
func (t *textJob) appendOutput(dst []byte) []byte {
	dst = append(dst, '[')
	switch {
	case t.problem != "":
		dst = t.appendProblem(dst)
	case t.output == options.OutputTokens:
		dst = t.appendTokens(dst, 0, t.choice.Total)
	case t.q.Stream: // all pieces of the stream again
		var text []byte
		for n := range t.choice.Total {
			text = t.appendEvent(text, n)
		}
		dst = jsonappend.String(dst, string(t.appendTail(text)))
	default:
		dst = t.appendDocument(dst)
	}
	return append(dst, ']')
}

// appendDocument appends an answer in one piece.
func (t *textJob) appendDocument(dst []byte) []byte {
	dst = t.appendDocumentHead(dst, "")
	if t.chat {
		dst = append(dst, `{"index":0,"message":{"role":"assistant","content":"`...)
		dst = t.choice.AppendTokens(dst, 0, t.choice.Total)
		dst = append(dst, `"},"finish_reason":`...)
	} else {
		dst = append(dst, `{"index":0,"text":"`...)
		dst = t.choice.AppendTokens(dst, 0, t.choice.Total)
		dst = append(dst, `","finish_reason":`...)
	}
	dst = jsonappend.String(dst, t.choice.Finish)
	dst = t.appendUsage(append(dst, "}],"...))
	return append(dst, '}')
}
