package http1

import (
	"bytes"
	"fmt"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
)

// feedHead takes bytes of a head and returns those after it.
func (p *Parser) feedHead(b []byte) (rest []byte, err error) {
	text, seen := b, 0
	if len(p.head) > 0 { // the head was cut
		p.head = append(p.head, b...)
		text, seen = p.head, len(p.head)-len(b)
	}
	end, line := headEnd(text, p.scanned)
	if end < 0 {
		if seen == 0 {
			p.head = append(p.head[:0], b...)
		}
		p.scanned = line
		if len(p.head)+p.skipped > MaxHead {
			return nil, errHeadSize()
		}
		return nil, nil
	}
	p.scanned = 0
	err = p.headDone(text[:end])
	p.head = p.head[:0]
	if cap(p.head) > 16<<10 {
		p.head = nil
	}
	return b[end-seen:], err
}

func errHeadSize() error {
	return fmt.Errorf("%w: head is larger than %d bytes", ErrTooLarge, MaxHead)
}

// headEnd returns the index after the empty line that ends a head, looking at
// whole lines from the index from; if there is none, -1 and the start of the
// unfinished line. Lines end in LF with or without CR (RFC 9112, section 2.2).
func headEnd(text []byte, from int) (end, line int) {
	for {
		n := bytes.IndexByte(text[from:], '\n')
		if n < 0 {
			return -1, from
		}
		if n == 0 || n == 1 && text[from] == '\r' {
			return from + n + 1, 0
		}
		from += n + 1
	}
}

// headDone takes a complete head. Interim responses are skipped.
func (p *Parser) headDone(text []byte) error {
	if len(text)+p.skipped > MaxHead {
		return errHeadSize()
	}
	if string(text) != p.last.text {
		h, err := p.heads.parse(text)
		if err != nil {
			return err
		}
		p.last = h
	}
	if s := p.last.status; 100 <= s && s <= 199 && s != http.StatusSwitchingProtocols {
		p.skipped += len(text)
		return nil
	}
	p.cur = p.last
	p.state = stateBody
	if p.noBody {
		p.cur.framing = framingNone
	}
	if p.left = p.cur.length; p.cur.framing == framingNone || p.cur.framing == framingLength && p.left == 0 {
		p.state = stateDone
	}
	return nil
}

// parseHead reads the status line and the fields.
func parseHead(text []byte) (parsed, error) {
	all := string(text) // the strings of the header are parts of this one
	line, fields, _ := strings.Cut(all, "\n")
	minor, status, err := parseStatus(strings.TrimSuffix(line, "\r"))
	if err != nil {
		return parsed{}, err
	}
	header, err := parseFields(fields)
	if err != nil {
		return parsed{}, err
	}
	h := parsed{text: all, status: status, header: header}
	h.keep = minor >= 1 && !HasToken(header["Connection"], "close") ||
		minor == 0 && HasToken(header["Connection"], "keep-alive")
	return h, h.frame(minor)
}

// parseStatus reads "HTTP/1.1 200 OK"; the reason may be missing.
func parseStatus(line string) (minor, status int, err error) {
	rest, ok := strings.CutPrefix(line, "HTTP/1.")
	if !ok || len(rest) < 5 || rest[0] < '0' || rest[0] > '9' || rest[1] != ' ' || len(rest) > 5 && rest[5] != ' ' {
		return 0, 0, fmt.Errorf("%w: status line %.64q", ErrMalformed, line)
	}
	for _, c := range []byte(rest[2:5]) {
		if c < '0' || c > '9' {
			return 0, 0, fmt.Errorf("%w: status line %.64q", ErrMalformed, line)
		}
		status = status*10 + int(c-'0')
	}
	if status < 100 {
		return 0, 0, fmt.Errorf("%w: status line %.64q", ErrMalformed, line)
	}
	return int(rest[0] - '0'), status, nil
}

// parseFields reads the lines after the status line, the empty one included.
func parseFields(text string) (http.Header, error) {
	n := strings.Count(text, "\n")
	header := make(http.Header, n)
	values := make([]string, 0, n) // one piece of memory for all
	last := ""
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" {
			break
		}
		if line[0] == ' ' || line[0] == '\t' { // folded: RFC 9112, section 5.2
			v := header[last]
			if len(v) == 0 || !isValue(line) {
				return nil, fmt.Errorf("%w: field %.64q", ErrMalformed, line)
			}
			v[len(v)-1] = strings.TrimRight(v[len(v)-1]+" "+strings.Trim(line, " \t"), " ")
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		if !ok || !isToken(name) || !isValue(value) {
			return nil, fmt.Errorf("%w: field %.64q", ErrMalformed, line)
		}
		last = textproto.CanonicalMIMEHeaderKey(name)
		if v := header[last]; v != nil {
			header[last] = append(v, value)
			continue
		}
		values = append(values, value)
		header[last] = values[len(values)-1 : len(values) : len(values)]
	}
	return header, nil
}

// frame finds out where the body ends (RFC 9112, section 6.3).
func (h *parsed) frame(minor int) error {
	switch {
	case h.status == http.StatusSwitchingProtocols:
		h.keep = false
		return nil
	case h.status < 200, h.status == http.StatusNoContent, h.status == http.StatusNotModified:
		return nil
	}
	lengths := h.header["Content-Length"]
	if codings := h.header["Transfer-Encoding"]; len(codings) > 0 && minor >= 1 {
		if len(codings) != 1 || !strings.EqualFold(codings[0], "chunked") {
			return fmt.Errorf("%w: transfer coding %.64q", ErrMalformed, strings.Join(codings, ", "))
		}
		h.framing = framingChunks
		h.keep = h.keep && len(lengths) == 0 // two lengths: somebody on the way may believe the other
		return nil
	}
	if len(lengths) == 0 {
		h.framing, h.keep = framingClose, false
		return nil
	}
	for _, v := range lengths {
		if v != lengths[0] {
			return fmt.Errorf("%w: several content lengths", ErrMalformed)
		}
	}
	n, err := strconv.ParseUint(lengths[0], 10, 63)
	if err != nil {
		return fmt.Errorf("%w: content length %.64q", ErrMalformed, lengths[0])
	}
	h.framing, h.length = framingLength, n
	return nil
}
