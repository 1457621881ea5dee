package results

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"aiperfd/internal/api/respond"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// Records sends a page of the records of a run.
//
//	@Summary		Get the records of a run
//	@Description	Lines of the record file, one for each request, in the order of their ends. A page has at most 8 MiB and can have fewer lines than limit, or none, although there are more. If the run is active, its last page has a cursor for the lines that follow.
//	@Tags			runs
//	@Param			limit	query		integer	false	"Maximum number of lines"	minimum(1)	maximum(1000)	default(100)
//	@Param			cursor	query		string	false	"next_cursor of the previous page"
//	@Param			outcome	query		string	false	"How the request ended"	Enums(success,error,cancelled)
//	@Param			phase	query		string	false	"Name of a phase, or warmup or profiling for all of a kind"
//	@Success		200		{object}	RecordBody
//	@Header			200		{string}	Link	"Next page"
//	@Failure		400,503		{object}	wire.Problem
//	@Produce		json,application/x-ndjson
//	@Router			/api/runs/{id}/records [get]
func (h *Files) Records(w http.ResponseWriter, r *http.Request) error {
	found, err := h.find.Run(w, r)
	if err != nil {
		return err
	}
	query, err := ParseRecordQuery(found.ID, r.URL.Query())
	if err != nil {
		return respond.Fail(respond.ErrParameter, "Bad parameters: %v", err)
	}
	var page *RecordPage
	root, err := h.open(found.ID)
	if err == nil {
		defer root.Close()
		page, err = OpenRecords(r.Context(), root, found, query)
	}
	switch {
	case errors.Is(err, ErrCursor):
		return respond.Fail(respond.ErrParameter, "Bad parameters: %v", err)
	case errors.Is(err, fs.ErrNotExist) && found.State.Terminal():
		return respond.Fail(respond.ErrNotFound, "Run %s has no record lines: it measured nothing, or artifacts.level or artifacts.recordFormat exclude them", found.ID)
	case errors.Is(err, fs.ErrNotExist):
		return respond.Fail(respond.ErrNotReady, "Run %s has no record lines yet, or artifacts.level or artifacts.recordFormat exclude them", found.ID)
	case err != nil:
		return fmt.Errorf("read records of run %s: %w: %w", found.ID, run.ErrStore, err)
	}
	defer page.Close()
	w.Header().Set("Cache-Control", respond.NoStore)
	if chi.URLParam(r, "id") == found.ID && found.State.Terminal() {
		w.Header().Set("Cache-Control", respond.Immutable)
	}
	return h.end(page.Serve(newFileWriter(w), r), found.ID, "send records")
}

// OpenRecords reads a page of the records of a run, whose folder is root. The caller closes the
// page. The error is that of [readRecords], or fs.ErrNotExist if the run has no record lines.
func OpenRecords(ctx context.Context, root *os.Root, r *run.Run, q *RecordQuery) (*RecordPage, error) {
	prefix, err := results.Prefix(r.Config)
	if err != nil {
		return nil, err
	}
	file, err := results.RecordLines(root, prefix)
	if err != nil {
		return nil, err
	}
	page, err := readRecords(ctx, file, file.Size(), q, !r.State.Terminal())
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	page.close = file.Close
	return page, nil
}

// Close closes the file of the page.
func (p *RecordPage) Close() error {
	if p.close == nil {
		return nil
	}
	return p.close()
}

// Serve sends the page in the format that the client accepts. After an error the response
// is incomplete, and the connection must be closed so that the client notices.
func (p *RecordPage) Serve(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Add("Vary", "Accept")
	if p.Next != "" {
		next := r.URL.Query()
		next.Set("cursor", p.Next)
		h.Set("Link", "<"+r.URL.EscapedPath()+"?"+next.Encode()+`>; rel="next"`)
	}
	write := p.WriteJSON
	h.Set("Content-Type", "application/json")
	if acceptsLines(r.Header.Values("Accept")) {
		write = p.WriteLines
		h.Set("Content-Type", "application/x-ndjson")
	}
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	return write(w)
}

// acceptsLines reports whether a client names the media type of lines.
func acceptsLines(fields []string) bool {
	for _, field := range fields {
		for one := range strings.SplitSeq(field, ",") {
			media, params, err := mime.ParseMediaType(one)
			if quality, bad := strconv.ParseFloat(params["q"], 64); err == nil && media == "application/x-ndjson" && (bad != nil || quality > 0) {
				return true
			}
		}
	}
	return false
}

// WriteLines writes the page as lines.
func (p *RecordPage) WriteLines(w io.Writer) error {
	for i := range p.items {
		if err := p.copy(w, &p.items[i], "\n"); err != nil {
			return err
		}
	}
	return nil
}

// WriteJSON writes the page as a [RecordBody].
func (p *RecordPage) WriteJSON(w io.Writer) error {
	next := []byte("null")
	if p.Next != "" {
		next = strconv.AppendQuote(nil, p.Next) // cursors are plain ASCII
	}
	if _, err := io.WriteString(w, `{"items":[`); err != nil {
		return err
	}
	for i := range p.items {
		after := ","
		if i == len(p.items)-1 {
			after = ""
		}
		if err := p.copy(w, &p.items[i], after); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "],\"next_cursor\":%s}\n", next)
	return err
}

// copy writes one line, and a text after it.
func (p *RecordPage) copy(w io.Writer, i *item, after string) error {
	var from io.Reader = io.NewSectionReader(p.file, i.at, i.size)
	if i.instead != nil {
		from = bytes.NewReader(i.instead)
	}
	if n, err := io.Copy(w, from); err != nil || n < i.length() {
		return fmt.Errorf("send records: %w", errors.Join(err, io.ErrUnexpectedEOF))
	}
	_, err := io.WriteString(w, after)
	return err
}
