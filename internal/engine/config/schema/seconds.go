// This file reads lengths of time in documents.

package schema

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/engine/config/tree"
)

// Seconds is a length of time. In documents it is a number of seconds, or a
// text such as "30s", "5 min", "2h", "7d" or "inf".
type Seconds float64

// Duration returns the length as a time.Duration; infinite and overlong values
// become the largest one (292 years).
func (s Seconds) Duration() time.Duration {
	const limit = float64(1<<63-1) / float64(time.Second)
	if float64(s) >= limit {
		return 1<<63 - 1
	}
	return time.Duration(float64(s) * float64(time.Second))
}

// MarshalJSON writes a number, or "inf".
func (s Seconds) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(s), 0) {
		return []byte(`"inf"`), nil
	}
	return json.Marshal(float64(s))
}

// UnmarshalJSON reads what [Seconds.MarshalJSON] writes, and the texts of
// documents.
func (s *Seconds) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) != nil {
		text = string(b)
	}
	parsed, ok := parseSeconds(text)
	if !ok {
		return errors.New("read duration: expected seconds, or a string such as 30s")
	}
	*s = parsed
	return nil
}

// Decode reads a number of seconds or a text. Only fields of the form infinite
// take "inf".
func (s *Seconds) Decode(f Target, n *tree.Node) bool {
	v, ok := Seconds(0), false
	switch n.Shape {
	case tree.Number:
		var x float64
		if x, ok = f.Float(n, f.Path); !ok {
			return false
		}
		v = Seconds(x)
	case tree.Text:
		v, ok = parseSeconds(n.Scalar)
	}
	if !ok {
		return f.WrongType(n, f.Path, "a number of seconds, or a string such as \"30s\" or \"5 min\"")
	}
	if math.IsInf(float64(v), 0) && f.Row.Form != "infinite" {
		return f.Invalid(n, "must be finite")
	}
	*s = v
	return true
}

// ReadSeconds reads a number of seconds, or a text such as "30s"; false = the node is neither.
func ReadSeconds(n *tree.Node) (seconds float64, ok bool) {
	if n.Shape != tree.Number && n.Shape != tree.Text {
		return 0, false
	}
	s, ok := parseSeconds(n.Scalar)
	return float64(s), ok
}

// parseSeconds reads "30s", "5 min", "2h", "7d" and "inf".
func parseSeconds(s string) (Seconds, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	switch s {
	case "inf", "+inf", "infinity":
		return Seconds(math.Inf(1)), true
	}
	end := strings.LastIndexAny(s, "0123456789.") + 1
	f, err := strconv.ParseFloat(s[:end], 64)
	if err != nil || math.IsInf(f, 0) {
		return 0, false
	}
	switch strings.TrimSpace(s[end:]) {
	case "", "s", "sec", "second", "seconds":
	case "m", "min", "minute", "minutes":
		f *= 60
	case "h", "hr", "hour", "hours":
		f *= 3600
	case "d", "day", "days":
		f *= 24 * 3600
	default:
		return 0, false
	}
	return Seconds(f), true
}
