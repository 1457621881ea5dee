package options

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
)

// Ends of a [Case].
const (
	EndEOF   = "eof"   // the answer ends regularly
	EndReset = "reset" // the connection is reset
	EndStall = "stall" // nothing more is sent until the client disconnects
)

// Case is a recorded answer, which is replayed byte for byte on request. Its JSON is that
// of conformance files, which contain a list of cases.
type Case struct {
	ID        string            `json:"id"`
	Title     string            `json:"title"`
	Type      string            `json:"type"` // of endpoint, as the client names it; ignored
	Streaming bool              `json:"streaming"`
	Polled    bool              `json:"polled"` // each read is the whole answer to one request, in turn
	Status    int               `json:"status"`
	Headers   map[string]string `json:"headers"`
	Reads     []Read            `json:"reads"`
	End       Tail              `json:"end"`
}

// Read is a chunk of bytes that the client receives together. At most one of Text and
// Base64 is set.
type Read struct {
	At     float64 `json:"t_ms"` // milliseconds after the request; not before the previous read
	Text   string  `json:"text,omitempty"`
	Base64 string  `json:"b64,omitempty"`
	Data   []byte
}

// Bytes returns the bytes; the error is that of Base64.
func (r *Read) Bytes() ([]byte, error) {
	if r.Base64 == "" {
		return []byte(r.Text), nil
	}
	return base64.StdEncoding.DecodeString(r.Base64)
}

// Tail is the end after the last read.
type Tail struct {
	At  float64 `json:"t_ms"` // milliseconds after the request
	How string  `json:"how"`  // EndEOF, EndReset or EndStall
}

// LoadCases reads a file of cases, for Options.Cases.
func LoadCases(path string) ([]Case, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read cases: %w", err)
	}
	var cases []Case
	if err := json.Unmarshal(data, &cases); err != nil {
		return nil, fmt.Errorf("read cases %s: %w", path, err)
	}
	return cases, nil
}

// IndexCases returns decoded cases by their ids, or the first error of each.
func IndexCases(cases []Case) (map[string]*Case, []error) {
	byID := make(map[string]*Case, len(cases))
	var errs []error
	for i := range cases {
		c := cases[i]
		c.Reads = slices.Clone(c.Reads)
		if err := c.decode(); err != nil {
			errs = append(errs, fmt.Errorf("case %q: %w", c.ID, err))
		}
		if byID[c.ID] != nil {
			errs = append(errs, fmt.Errorf("case %q: the id is there twice", c.ID))
		}
		byID[c.ID] = &c
	}
	return byID, errs
}

// decode checks the case and decodes the bytes of its reads.
func (c *Case) decode() error {
	if c.ID == "" || strings.ContainsAny(c.ID, "/?# ") {
		return fmt.Errorf("id is %q, want a word without slashes", c.ID)
	}
	if c.Status < 200 || c.Status > 599 {
		return fmt.Errorf("status is %d, want 200 to 599", c.Status)
	}
	if !slices.Contains([]string{EndEOF, EndReset, EndStall}, c.End.How) {
		return fmt.Errorf("end is %q, want %s, %s or %s", c.End.How, EndEOF, EndReset, EndStall)
	}
	last := 0.0
	for i := range c.Reads {
		r := &c.Reads[i]
		if !(r.At >= last) || math.IsInf(r.At, 0) {
			return fmt.Errorf("read %d is at %v ms, want at least %v", i, r.At, last)
		}
		last = r.At
		if r.Text != "" && r.Base64 != "" {
			return fmt.Errorf("read %d has both text and b64", i)
		}
		var err error
		if r.Data, err = r.Bytes(); err != nil {
			return fmt.Errorf("read %d: %w", i, err)
		}
	}
	if c.Polled && len(c.Reads) == 0 {
		return fmt.Errorf("a polled case needs a read")
	}
	if !(c.End.At >= last) || math.IsInf(c.End.At, 0) {
		return fmt.Errorf("end is at %v ms, want at least %v", c.End.At, last)
	}
	return nil
}
