// Package spans takes the spans that servers send of the requests of runs.
package spans

import (
	"compress/gzip"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/telemetry/otlp"
)

// The bounds of a request.
const (
	maxBody  = 4 << 20  // bytes
	maxPlain = 16 << 20 // bytes, decompressed
	timeout  = 10 * time.Second
)

// The media types of OTLP/HTTP.
const (
	protobuf = "application/x-protobuf"
	jsonType = "application/json"
)

// Handler handles the route of spans.
type Handler struct {
	Out *respond.Responder
	// Take takes spans for the active runs that want them; false = there is none. nil = there are no runs.
	Take func([]otlp.ServerSpan) bool
}

// Receive takes spans of a server.
//
//	@Summary		Send spans of a server
//	@Description	OTLP/HTTP, protobuf or JSON, plain or with gzip, at most 4 MiB and 16 MiB decompressed. Spans that continue the trace of a request of an active run with otel.receive, and have vLLM's attributes gen_ai.latency.*, say how long that request waited in the queue, was prefilled and decoded; others are forgotten. If no active run receives spans, the answer is a partial success that rejects all, so that exporters do not send them again.
//	@Tags			runs
//	@Accept			json,application/x-protobuf
//	@Param			request	body		object	true	"ExportTraceServiceRequest"
//	@Success		200		{object}	wire.SpansTaken
//	@Failure		400,413,415	{object}	wire.Problem
//	@Produce		json,application/x-protobuf
//	@Router			/v1/traces [post]
func (h *Handler) Receive(w http.ResponseWriter, r *http.Request) error {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != protobuf && media != jsonType {
		return respond.Fail(respond.ErrMediaType, "Content-Type %q is not supported; send %s or %s",
			r.Header.Get("Content-Type"), protobuf, jsonType)
	}
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	read := otlp.ReadSpans
	if media == jsonType {
		read = otlp.ReadJSONSpans
	}
	spans, err := read(body)
	if err != nil {
		return respond.Fail(respond.ErrMalformed, "The body is not an ExportTraceServiceRequest: %v", err)
	}
	var out wire.SpansTaken
	if h.Take == nil || !h.Take(spans) {
		out.Partial = &wire.SpansRejected{
			Count: int64(len(spans)), Message: "no active run receives spans (otel.receive, --otel-receive)",
		}
	}
	w.Header().Set("Content-Type", media)
	if media == jsonType {
		return h.Out.WriteJSON(w, http.StatusOK, out)
	}
	h.Out.Write(w, http.StatusOK, encode(&out))
	return nil
}

// readBody reads the body of a request, decompressed.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	controller := http.NewResponseController(w)
	_ = controller.SetReadDeadline(time.Now().Add(timeout)) // a ResponseWriter of a test has none
	defer func() { _ = controller.SetReadDeadline(time.Time{}) }()
	var from io.Reader = http.MaxBytesReader(w, r.Body, maxBody)
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(from)
		if err != nil {
			return nil, failed(err)
		}
		from = z
	default:
		return nil, respond.Fail(respond.ErrMediaType, "Content-Encoding %q is not supported; send gzip or none", encoding)
	}
	body, err := io.ReadAll(io.LimitReader(from, maxPlain+1))
	if err != nil {
		return nil, failed(err)
	}
	if len(body) > maxPlain {
		return nil, respond.Fail(respond.ErrTooLarge, "The body is larger than %d bytes when it is decompressed", maxPlain)
	}
	return body, nil
}

// failed returns the problem of a body that cannot be read.
func failed(err error) error {
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return respond.Fail(respond.ErrTooLarge, "The body is larger than %d bytes", maxBody)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return respond.Fail(respond.ErrMalformed, "The body was not complete after %v", timeout)
	}
	return respond.Fail(respond.ErrMalformed, "The body cannot be read: %v", err)
}

// encode returns the answer in protobuf: an ExportTraceServiceResponse.
func encode(t *wire.SpansTaken) []byte {
	if t.Partial == nil {
		return nil
	}
	const partial, rejected, message = 1, 1, 2 // the numbers of the fields
	inner := protowire.AppendTag(nil, rejected, protowire.VarintType)
	inner = protowire.AppendVarint(inner, uint64(t.Partial.Count))
	inner = protowire.AppendTag(inner, message, protowire.BytesType)
	inner = protowire.AppendString(inner, t.Partial.Message)
	return protowire.AppendBytes(protowire.AppendTag(nil, partial, protowire.BytesType), inner)
}
