package run

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
)

// Baseline is a name for runs that others are compared with. Its revisions do not change; a newer one
// takes the place of those before it.
type Baseline struct {
	Name      string     `json:"name" example:"main"`
	Revisions []Revision `json:"revisions"` // at least one, ascending
}

// Revision is the runs of a baseline at one time.
type Revision struct {
	Number  int         `json:"revision"`
	Runs    []string    `json:"runs"`                   // ids, in the order of their measurement; at least one. They are pinned
	Seeds   []int64     `json:"random_seeds,omitempty"` // of the runs; absent in revisions of earlier versions
	Key     BaselineKey `json:"key"`
	Created time.Time   `json:"created_at" format:"date-time"`
	By      string      `json:"created_by,omitempty"` // name of the token, or of the user of the system
	Note    string      `json:"note,omitempty"`       // at most [MaxNote] bytes
	// Promoted means that the runs were the candidate of a gate that passed.
	Promoted bool `json:"promoted,omitempty"`
}

// BaselineKey is what the runs of a revision were measured with. A gate uses the newest revision with the
// workload and the target of its candidate.
type BaselineKey struct {
	Workload string `json:"workload"`             // digest of the load that the documents ask for
	Target   string `json:"target,omitempty"`     // the label "target" of the runs; empty = they have none
	Host     string `json:"host_class,omitempty"` // system, architecture and processors of the load generator
}

// TargetLabel is the label of runs that tells targets with the same workload apart.
const TargetLabel = "target"

// MaxNote is the length of the note of a revision, in bytes.
const MaxNote = 1024

// The errors of baselines.
var (
	ErrNoBaseline   = errors.New("baseline not found")
	ErrBaselineName = errors.New("the name of a baseline has 1 to 64 letters, digits, dots, hyphens and underscores, " +
		"and begins with a letter or a digit")
)

var baselineName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckBaselineName returns [ErrBaselineName] if a text cannot be the name of a baseline.
func CheckBaselineName(name string) error {
	if !baselineName.MatchString(name) {
		return fmt.Errorf("%q: %w", name, ErrBaselineName)
	}
	return nil
}

// SplitBaseline splits name@revision; without a revision its number is 0.
func SplitBaseline(text string) (name string, revision int, err error) {
	name, number, one := strings.Cut(text, "@")
	if one {
		if revision, err = strconv.Atoi(number); err != nil || revision < 1 {
			return "", 0, fmt.Errorf("%q is not the number of a revision", number)
		}
	}
	return name, revision, nil
}

// NewRevision returns a revision of runs, at least one, that were measured with these keys, both in the order of
// the measurement. The error says which runs cannot stand for the same baseline.
func NewRevision(runs []*Run, keys []BaselineKey) (Revision, error) {
	if len(runs) == 0 {
		return Revision{}, errors.New("a baseline needs at least one run")
	}
	out := Revision{Key: keys[0]}
	for i, r := range runs {
		switch {
		case slices.Contains(out.Runs, r.ID):
			return out, fmt.Errorf("run %s is named twice", r.ID)
		case !r.State.Terminal():
			return out, fmt.Errorf("run %s has not ended", r.ID)
		case r.State != bench.StateCompleted:
			return out, fmt.Errorf("run %s is %s; a baseline takes runs that have completed", r.ID, r.State)
		case keys[i].Workload != out.Key.Workload || keys[i].Target != out.Key.Target:
			return out, fmt.Errorf("runs %s and %s put different loads on their servers, or have different labels %q; "+
				"aiperfd compare says in what they differ", runs[0].ID, r.ID, TargetLabel)
		}
		out.Runs, out.Seeds = append(out.Runs, r.ID), append(out.Seeds, r.Seed)
	}
	return out, nil
}

// Newest returns the newest revision.
func (b *Baseline) Newest() *Revision { return &b.Revisions[len(b.Revisions)-1] }

// Revision returns the revision with a number, or nil.
func (b *Baseline) Revision(number int) *Revision {
	for i := range b.Revisions {
		if b.Revisions[i].Number == number {
			return &b.Revisions[i]
		}
	}
	return nil
}

// Matching returns the oldest and the newest revision with the workload and the target of a key; nil =
// there is none.
func (b *Baseline) Matching(key BaselineKey) (oldest, newest *Revision) {
	return b.MatchingFunc(func(r *Revision) bool {
		return r.Key.Workload == key.Workload && r.Key.Target == key.Target
	})
}

// MatchingFunc returns the oldest and the newest revision that match; nil = there is none.
func (b *Baseline) MatchingFunc(match func(*Revision) bool) (oldest, newest *Revision) {
	for i := range b.Revisions {
		r := &b.Revisions[i]
		if !match(r) {
			continue
		}
		if oldest == nil {
			oldest = r
		}
		newest = r
	}
	return oldest, newest
}
