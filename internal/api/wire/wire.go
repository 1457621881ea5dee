// Package wire has the JSON types of the HTTP API and the functions that create
// them from the runs and snapshots of package run. The functions are pure; they
// read immutable values and keep nothing.
//
// Types that AIPerf 0.13 also has keep its names and its use of nulls:
// a field without omitempty is always present, null when there is no value.
package wire

import (
	"bytes"
	"math"
	"time"
)

// OmitNulls returns compact JSON without the members whose value is null, at
// every depth. Null elements of arrays are kept. The input must
// be valid compact JSON.
func OmitNulls(src []byte) []byte {
	out := make([]byte, 0, len(src))
	for i := 0; i < len(src); {
		if src[i] != '"' {
			out = append(out, src[i])
			i++
			continue
		}
		end := stringEnd(src, i)
		if !bytes.HasPrefix(src[end:], []byte(":null")) {
			out = append(out, src[i:end]...)
			i = end
			continue
		}
		i = end + len(":null")
		switch {
		case out[len(out)-1] == ',': // not the first member: drop the comma before
			out = out[:len(out)-1]
		case i < len(src) && src[i] == ',': // the first of several: drop the comma after
			i++
		}
	}
	return out
}

// stringEnd returns the index after the string that starts at i.
func stringEnd(src []byte, i int) int {
	for i++; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return i
}

// finite returns v, or nil if JSON cannot represent it.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// positive returns v if it is a finite number greater than zero, else nil.
func positive(v float64) *float64 {
	if p := finite(v); p != nil && v > 0 {
		return p
	}
	return nil
}

// nanos returns t in nanoseconds since 1970, nil for the zero time.
func nanos(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return new(t.UnixNano())
}

// nonzero returns v, nil for 0.
func nonzero[T ~int64](v T) *int64 {
	if v == 0 {
		return nil
	}
	return new(int64(v))
}

// utc returns t in UTC, nil for nil.
func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC())
}

// list returns s, never nil, so that it encodes as [] when it is empty.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
