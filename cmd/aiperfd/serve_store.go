package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"aiperfd/internal/upkeep"
)

// storeFlags say how much the data directory keeps.
type storeFlags struct {
	runs           int
	bytes, minFree byteSize
	age            daysOrDuration
}

func (f *storeFlags) add(fs *pflag.FlagSet) {
	f.minFree = upkeep.DefaultMinFree
	fs.IntVar(&f.runs, "retain-runs", upkeep.DefaultMaxRuns, "`number` of runs that have ended to keep; the oldest are deleted, except pinned ones; 0 keeps all")
	fs.Var(&f.bytes, "retain-bytes", "`size` of the files of runs that have ended to keep, as 50GiB; the oldest are deleted, except pinned ones; 0 keeps all")
	fs.Var(&f.age, "retain-age", "`time` to keep runs that have ended, as 90d or 36h, except pinned ones; 0 keeps all")
	fs.Var(&f.minFree, "min-free-disk", "`size` of the free disk space below which runs are refused; below a tenth of it, active runs stop recording requests; 0 accepts any")
}

// rules returns what the flags mean.
func (f *storeFlags) rules() (upkeep.Rules, error) {
	if f.runs < 0 {
		return upkeep.Rules{}, fmt.Errorf("--retain-runs %d: must be 0 or more", f.runs)
	}
	return upkeep.Rules{MaxRuns: f.runs, MaxBytes: int64(f.bytes), MaxAge: time.Duration(f.age), MinFree: int64(f.minFree)}, nil
}

// byteSize is a flag with a number of bytes.
type byteSize int64

var _ pflag.Value = (*byteSize)(nil)

type byteUnit struct {
	name  string
	bytes float64
}

// byteUnits are the units of sizes, the largest first.
func byteUnits() []byteUnit {
	return []byteUnit{
		{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
	}
}

// Set implements pflag.Value.
func (b *byteSize) Set(text string) error {
	number, unit := text, 1.0
	for _, u := range byteUnits() {
		if rest, ok := strings.CutSuffix(text, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n >= 0) || n*unit >= math.MaxInt64 {
		return errors.New("must be a number of bytes, or one with a unit as 1GiB, 500MB or 0")
	}
	*b = byteSize(n * unit)
	return nil
}

// String implements pflag.Value.
func (b *byteSize) String() string {
	for _, u := range byteUnits() {
		if n := float64(*b) / u.bytes; n >= 1 && n == math.Trunc(n) {
			return strconv.FormatFloat(n, 'f', -1, 64) + u.name
		}
	}
	return "0"
}

// Type implements pflag.Value.
func (b *byteSize) Type() string { return "size" }

// daysOrDuration is a flag with a length of time, in days or as Go writes durations.
type daysOrDuration time.Duration

var _ pflag.Value = (*daysOrDuration)(nil)

// Set implements pflag.Value.
func (d *daysOrDuration) Set(text string) error {
	const day = 24 * float64(time.Hour)
	var parsed time.Duration
	var err error
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n float64
		parsed = -1
		if n, err = strconv.ParseFloat(days, 64); n >= 0 && n*day < math.MaxInt64 {
			parsed = time.Duration(n * day)
		}
	} else {
		parsed, err = time.ParseDuration(text)
	}
	if err != nil || parsed < 0 {
		return errors.New("must be a length of time as 90d, 36h or 0")
	}
	*d = daysOrDuration(parsed)
	return nil
}

// String implements pflag.Value.
func (d *daysOrDuration) String() string {
	if *d == 0 {
		return "0"
	}
	return time.Duration(*d).String()
}

// Type implements pflag.Value.
func (d *daysOrDuration) Type() string { return "time" }
