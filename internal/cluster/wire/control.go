package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"aiperfd/internal/cluster/bus"
	"aiperfd/internal/cluster/sealed"
)

// The limits of control messages.
const (
	MaxDocument = bus.MaxPayload - 64<<10 // bytes of a document in a message; a larger one is bulk data
	MaxRange    = 512 << 10               // bytes of a part of a file
	MaxWorkers  = 10_000                  // of a run
	maxText     = 1024                    // bytes of a sentence
	maxLabels   = 32
	maxFiles    = 1000
)

// Digest is a SHA-256; in JSON 64 hex digits. The zero Digest stands for none, and is "".
type Digest [sha256.Size]byte

// DigestOf returns the digest of data.
func DigestOf(data []byte) Digest { return sha256.Sum256(data) }

// String returns hex digits, or "" for the zero Digest.
func (d Digest) String() string {
	if d == (Digest{}) {
		return ""
	}
	return hex.EncodeToString(d[:])
}

// MarshalText implements encoding.TextMarshaler.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = Digest{}
		return nil
	}
	if hex.DecodedLen(len(text)) != len(d) || len(text)%2 == 1 {
		return fmt.Errorf("a digest has %d hex digits", 2*len(d))
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// Build identifies the program of a participant.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"` // of the source; empty = unknown
}

// Join asks to become a member. The instance is that of the connection; see bus.ValidID.
type Join struct {
	Name     string            `json:"name"` // unique in the cluster
	Instance string            `json:"instance"`
	Build    Build             `json:"build"`
	Labels   map[string]string `json:"labels,omitempty"`
	CPUs     float64           `json:"cpus"`         // that the process may use; > 0
	Memory   int64             `json:"memory_bytes"` // that it may use; 0 = unknown
	Ports    int               `json:"ports"`        // ephemeral ones for each address of a target; 0 = unknown
	Streams  int               `json:"streams"`      // certified at once; 0 = not certified
	Key      []byte            `json:"key"`          // to which secrets are sealed; empty = it takes none
	Proof    sealed.Proof      `json:"proof"`        // that the key is its own; zero if Key is empty
}

// Refusal is why a worker may not join.
type Refusal string

// The refusals.
const (
	RefusedName    Refusal = "name-taken"
	RefusedBuild   Refusal = "other-build"
	RefusedVersion Refusal = "other-version"
	RefusedFull    Refusal = "full"
	RefusedInvalid Refusal = "invalid"
)

// Welcome answers Join.
type Welcome struct {
	Refusal   Refusal       `json:"refusal,omitempty"` // empty = the worker is a member
	Detail    string        `json:"detail,omitempty"`  // of the refusal, for people
	Heartbeat time.Duration `json:"heartbeat_ns"`      // between snapshots; > 0 for a member
	LostAfter time.Duration `json:"lost_after_ns"`     // without a snapshot; > Heartbeat for a member
	Epoch     uint64        `json:"epoch"`             // of the controller: another one is another process
}

// Prepare hands out a run.
type Prepare struct {
	Run      string    `json:"run"`
	Digest   Digest    `json:"sha256"` // of the document
	Document []byte    `json:"-"`      // resolved, without secrets; empty = it is the bulk data whose name is the digest
	Lanes    int       `json:"lanes"`  // epoch of the table of lanes
	Worker   int       `json:"worker"` // index in Weights
	Weights  []float64 `json:"weights"`
	Files    []File    `json:"files,omitempty"`   // datasets, in bulk data under their digests
	Secrets  []byte    `json:"secrets,omitempty"` // see sealed.Seal; empty = the run needs none
}

// File is a file as others know it.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	Digest Digest `json:"sha256"`
}

// Ready answers Prepare.
type Ready struct {
	Run        string        `json:"run"`
	Problem    string        `json:"problem,omitempty"` // why the worker cannot perform its part; empty = it can
	Plan       Digest        `json:"plan"`
	Schedule   Digest        `json:"schedule"` // of the first sessions of all lanes
	Dataset    Digest        `json:"dataset"`
	ClockBound time.Duration `json:"clock_bound_ns"` // 0 = unknown
}

// Arm sets the start of a phase.
type Arm struct {
	Run   string        `json:"run"`
	Phase int           `json:"phase"`
	Start time.Duration `json:"start_ns"` // on the clock of the controller
	Base  int64         `json:"base"`     // number of the first session
}

// Confirm answers Arm and Stop.
type Confirm struct {
	Run     string `json:"run"`
	Phase   int    `json:"phase"`
	Problem string `json:"problem,omitempty"` // why the worker does not do it; empty = it does
}

// Stop ends a run before its time.
type Stop struct {
	Run    string `json:"run"`
	Cut    bool   `json:"cut"` // also what is in flight
	Reason string `json:"reason"`
}

// Goodbye says that a worker leaves.
type Goodbye struct {
	Run    string `json:"run,omitempty"` // that it was part of; empty = none
	Reason string `json:"reason"`
}

// Report says what a worker has of a run that has ended. The controller fetches the files by Range.
type Report struct {
	Run     string `json:"run"`
	Problem string `json:"problem,omitempty"` // why the part of the worker has failed; empty = it has not
	Files   []File `json:"files"`
	Final   []byte `json:"-"` // sets of metrics; empty = they are a file
}

// Range asks for a part of a file of a run.
type Range struct {
	Run    string `json:"run"`
	Name   string `json:"name"`
	Offset int64  `json:"offset"`
	Length int    `json:"length"` // at most MaxRange
}

// Part answers Range.
type Part struct {
	Problem string `json:"problem,omitempty"` // why there is none; empty = there is
	Offset  int64  `json:"offset"`
	Digest  Digest `json:"sha256"` // of Data
	Data    []byte `json:"-"`      // shorter than asked for at the end of the file
}

func (*Join) kind() kind    { return kindJoin }
func (*Welcome) kind() kind { return kindWelcome }
func (*Prepare) kind() kind { return kindPrepare }
func (*Ready) kind() kind   { return kindReady }
func (*Arm) kind() kind     { return kindArm }
func (*Confirm) kind() kind { return kindConfirm }
func (*Stop) kind() kind    { return kindStop }
func (*Goodbye) kind() kind { return kindGoodbye }
func (*Report) kind() kind  { return kindReport }
func (*Range) kind() kind   { return kindRange }
func (*Part) kind() kind    { return kindPart }

func (*Join) content() *[]byte      { return nil }
func (*Welcome) content() *[]byte   { return nil }
func (m *Prepare) content() *[]byte { return &m.Document }
func (*Ready) content() *[]byte     { return nil }
func (*Arm) content() *[]byte       { return nil }
func (*Confirm) content() *[]byte   { return nil }
func (*Stop) content() *[]byte      { return nil }
func (*Goodbye) content() *[]byte   { return nil }
func (m *Report) content() *[]byte  { return &m.Final }
func (*Range) content() *[]byte     { return nil }
func (m *Part) content() *[]byte    { return &m.Data }

// isName reports whether a text of 1 to most bytes consists of letters, digits and others.
func isName(text string, most int, others string) bool {
	return text != "" && len(text) <= most && bus.Consists(text, others)
}

// isPath reports whether a text is a path below the folder of a run.
func isPath(text string) bool {
	parts := strings.Split(text, "/")
	for _, part := range parts {
		if !isName(part, 255, "._-") || part[0] == '.' {
			return false
		}
	}
	return len(text) <= 255 && len(parts) <= 4
}

// rule is a condition of a field.
type rule struct {
	ok    bool
	field string
	want  string
}

// broken returns an error that names every field whose rule is broken.
func broken(rules ...rule) error {
	var errs []error
	for _, r := range rules {
		if !r.ok {
			errs = append(errs, fmt.Errorf("%w: %s must be %s", ErrMalformed, r.field, r.want))
		}
	}
	return errors.Join(errs...)
}

func isRun(run string) rule {
	_, err := hex.DecodeString(run)
	return rule{err == nil && len(run) == 32 && run == strings.ToLower(run), "run", "32 hex digits in lower case"}
}

func isText(field, text string) rule {
	return rule{len(text) <= maxText, field, fmt.Sprintf("at most %d bytes", maxText)}
}

func isPhase(phase int) rule { return rule{phase >= 0 && phase < 1000, "phase", "0 to 999"} }

func isFile(name string) rule {
	return rule{
		isPath(name), "name of a file",
		"a relative path of at most 255 bytes and four parts, which do not begin with a dot",
	}
}

func areFiles(files []File) []rule {
	out := []rule{{len(files) <= maxFiles, "files", fmt.Sprintf("at most %d", maxFiles)}}
	for _, f := range files[:min(len(files), maxFiles)] {
		out = append(out, isFile(f.Name), rule{f.Size >= 0, "size of a file", "at least 0"})
	}
	return out
}

func (m *Join) check() error {
	labels := len(m.Labels) <= maxLabels
	for key, value := range m.Labels {
		labels = labels && isName(key, 63, "._/-") && len(value) <= 256
	}
	return broken(
		rule{isName(m.Name, 64, "._-"), "name", "1 to 64 letters, digits, dots, hyphens or underscores"},
		rule{bus.ValidID(m.Instance), "instance", "16 to 64 lower-case letters or digits"},
		rule{labels, "labels", fmt.Sprintf("at most %d of at most 63 and 256 bytes", maxLabels)},
		rule{len(m.Key) == 0 || len(m.Key) == sealed.PublicSize, "key", "empty or 32 bytes"},
		rule{len(m.Key) == 0 || m.Instance == sealed.Instance(m.Key), "instance", "that of the key"},
		rule{len(m.Proof.Nonce) <= maxText && len(m.Proof.MAC) <= maxText, "proof", "short"},
		isText("version", m.Build.Version), isText("revision", m.Build.Revision),
		rule{m.CPUs > 0 && m.CPUs <= 1<<16, "cpus", "above 0 and at most 65536"},
		rule{m.Memory >= 0 && m.Ports >= 0 && m.Ports < 1<<16 && m.Streams >= 0, "memory, ports and streams", "at least 0"},
	)
}

func (m *Welcome) check() error {
	member := m.Refusal == ""
	return broken(
		isText("refusal", string(m.Refusal)), isText("detail", m.Detail),
		rule{
			!member || m.Heartbeat > 0 && m.LostAfter > m.Heartbeat, "heartbeat",
			"above 0 and below the time after which a worker is lost",
		},
	)
}

func (m *Prepare) check() error {
	weights, total := len(m.Weights) <= MaxWorkers, 0.0
	for _, w := range m.Weights {
		weights = weights && w >= 0
		total += w
	}
	return broken(append(areFiles(m.Files),
		isRun(m.Run),
		rule{m.Digest != Digest{}, "sha256", "a digest"},
		rule{len(m.Document) <= MaxDocument, "document", fmt.Sprintf("at most %d bytes", MaxDocument)},
		rule{len(m.Document) == 0 || DigestOf(m.Document) == m.Digest, "document", "what its digest says"},
		rule{m.Lanes >= 0, "lanes", "at least 0"},
		rule{
			weights && total > 0 && !math.IsInf(total, 1), "weights",
			fmt.Sprintf("at most %d finite numbers of at least 0, which are not all 0", MaxWorkers),
		},
		rule{m.Worker >= 0 && m.Worker < len(m.Weights), "worker", "an index of the weights"},
	)...)
}

func (m *Ready) check() error {
	return broken(isRun(m.Run), isText("problem", m.Problem), rule{m.ClockBound >= 0, "clock_bound_ns", "at least 0"})
}

func (m *Arm) check() error {
	return broken(isRun(m.Run), isPhase(m.Phase), rule{m.Start >= 0 && m.Base >= 0, "start_ns and base", "at least 0"})
}

func (m *Confirm) check() error {
	return broken(isRun(m.Run), isPhase(m.Phase), isText("problem", m.Problem))
}

func (m *Stop) check() error { return broken(isRun(m.Run), isText("reason", m.Reason)) }

func (m *Goodbye) check() error {
	return broken(
		rule{m.Run == "" || isRun(m.Run).ok, "run", "empty or 32 hex digits in lower case"},
		isText("reason", m.Reason))
}

func (m *Report) check() error {
	return broken(append(areFiles(m.Files), isRun(m.Run), isText("problem", m.Problem))...)
}

func (m *Range) check() error {
	return broken(isRun(m.Run), isFile(m.Name),
		rule{m.Offset >= 0, "offset", "at least 0"},
		rule{m.Length > 0 && m.Length <= MaxRange, "length", fmt.Sprintf("1 to %d", MaxRange)})
}

func (m *Part) check() error {
	return broken(isText("problem", m.Problem),
		rule{m.Offset >= 0, "offset", "at least 0"},
		rule{len(m.Data) <= MaxRange, "data", fmt.Sprintf("at most %d bytes", MaxRange)},
		rule{m.Problem != "" || DigestOf(m.Data) == m.Digest, "data", "what its digest says"})
}
