package spec

import "time"

// Lanes are the slots of a phase that plays recorded sessions. Each of them plays one session
// with all its streams after the other: the first one from an instant in the middle of its
// recording, as if the load had lasted for long, the others from their beginning.
type Lanes struct {
	Seed int64 // of the instants
	// The instant of a first session is between these shares of the time from its first request
	// to its last one, 0 to 1.
	From, To float64
	Start    LaneStart
	Ramp     time.Duration // for RampLanes: the lanes send their first requests in this time
	// Primers makes the phase send what servers need to have the sessions in their caches, and
	// nothing else: of each stream that had begun at the instant, its last request before it,
	// with an answer of one token. The sessions themselves are left to the next phase.
	Primers bool
	Burst   bool // primers are sent at once, not at the distance that they have in the recording
	// CacheWarmup makes the phase play without pauses, for answers of one token, to fill the caches of servers. What it
	// has not sent of a session when it ends is left to the next phase, which has Resumed.
	CacheWarmup, Resumed bool
	// Apart refuses more lanes than there are sessions, so that no two lanes send the same prompts at the same time.
	Apart bool
	// Idle is how long nothing may be in flight or due; everything is due earlier then. 0 = without
	// limit.
	Idle time.Duration
	// TreeIdle is the same for each tree of sessions: how long nothing of it may be in flight or due.
	TreeIdle time.Duration
}

// LaneStart says when the lanes of a phase send their first requests.
type LaneStart uint8

// The starts. The names in documents are those of [LaneStarts].
const (
	// SpreadLanes sends them at their recorded times after the instant of their lane.
	SpreadLanes LaneStart = iota
	BurstLanes            // each lane sends its earliest one at once
	RampLanes             // like SpreadLanes, but in shorter time
)

// LaneStarts returns the names of the starts, in the order of their values.
func LaneStarts() []string { return []string{"spread", "burst", "ramp"} }
