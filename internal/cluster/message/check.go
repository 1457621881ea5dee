package message

import (
	"errors"
	"fmt"
	"math"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"aiperfd/internal/cluster/bus"
	"aiperfd/internal/cluster/sealed"
	"aiperfd/internal/engine/bench"
)

// The limits of what messages have.
const (
	MaxWorkers = 10_000    // of a run
	MaxPhases  = 128       // of a run
	MaxFiles   = 1000      // of a part of a run
	MaxChunk   = 512 << 10 // bytes of a part of a file
	MaxSeconds = 120       // of a beat
	MaxSecond  = 128 << 10 // bytes of a second, and of all of a beat

	maxLive   = 256 << 10 // bytes of the metrics of all phases
	maxText   = 1024      // bytes of a short text
	maxSmall  = 4 << 10   // bytes of a small message
	maxName   = 255       // bytes of the name of a file
	maxLabels = 32
)

func (*Join) kind() kind    { return kind{"join", 32 << 10} }
func (*Answer) kind() kind  { return kind{"answer", 64 << 10} }
func (*Probe) kind() kind   { return kind{"probe", maxSmall} }
func (*Clock) kind() kind   { return kind{"clock", maxSmall} }
func (*Sealed) kind() kind  { return kind{"sealed", bus.MaxPayload} }
func (*Prepare) kind() kind { return kind{KindPrepare, bus.MaxPayload - maxSmall} } // it must fit when it is sealed
func (*Ready) kind() kind   { return kind{KindReady, maxSmall} }
func (*Start) kind() kind   { return kind{"start", maxSmall} }
func (*Beat) kind() kind    { return kind{KindBeat, 768 << 10} }
func (*Ack) kind() kind     { return kind{"ack", 64 << 10} }
func (*Range) kind() kind   { return kind{KindFile, maxSmall} }
func (*Chunk) kind() kind   { return kind{"chunk", MaxChunk + maxSmall} }
func (*Release) kind() kind { return kind{KindRelease, maxSmall} }
func (*Refusal) kind() kind { return kind{"refusal", maxSmall} }

func (s *Sealed) body() *[]byte  { return &s.Box }
func (p *Prepare) body() *[]byte { return &p.Document }
func (c *Chunk) body() *[]byte   { return &c.Data }

// rule is what must hold for a field.
type rule struct {
	holds bool
	field string
	want  string
}

// broken returns an error that names every field whose rule is broken; nil = none is.
func broken(rules ...rule) error {
	var all []string
	for _, r := range rules {
		if !r.holds {
			all = append(all, r.field+": must be "+r.want)
		}
	}
	if all == nil {
		return nil
	}
	return errors.New(strings.Join(all, "; "))
}

func isText(field, text string) rule {
	return rule{len(text) <= maxText, field, fmt.Sprintf("at most %d bytes", maxText)}
}

func isRun(id string) rule {
	return rule{id != "" && len(id) <= 128 && bus.Consists(id, "._-"), "run", "1 to 128 letters, digits, dots, hyphens or underscores"}
}

func isPhase(index int) rule {
	return rule{index >= 0 && index < MaxPhases, "phase", fmt.Sprintf("from 0 to %d", MaxPhases-1)}
}

// isFile accepts relative paths that mean the same on every machine.
func isFile(name string) rule {
	local := name == path.Clean(name) && !path.IsAbs(name) && name != "." && name != ".." && !strings.HasPrefix(name, "../")
	plain := utf8.ValidString(name) && !strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == '\\' || c == ':' })
	return rule{local && plain && name != "" && len(name) <= maxName, "name of a file", fmt.Sprintf("a relative path of at most %d bytes", maxName)}
}

// ValidName reports whether a worker can have a name: it is the name of a folder, too.
func ValidName(name string) bool {
	return name != "" && len(name) <= 64 && bus.Consists(name, "._-") && !strings.ContainsRune("._-", rune(name[0]))
}

func (j *Join) check() error {
	labels := len(j.Labels) <= maxLabels
	for name, value := range j.Labels {
		labels = labels && name != "" && len(name) <= 64 && len(value) <= 256
	}
	return broken(
		rule{len(j.Key) == sealed.PublicSize, "key", fmt.Sprintf("%d bytes", sealed.PublicSize)},
		rule{j.ID == sealed.Instance(j.Key), "id", "that of the key"},
		rule{len(j.Proof.Nonce) == sealed.NonceSize && len(j.Proof.MAC) == sealed.MACSize, "proof", "a nonce and a code of their sizes"},
		rule{ValidName(j.Name), "name", "1 to 64 letters, digits, dots, hyphens or underscores, a letter or digit first"},
		isText("version", j.Version),
		rule{labels, "labels", fmt.Sprintf("at most %d, with names of 1 to 64 and values of at most 256 bytes", maxLabels)},
		rule{j.Cores > 0 && j.Cores <= 1<<16, "cores", "from 1 to 65536"},
		rule{j.Memory >= 0, "memory_bytes", "at least 0"},
	)
}

func (*Answer) check() error { return nil }
func (*Probe) check() error  { return nil }

func (c *Clock) check() error {
	return broken(rule{c.Arrived >= 0 && c.Answered >= c.Arrived, "arrived and answered", "times in this order"})
}

// The longest times that a worker may be silent, and that an answer may take. They leave room for arithmetic.
const (
	maxLost = 365 * 24 * time.Hour
	maxRTT  = time.Minute
)

func (s *Sealed) check() error { return broken(isRun(s.Run)) }

func (p *Prepare) check() error {
	weights, total := len(p.Weights) <= MaxWorkers, 0.0
	for _, w := range p.Weights {
		weights = weights && w >= 0
		total += w
	}
	return broken(
		isRun(p.Run),
		rule{p.Epoch >= 0, "epoch", "at least 0"},
		rule{
			weights && total > 0 && !math.IsInf(total, 1), "weights",
			fmt.Sprintf("1 to %d numbers of at least 0, which are not all 0", MaxWorkers),
		},
		rule{p.Index >= 0 && p.Index < len(p.Weights), "index", "that of one of the weights"},
		rule{p.LostAfter > 0 && p.LostAfter <= maxLost, "lost_after", "above 0 and at most a year"},
	)
}

func (r *Ready) check() error {
	return broken(isRun(r.Run), isPhase(r.Phase), rule{r.After >= 0, "after", "at least 0"})
}

func (s *Start) check() error {
	return broken(rule{s.At >= 0 && s.First >= 0, "at and first", "at least 0"})
}

func (b *Beat) check() error {
	rules := []rule{
		{b.Sequence > 0, "sequence", "above 0"},
		{b.RTT >= 0 && b.RTT <= maxRTT, "rtt", "from 0 to " + maxRTT.String()},
		{b.ClockBound <= maxLost, "clock_bound", "at most a year"},
		{b.Run == "" || isRun(b.Run).holds, "run", "empty or " + isRun("").want},
		{len(b.Phases) <= MaxPhases, "phases", fmt.Sprintf("at most %d", MaxPhases)},
	}
	for i := range b.Phases[:min(len(b.Phases), MaxPhases)] {
		rules = append(rules, isPhase(b.Phases[i].Stats.Index))
	}
	for i := range b.Seconds[:min(len(b.Seconds), MaxSeconds)] {
		rules = append(rules, rule{b.Seconds[i].Number > 0, "number of a second", "above 0"})
	}
	if b.Done != nil {
		rules = append(rules, b.Done.rules()...)
	}
	return broken(rules...)
}

func (d *Done) rules() []rule {
	out := []rule{
		{d.State.Terminal(), "state", fmt.Sprintf("%s, %s or %s", bench.StateCompleted, bench.StateCancelled, bench.StateFailed)},
		{len(d.Files) <= MaxFiles, "files", fmt.Sprintf("at most %d", MaxFiles)},
	}
	for i := range d.Files[:min(len(d.Files), MaxFiles)] {
		f := &d.Files[i]
		out = append(out, isFile(f.Name), rule{f.Size >= 0, "size of a file", "at least 0"},
			rule{len(f.SHA256) == 32, "sha256 of a file", "32 bytes"})
	}
	return out
}

func (*Ack) check() error { return nil }

func (r *Range) check() error {
	return broken(isRun(r.Run), isFile(r.Name), rule{r.Offset >= 0, "offset", "at least 0"},
		rule{r.Size > 0 && r.Size <= MaxChunk, "size", fmt.Sprintf("from 1 to %d", MaxChunk)})
}

func (c *Chunk) check() error {
	return broken(rule{len(c.Data) <= MaxChunk, "data", fmt.Sprintf("at most %d bytes", MaxChunk)})
}

func (r *Release) check() error { return broken(isRun(r.Run)) }
func (r *Refusal) check() error { return broken(isText("problem", r.Problem)) }

// shortened returns the beginning of a text, as long as a short text may be.
func shortened(text string) string {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "")
	}
	return text
}
