// Package expo reads the text formats in which servers expose their metrics: that of Prometheus, version
// 0.0.4, and OpenMetrics 1.0.0. A [Scanner] yields one line at a time and allocates nothing, so that a
// reader that knows the series of the last page already pays for their values only.
//
// Formats: https://prometheus.io/docs/instrumenting/exposition_formats/ and
// https://prometheus.io/docs/specs/om/open_metrics_spec/.
package expo

import (
	"bytes"
	"strconv"
)

// Entry is what a line of a page is.
type Entry uint8

// The entries. Lines that are empty or comments are none.
const (
	None   Entry = iota // before the first line and after the last
	Type                // the type of a family
	Help                // the description of a family
	Unit                // the unit of a family, in OpenMetrics
	Sample              // the value of a series
)

// Scanner reads a page. Its slices are parts of the page, or valid until the next call of Next.
type Scanner struct {
	rest      []byte
	entry     Entry
	name      []byte
	text      []byte
	series    []byte
	value     float64
	malformed int
}

// NewScanner returns a scanner of a page, which must not change meanwhile.
func NewScanner(page []byte) *Scanner { return &Scanner{rest: page} }

// Next reads the next entry. It returns false at the end of the page or, in OpenMetrics, at its mark # EOF.
// Lines that cannot be read are skipped and counted.
func (s *Scanner) Next() bool {
	for len(s.rest) > 0 {
		line := s.rest
		if end := bytes.IndexByte(line, '\n'); end >= 0 {
			line, s.rest = line[:end], line[end+1:]
		} else {
			s.rest = nil
		}
		line = bytes.TrimRight(bytes.TrimLeft(line, " \t"), " \t\r")
		switch {
		case len(line) == 0:
		case line[0] == '#':
			if string(line) == "# EOF" {
				s.rest = nil
				s.entry = None
				return false
			}
			if s.comment(line) {
				return true
			}
		case s.sample(line):
			return true
		default:
			s.malformed++
		}
	}
	s.entry = None
	return false
}

// Entry returns what Next has read.
func (s *Scanner) Entry() Entry { return s.entry }

// Name returns the name of the family of an entry Type, Help or Unit.
func (s *Scanner) Name() []byte { return s.name }

// Text returns the type, the description with its escapes, or the unit; see [Unescape].
func (s *Scanner) Text() []byte { return s.text }

// Series returns the name and the labels of a sample as they are written; see [ParseSeries].
func (s *Scanner) Series() []byte { return s.series }

// Value returns the value of a sample, which may be NaN or infinite.
func (s *Scanner) Value() float64 { return s.value }

// Malformed returns how many lines could not be read so far.
func (s *Scanner) Malformed() int { return s.malformed }

// comment reads a line that describes a family; false = it is another comment.
func (s *Scanner) comment(line []byte) bool {
	keyword, rest := word(line[1:])
	switch string(keyword) {
	case "TYPE":
		s.entry = Type
	case "HELP":
		s.entry = Help
	case "UNIT":
		s.entry = Unit
	default:
		return false
	}
	rest = bytes.TrimLeft(rest, " \t")
	if len(rest) > 0 && rest[0] == '"' { // a name in UTF-8
		end := quoted(rest)
		if end < 0 {
			return false
		}
		s.name, s.text = rest[1:end-1], rest[end:]
	} else {
		s.name, s.text = word(rest)
	}
	s.text = bytes.TrimLeft(s.text, " \t")
	return len(s.name) > 0
}

// word returns the first word of a text, and what follows it.
func word(text []byte) (first, rest []byte) {
	text = bytes.TrimLeft(text, " \t")
	if end := bytes.IndexAny(text, " \t"); end >= 0 {
		return text[:end], text[end:]
	}
	return text, nil
}

// quoted returns where a text in quotation marks ends that starts at the first byte; -1 = nowhere.
func quoted(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// sample reads a line with a value. A timestamp and an exemplar are ignored.
func (s *Scanner) sample(line []byte) bool {
	end := seriesEnd(line)
	if end <= 0 || end >= len(line) {
		return false
	}
	series := bytes.TrimRight(line[:end], " \t")
	text, rest := word(line[end:])
	value, err := strconv.ParseFloat(string(text), 64)
	if err != nil && value == 0 { // a value out of range is infinite
		return false
	}
	if stamp, _ := word(rest); len(stamp) > 0 && stamp[0] != '#' {
		if _, err := strconv.ParseFloat(string(stamp), 64); err != nil {
			return false
		}
	}
	s.entry, s.series, s.value = Sample, series, value
	return true
}

// seriesEnd returns where the name and the labels of a line end; ≤ 0 = they are malformed.
func seriesEnd(line []byte) int {
	for i := range line {
		switch c := line[i]; {
		case c == '{':
			return labelsEnd(line, i+1)
		case c == ' ' || c == '\t':
			next := i
			for next < len(line) && (line[next] == ' ' || line[next] == '\t') {
				next++
			}
			if next < len(line) && line[next] == '{' {
				return labelsEnd(line, next+1)
			}
			return i
		case !nameByte(c, i == 0):
			return -1
		}
	}
	return -1
}

// labelsEnd returns where labels end that begin at a byte.
func labelsEnd(line []byte, at int) int {
	for i := at; i < len(line); i++ {
		switch line[i] {
		case '"':
			end := quoted(line[i:])
			if end < 0 {
				return -1
			}
			i += end - 1
		case '}':
			return i + 1
		}
	}
	return -1
}

// nameByte reports whether a byte may be in the name of a metric.
func nameByte(c byte, first bool) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == ':':
		return true
	case c >= '0' && c <= '9':
		return !first
	}
	return false
}
