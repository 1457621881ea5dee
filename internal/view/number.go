package view

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Absent stands for a number that does not exist, in tables of reports.
const Absent = "–"

// Figure formats a number for people: three digits or more, with thousands
// separators; "inf" and "-inf" for what is not finite.
func Figure(v float64) string {
	a := math.Abs(v)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(v, 'f', 0, 64)), "+")
	case a < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strings.TrimSuffix(Grouped(math.Round(v)), ".00")
}

// FigureOr is [Figure]; absent stands for nil.
func FigureOr(v *float64, absent string) string {
	if v == nil {
		return absent
	}
	return Figure(*v)
}

// Compact formats a number with three digits or fewer, without zeros at the end, or as a
// whole number with thousands separators; [Absent] for nil and for what is not finite.
func Compact(v *float64) string {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return Absent
	}
	size := math.Abs(*v)
	switch {
	case size >= 999.5:
		return Whole(int64(math.Round(*v)))
	case size >= 100:
		return strconv.FormatFloat(*v, 'f', 0, 64)
	case size >= 10:
		return trimmed(*v, 1)
	case size >= 1:
		return trimmed(*v, 2)
	}
	return strconv.FormatFloat(*v, 'g', 2, 64)
}

// trimmed formats a number with at most so many decimals.
func trimmed(v float64, decimals int) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', decimals, 64), "0"), ".")
}

// Bound formats a number of at least 0 with at least two digits and without an exponent.
func Bound(v float64) string {
	switch {
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 1:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 0.001:
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// Grouped formats a number with two decimals and thousands separators.
func Grouped(v float64) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', 2, 64)
	whole, fraction := text[:len(text)-3], text[len(text)-3:]
	if v < 0 && text != "0.00" {
		return "-" + separated(whole) + fraction
	}
	return separated(whole) + fraction
}

// Whole formats a count with thousands separators.
func Whole(n int64) string {
	if n < 0 {
		return "-" + separated(strconv.FormatInt(n, 10)[1:])
	}
	return separated(strconv.FormatInt(n, 10))
}

// separated puts commas between thousands.
func separated(digits string) string {
	var b strings.Builder
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(digits[i])
	}
	return b.String()
}

// Percent formats a share. Only 0 is formatted as 0, and only 1 as 100.
func Percent(share float64) string {
	text := strings.TrimSuffix(fmt.Sprintf("%.1f", 100*share), ".0")
	switch {
	case share > 0 && text == "0":
		text = "< 0.1"
	case share < 1 && text == "100":
		text = "99.9"
	}
	return text + " %"
}

// Plural returns a count with its noun.
func Plural[N int | int64](n N, noun string) string {
	return fmt.Sprint(n) + " " + Noun(n, noun)
}

// Noun returns a noun in the number of a count.
func Noun[N int | int64](n N, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// Clock formats a duration as 01:30, or 2:01:30.
func Clock(d time.Duration) string {
	s := int(d.Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}
