// Package codec describes endpoint types, and has the parts that their request bodies
// are made of: JSON members, messages, media, forms.
package codec

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/polling"
)

// Kind is one API dialect.
type Kind struct {
	Name    string   // canonical AIPerf name, for example "chat"
	Aliases []string // also accepted; compared like [Lookup] does
	Path    string   // default path, with a leading slash; may hold {model}
	Title   string   // metrics title, for example "LLM Metrics"
	Caps    bench.Caps
	// RootPath reports whether Path belongs to the root, not under /v1.
	RootPath bool
	// StreamPath is the default path of requests for a stream; empty = Path.
	StreamPath string
	// Dialects are the names of the ways in which its bodies can be written, the
	// default first; nil = there is one way.
	Dialects []string
	// ContentType is that of request bodies; empty = application/json.
	ContentType string
	Optional
	// Reserved are the fields that extra inputs cannot set, because the turn decides
	// them; the dialect passes over them.
	Reserved []string
	// Accept and StreamAccept are the requested content types; empty =
	// application/json and text/event-stream.
	Accept, StreamAccept string
	// Authorize sets the API's own headers for requests to hosts, as URLs name them,
	// with the API key, which may be empty. Nil = the key is a bearer token.
	Authorize func(h http.Header, key string, hosts []string)
	// Encode appends the request body to dst. It must not keep r or any part
	// of it, and it must not change what r points to. Its error means that the
	// turn cannot be expressed in this dialect.
	Encode func(dst []byte, r *Request) ([]byte, error)
	// Items returns how many vectors or scores the answer to a request holds; 0 =
	// unknown. Nil = always 0.
	Items func(r *Request) int
	// Decode reads a response. It never fails: what is wrong with the response
	// becomes Answer.Failure, and everything received before stays on it. The
	// answer does not keep slices of the response.
	Decode func(resp *bench.Response, streaming bool) bench.Answer
	// Settle completes the answer that Decode made of resp by the body that was sent;
	// nil = there is nothing to complete.
	Settle func(a *bench.Answer, resp *bench.Response, sent []byte)
	// Adapt changes what depends on the settings of a run: paths, content type,
	// encoder. It is called once, before any other. Nil = nothing does.
	Adapt func(k *Kind, s *Settings)
	// Job describes how the answer is fetched if the request only submits the work.
	// Nil = the response is the answer.
	Job *polling.Job
}

// Optional are abilities that few endpoint types have.
type Optional struct {
	Messages    bool // turns may hold chat messages and tools, as the chat API has them
	Verbatim    bool // bodies have the chat messages of a turn as they are, once
	ExactLength bool // bodies can force the requested length, see [Settings]
}

// Body appends the body of a request to dst: the payload of the turn, or what the
// dialect makes of it. The error means that the turn cannot be expressed in it.
func (k *Kind) Body(dst []byte, r *Request) ([]byte, error) {
	t := &r.Turn
	switch {
	case t.Payload != nil:
		return append(dst, t.Payload...), nil
	case r.Settings.PathModel != "" && ModelOf(r) != r.Settings.PathModel:
		return dst, fmt.Errorf("the model of the request is %q, and its path names %q", ModelOf(r), r.Settings.PathModel)
	case len(t.Images) > 0 && !k.Caps.Images:
		return dst, fmt.Errorf("endpoint type %s takes no images", k.Name)
	case len(t.Audios) > 0 && !k.Caps.Audio:
		return dst, fmt.Errorf("endpoint type %s takes no audio", k.Name)
	case len(t.Videos) > 0 && !k.Caps.Video:
		return dst, fmt.Errorf("endpoint type %s takes no video", k.Name)
	case (t.HasMessages() || t.Tools != nil) && !k.Messages:
		return dst, fmt.Errorf("endpoint type %s takes no chat messages or tools", k.Name)
	case len(t.Named) > 0 && !k.Caps.Named:
		plain := *r
		plain.Turn.Texts = AllTexts(t)
		return k.Encode(dst, &plain)
	}
	return k.Encode(dst, r)
}

// DefaultPath returns the path of requests if the user gives none.
func (k *Kind) DefaultPath(streaming bool) string {
	if streaming && k.StreamPath != "" {
		return k.StreamPath
	}
	return k.Path
}

// Request is everything that decides one request body.
type Request struct {
	Model    string
	System   string           // run's and conversation's system messages, already joined; empty = none
	Context  string           // user message before the first turn; empty = none
	History  []bench.Exchange // earlier turns with their answers, oldest first
	Turn     bench.Turn
	TokenIDs []int // of the turn's texts, one after the other; nil = unknown
	Settings *Settings
}

// Settings are the run-wide choices about bodies. Immutable while a run lives.
type Settings struct {
	Streaming       bool
	StreamUsage     bool    // request a usage block in streams
	PerChunkUsage   bool    // request usage on every chunk
	LegacyMaxTokens bool    // max_tokens instead of max_completion_tokens
	LengthHint      bool    // send the length of the answer as a hint to NVIDIA Dynamo
	ExactLength     bool    // tell the server to generate as many tokens as requested
	Dialect         string  // one of the kind's; empty = the first
	PathModel       string  // model that the path of requests names; empty = it names none
	OwnPath         bool    // the user gave the path, so that it may not decide whether to stream
	Extra           []Field // merged over every body, in order
	Job             polling.Settings
}

// Field is one member of a JSON object, kept in order.
type Field struct {
	Name  string
	Value json.RawMessage
}

// URL is [Job.URL]. Only kinds with a Job have it.
func (k *Kind) URL(c polling.Call, submit *url.URL) *url.URL { return k.Job.URL(c, submit) }

// Track is [Job.Track]. Only kinds with a Job have it.
func (k *Kind) Track(s *Settings) *polling.Tracker { return k.Job.Track(&s.Job) }
