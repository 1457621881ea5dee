package front

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

// maxBuffer is the largest buffer that is kept between responses, in bytes. It limits the
// memory of idle connections.
const maxBuffer = 16 << 10

// responseWriter writes responses of a connection as net/http's server does: the same
// bytes in the same writes. Data is buffered until Flush. It belongs to the front's
// thread.
type responseWriter struct {
	send    func(b []byte) error // accepts all of b, or fails permanently
	now     func() int64         // Unix nanoseconds
	last    func() bool          // reports whether this is the last response of the connection
	header  http.Header
	b       []byte // not sent yet; kept for reuse
	begun   bool   // the head is in b, or was sent
	chunked bool
}

var _ http.ResponseWriter = (*responseWriter)(nil)

// Header implements http.ResponseWriter.
func (w *responseWriter) Header() http.Header {
	if w.header == nil {
		w.header = make(http.Header, 4)
	}
	return w.header
}

// WriteHeader implements http.ResponseWriter.
func (w *responseWriter) WriteHeader(status int) {
	w.begun = true
	w.b = append(w.b, "HTTP/1.1 "...)
	w.b = strconv.AppendInt(w.b, int64(status), 10)
	w.b = append(w.b, ' ')
	w.b = append(w.b, http.StatusText(status)...)
	w.b = append(w.b, "\r\n"...)
	names := make([]string, 0, 4)
	for name := range w.header {
		// net/http sorts the headers of the handler and appends its own.
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if values := w.header[name]; len(values) > 0 {
			w.field(name, values[0])
		}
	}
	w.b = append(w.b, "Date: "...)
	w.b = time.Unix(0, w.now()).UTC().AppendFormat(w.b, http.TimeFormat)
	w.b = append(w.b, "\r\n"...)
	if w.last() {
		w.field("Connection", "close")
	}
	if w.chunked = w.header["Content-Length"] == nil; w.chunked {
		w.field("Transfer-Encoding", "chunked")
	}
	w.b = append(w.b, "\r\n"...)
}

func (w *responseWriter) field(name, value string) {
	w.b = append(w.b, name...)
	w.b = append(w.b, ": "...)
	w.b = append(w.b, value...)
	w.b = append(w.b, "\r\n"...)
}

// Write implements http.ResponseWriter.
func (w *responseWriter) Write(p []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	if !w.chunked {
		w.b = append(w.b, p...)
		return len(p), nil
	}
	if len(p) > 0 { // an empty chunk would be the last one
		w.b = strconv.AppendInt(w.b, int64(len(p)), 16)
		w.b = append(w.b, "\r\n"...)
		w.b = append(w.b, p...)
		w.b = append(w.b, "\r\n"...)
	}
	return len(p), nil
}

// FlushError sends the buffered data. http.ResponseController calls it.
func (w *responseWriter) FlushError() error {
	if len(w.b) == 0 {
		return nil
	}
	err := w.send(w.b)
	w.b = w.b[:0]
	if cap(w.b) > maxBuffer {
		w.b = nil
	}
	return err
}

// end completes the response and prepares w for the next one.
func (w *responseWriter) end() error {
	switch {
	case !w.begun: // nothing was written: net/http sends 200
		w.Header()["Content-Length"] = []string{"0"}
		w.WriteHeader(http.StatusOK)
	case w.chunked:
		w.b = append(w.b, "0\r\n\r\n"...)
	}
	w.begun, w.chunked = false, false
	clear(w.header)
	return w.FlushError()
}
