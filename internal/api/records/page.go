package records

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"

	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// Open reads a page of the records of a run, whose folder is root. The caller closes the
// page. The error is that of [Read], or fs.ErrNotExist if the run has no record lines.
func Open(ctx context.Context, root *os.Root, r *run.Run, q *Query) (*Page, error) {
	prefix, err := results.Prefix(r.Config)
	if err != nil {
		return nil, err
	}
	file, err := results.RecordLines(root, prefix)
	if err != nil {
		return nil, err
	}
	page, err := Read(ctx, file, file.Size(), q, !r.State.Terminal())
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	page.close = file.Close
	return page, nil
}

// Close closes the file of the page.
func (p *Page) Close() error {
	if p.close == nil {
		return nil
	}
	return p.close()
}

// Serve sends the page in the format that the client accepts. After an error the response
// is incomplete, and the connection must be closed so that the client notices.
//
//	@Summary		Get the records of a run
//	@Description	Lines of the record file, one for each request, in the order of their ends. A page has at most 8 MiB and can have fewer lines than limit, or none, although there are more. If the run is active, its last page has a cursor for the lines that follow.
//	@Tags			runs
//	@Param			id		path		string	true	"Run id, current or latest"
//	@Param			limit	query		integer	false	"Maximum number of lines"	minimum(1)	maximum(1000)	default(100)
//	@Param			cursor	query		string	false	"next_cursor of the previous page"
//	@Param			outcome	query		string	false	"How the request ended"	Enums(success,error,cancelled)
//	@Param			phase	query		string	false	"Name of a phase, or warmup or profiling for all of a kind"
//	@Success		200		{object}	Body
//	@Header			200		{string}	Link	"Next page"
//	@Failure		400		{object}	wire.Problem
//	@Failure		404		{object}	wire.Problem
//	@Failure		503		{object}	wire.Problem
//	@Produce		json,application/x-ndjson
//	@Router			/api/runs/{id}/records [get]
func (p *Page) Serve(w http.ResponseWriter, r *http.Request) error {
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
func (p *Page) WriteLines(w io.Writer) error {
	for i := range p.items {
		if err := p.copy(w, &p.items[i], "\n"); err != nil {
			return err
		}
	}
	return nil
}

// WriteJSON writes the page as a [Body].
func (p *Page) WriteJSON(w io.Writer) error {
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
func (p *Page) copy(w io.Writer, i *item, after string) error {
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
