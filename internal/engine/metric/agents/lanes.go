package agents

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"aiperfd/internal/engine/bench"
)

// Lane is how a lane began: with which session, where this was entered, and what was sent before. Times are in
// milliseconds.
type Lane struct {
	Lane    int     `json:"lane"` // from 1
	Play    int64   `json:"session_num"`
	Trace   string  `json:"trace_id"`
	Digest  string  `json:"trace_sha256"` // of its record
	Entered float64 `json:"entered_ms"`   // instant of the recording; 0 = its beginning
	Streams []Entry `json:"streams"`      // that were entered, each with its first request
	Primers []Entry `json:"primers"`      // null = there were none
}

// Entry is a request with which a stream begins.
type Entry struct {
	Stream string  `json:"stream"`
	Turn   int     `json:"turn"`
	Due    float64 `json:"due_ms"` // from the beginning of the run
}

func entryOf(r *bench.Record) Entry { return Entry{r.ConversationID, r.Turn, ms(r.Stamps.Due)} }

// lane returns the lane of a request if it belongs to the first session of the lane; else one that is not kept.
func (j *Jobs) lane(r *bench.Record) *Lane {
	one := j.first[r.Lane]
	session := r.Content.Replayed.Recorded.Session
	if one == nil {
		one = &Lane{
			Lane: r.Lane, Play: r.SessionNum, Trace: session.ID, Digest: session.Digest, Entered: ms(r.Entered),
			Streams: []Entry{},
		}
		if r.Lane > 0 {
			j.first[r.Lane] = one
		}
	}
	if one.Play != r.SessionNum {
		return new(Lane)
	}
	return one
}

// enter notes the first request of the main stream, and of the streams that were entered in their middle.
func (l *Lane) enter(r *bench.Record) {
	known := slices.ContainsFunc(l.Streams, func(e Entry) bool { return e.Stream == r.ConversationID })
	if !known && (r.Turn > 0 || r.Lineage == nil) {
		l.Streams = append(l.Streams, entryOf(r))
	}
}

// Lanes returns how the lanes began, in their order.
func (j *Jobs) Lanes() []Lane {
	var all []Lane
	for _, n := range slices.Sorted(maps.Keys(j.first)) {
		one := *j.first[n]
		for _, list := range []*[]Entry{&one.Streams, &one.Primers} {
			*list = slices.Clone(*list)
			slices.SortFunc(*list, func(a, b Entry) int { return strings.Compare(a.Stream, b.Stream) })
		}
		all = append(all, one)
	}
	return all
}

// planDigest is the SHA-256 of what lanes begin with: runs with the same one play the same sessions from the same
// instants. Empty = there are no lanes.
func planDigest(lanes []Lane) string {
	if len(lanes) == 0 {
		return ""
	}
	sum := sha256.New()
	for i := range lanes {
		l := &lanes[i]
		fmt.Fprintf(sum, "%d %q %s %v\n", l.Lane, l.Trace, l.Digest, l.Entered) // never fails
	}
	return hex.EncodeToString(sum.Sum(nil))
}
