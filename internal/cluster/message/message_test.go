package message

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/cluster/bus"
	"aiperfd/internal/cluster/sealed"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/report"
	"aiperfd/internal/engine/series"
	"aiperfd/internal/run"
)

const (
	testRun = "01890a5d-ac96-774b-bcce-b302099a8057"
	testID  = "66687aadf862bd776c8fc18b8e9f8e20" // of a key of zeros
)

// joining returns a message of a worker that joins, with a change.
func joining(change func(j *Join)) Message {
	j := &Join{
		ID: testID, Name: "eu-1", Version: "1.2", Labels: map[string]string{"region": "eu"}, Cores: 4, Memory: 1 << 33,
		Key: make([]byte, sealed.PublicSize), Proof: sealed.Prove("token", nil, "eu-1", time.Unix(1_800_000_000, 0)),
	}
	change(j)
	return j
}

// messages returns one of each kind, with all of its fields.
func messages() []Message {
	file := File{Name: "workers/a.jsonl", Size: 1 << 40, SHA256: make([]byte, 32)}
	return []Message{
		joining(func(*Join) {}),
		&Answer{Error: "no", Again: true},
		&Probe{},
		&Clock{Arrived: time.Second, Answered: 2 * time.Second},
		&Sealed{Run: testRun, Box: []byte("\x00\n")},
		&Prepare{
			Run: testRun, Document: []byte(`{"benchmark":{}}`), Seed: -1, Epoch: time.Hour, EpochWall: time.Unix(1, 0).UTC(),
			Weights: []float64{1, 0.5}, Index: 1, LostAfter: 10 * time.Second,
		},
		&Ready{Run: testRun, Phase: 2, After: 100},
		&Start{Wait: true, Error: "no", At: time.Second, First: 100},
		&Beat{
			Sequence: 5, Offset: -time.Second, ClockBound: time.Millisecond, RTT: time.Millisecond, Draining: true, Run: testRun,
			Status: "running", Phases: Phases{{Stats: bench.PhaseStats{Index: 1, Name: "profiling", Sent: 10}, Live: []byte("{}")}},
			Seconds: Seconds{{Number: 3, Window: series.Window{At: time.Second, Data: []byte{255, 1, 0}}}},
			Done: &Done{
				State: bench.StateFailed, Reason: "no", Code: run.NoSuccess, Files: Files{file},
				Ending: &report.Ending{Warnings: []bench.Warning{{Code: "a", Detail: "b"}}, Method: "server"},
			},
		},
		&Ack{Unknown: true, Cancel: &run.CancelRequest{Force: true, Reason: "no"}, Lost: true},
		&Range{Run: testRun, Name: file.Name, Offset: 1 << 40, Size: MaxChunk},
		&Chunk{Data: []byte("\n\x00data")},
		&Release{Run: testRun},
		&Refusal{Problem: "no"},
	}
}

func empty(m Message) Message { return reflect.New(reflect.TypeOf(m).Elem()).Interface().(Message) }

// What is sent arrives, and as nothing else.
func TestMessages(t *testing.T) {
	for _, m := range messages() {
		payload, err := Encode(m)
		if err != nil {
			t.Errorf("encode %#v: %v", m, err)
			continue
		}
		got := empty(m)
		if err := Decode(payload, got); err != nil {
			t.Errorf("decode %#v: %v", m, err)
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Errorf("%T (-sent +received):\n%s", m, diff)
		}
		for _, other := range messages() {
			if name := other.kind().name; name != m.kind().name {
				err := Decode(payload, empty(other))
				refused := new(Refusal)
				if want := fmt.Sprintf("kind %q: %s is expected", m.kind().name, name); !errors.As(err, &refused) &&
					(err == nil || !strings.Contains(err.Error(), want)) {
					t.Errorf("decode %T as %T: %v", m, other, err)
				}
			}
		}
		for n := range payload {
			cut := empty(m)
			if err := Decode(payload[:n], cut); err == nil {
				if b, ok := m.(bodied); !ok || !bytes.HasPrefix(*b.body(), *cut.(bodied).body()) {
					t.Errorf("%T cut to %d bytes is another message", m, n)
				}
			}
		}
	}
}

// A refusal is the error of who reads an answer.
func TestRefusal(t *testing.T) {
	var sent []byte
	m := bus.NewMessage("subject", nil, func(payload []byte) error {
		sent = payload
		return nil
	})
	Refuse(m, errors.New(strings.Repeat("é", 2*maxText)))
	refused := new(Refusal)
	if err := Decode(sent, new(Ack)); !errors.As(err, &refused) || len(refused.Problem) != maxText || !strings.HasPrefix(refused.Problem, "éé") {
		t.Errorf("%v", err)
	}
	Reply(m, &Answer{Error: strings.Repeat("x", 1<<20)})
	if err := Decode(sent, new(Answer)); !errors.As(err, &refused) || !strings.Contains(refused.Problem, "at most 65536 are accepted") {
		t.Errorf("an answer that is too large: %v", err)
	}
	Reply(m, &Answer{Again: true})
	if err := Decode(sent, new(Answer)); err != nil {
		t.Error(err)
	}
}

// What breaks a rule is not sent, and the error names the field.
func TestRules(t *testing.T) {
	long := strings.Repeat("x", maxText+1)
	prepare := func(change func(p *Prepare)) Message {
		p := &Prepare{Run: testRun, Weights: []float64{1}, LostAfter: time.Second}
		change(p)
		return p
	}
	done := func(f File) Message {
		return &Beat{Sequence: 1, Done: &Done{State: bench.StateCompleted, Files: Files{f}}}
	}
	sum := make([]byte, 32)
	tests := []struct {
		name string
		m    Message
		want string // a part of the error
	}{
		{"a name with a slash", joining(func(j *Join) { j.Name = "a/b" }), "join: name: must be"},
		{"a name with dots first", joining(func(j *Join) { j.Name = ".." }), "join: name: must be"},
		{"an id with a wildcard", joining(func(j *Join) { j.ID = "0123456789abcde*" }), "join: id: must be"},
		{"another's id", joining(func(j *Join) { j.ID = "0123456789abcdef0123456789abcdef" }), "join: id: must be that of the key"},
		{"a short key", joining(func(j *Join) { j.Key = j.Key[1:] }), "join: key: must be 32 bytes"},
		{"no proof", joining(func(j *Join) { j.Proof = sealed.Proof{} }), "join: proof: must be"},
		{"no processors", joining(func(j *Join) { j.Cores = 0 }), "join: cores: must be"},
		{"a long version", joining(func(j *Join) { j.Version = long }), "join: version: must be"},
		{"a label with a long value", joining(func(j *Join) { j.Labels["a"] = long }), "join: labels: must be"},
		{"two fields", joining(func(j *Join) { j.Cores, j.Memory = 0, -1 }), "cores: must be from 1 to 65536; memory_bytes: must be"},
		{"time backwards", &Clock{Arrived: 2, Answered: 1}, "clock: arrived and answered: must be"},
		{"no weights", prepare(func(p *Prepare) { p.Weights = nil }), "prepare: weights: must be"},
		{"all weights 0", prepare(func(p *Prepare) { p.Weights[0] = 0 }), "prepare: weights: must be"},
		{"a negative weight", prepare(func(p *Prepare) { p.Weights = []float64{2, -1} }), "prepare: weights: must be"},
		{"weights without a sum", prepare(func(p *Prepare) { p.Weights = []float64{1e308, 1e308} }), "prepare: weights: must be"},
		{"no such worker", prepare(func(p *Prepare) { p.Index = 1 }), "prepare: index: must be"},
		{"never lost", prepare(func(p *Prepare) { p.LostAfter = 0 }), "prepare: lost_after: must be"},
		{"a run of another form", &Ready{Run: "a/b"}, "ready: run: must be"},
		{"a negative phase", &Ready{Run: testRun, Phase: -1}, "ready: phase: must be"},
		{"a start in the past", &Start{At: -1}, "start: at and first: must be"},
		{"no number", &Beat{}, "beat: sequence: must be"},
		{"an answer that takes years", &Beat{Sequence: 1, RTT: 1 << 62}, "beat: rtt: must be from 0 to 1m0s"},
		{"a phase that no run has", &Beat{Sequence: 1, Phases: Phases{{Stats: bench.PhaseStats{Index: MaxPhases}}}}, "beat: phase: must be"},
		{"a state that is none", &Beat{Sequence: 1, Done: &Done{State: bench.StateRunning}}, "beat: state: must be"},
		{"too many phases", &Beat{Sequence: 1, Phases: make(Phases, MaxPhases+1)}, "beat: phases: must be"},
		{"too many files", &Beat{Sequence: 1, Done: &Done{State: bench.StateFailed, Files: make(Files, MaxFiles+1)}}, "files: must be"},
		{"a path upwards", done(File{"../a", 1, sum}), "beat: name of a file: must be"},
		{"a path upwards later", done(File{"a/../../b", 1, sum}), "beat: name of a file: must be"},
		{"an absolute path", done(File{"/a", 1, sum}), "beat: name of a file: must be"},
		{"the folder", done(File{".", 1, sum}), "beat: name of a file: must be"},
		{"a path of another system", done(File{`a\..\b`, 1, sum}), "beat: name of a file: must be"},
		{"a line", done(File{"a\nb", 1, sum}), "beat: name of a file: must be"},
		{"a negative size", done(File{"a", -1, sum}), "beat: size of a file: must be"},
		{"no digest", done(File{"a", 1, nil}), "beat: sha256 of a file: must be"},
		{"a long range", &Range{Run: testRun, Name: "a", Size: MaxChunk + 1}, "file: size: must be"},
		{"a long chunk", &Chunk{Data: make([]byte, MaxChunk+1)}, "chunk: data: must be"},
		{"a large beat", &Beat{Sequence: 1, Status: strings.Repeat("x", 1<<20)}, "at most 786432 are accepted"},
	}
	for _, tt := range tests {
		if _, err := Encode(tt.m); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// What nobody knows is refused by its name.
func TestDecodeStrict(t *testing.T) {
	whole := func(head string) string { return fmt.Sprintf("1 release %d\n%s", len(head), head) }
	valid := whole(`{"run":"a"}`)
	if err := Decode([]byte(valid), new(Release)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, payload, want string }{
		{"nothing", "", "does not begin with a version"},
		{"no line", strings.Repeat("1", 100), "does not begin with a version"},
		{"an object alone", `{"run":"a"}`, "does not begin with a version"},
		{"another version", "2" + valid[1:], `version "2": this program speaks version 1`},
		{"another kind", "1 other 2\n{}", `kind "other": release is expected`},
		{"a size that is none", "1 release x\n{}", `size "x": what follows has 2 bytes`},
		{"a negative size", "1 release -1\n{}", `size "-1"`},
		{"a size beyond the end", "1 release 3\n{}", `size "3"`},
		{"more than its size", valid + "x", "1 bytes follow its end"},
		{"a field nobody knows", whole(`{"run":"a","extra":1}`), `unknown field "extra"`},
		{"a value of another type", whole(`{"run":1}`), "run"},
		{"two objects", whole(`{"run":"a"}{}`), "goes on after its end"},
		{"null", whole(`null`), "not an object"},
		{"a list", whole(`[]`), "not an object"},
		{"deep", whole(`{"run":` + strings.Repeat("[", 4000)), "unexpected EOF"},
		{"a broken rule", whole(`{"run":""}`), "run: must be"},
	} {
		if err := Decode([]byte(tt.payload), new(Release)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	for _, tt := range []struct{ head, want string }{
		{`{"sequence":1,"phases":[{"stats":{"Index":0,"More":1}}]}`, `unknown field "More"`},
		{`{"sequence":1,"done":{"state":"failed","files":[{"path":"x"}]}}`, `unknown field "path"`},
		{`{"sequence":1,"done":{"state":"failed","ending":{"more":{}}}}`, `unknown field "more"`},
		{`{"sequence":1,"phases":{}}`, "phases: must be a list"},
	} {
		payload := fmt.Sprintf("1 beat %d\n%s", len(tt.head), tt.head)
		if err := Decode([]byte(payload), new(Beat)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.head, err, tt.want)
		}
	}
}

// A short message does not become a large one in memory.
func TestDecodeBounded(t *testing.T) {
	for what, head := range map[string]string{
		"phases": `{"sequence":1,"phases":[` + strings.Repeat("{},", 200_000) + `{}]}`,
		"files":  `{"sequence":1,"done":{"files":[` + strings.Repeat("{},", 200_000) + `{}]}}`,
	} {
		payload := fmt.Appendf(nil, "1 beat %d\n%s", len(head), head)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := Decode(payload, new(Beat))
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), what+": at most") {
			t.Errorf("%s: %v", what, err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 8<<20 {
			t.Errorf("%s: %d bytes are allocated for a message of %d", what, got, len(payload))
		}
	}
	large := make([]byte, 5000)
	if err := Decode(large, new(Release)); !errors.Is(err, bus.ErrTooLarge) {
		t.Errorf("a large message: %v", err)
	}
}

// A beat has room for its first seconds, beside the metrics of phases.
func TestFitting(t *testing.T) {
	second := func(size int) Second { return Second{Number: 1, Window: series.Window{Data: make([]byte, size)}} }
	for _, tt := range []struct {
		seconds Seconds
		want    int
	}{
		{nil, 0}, {Seconds{second(MaxSecond)}, 1}, {Seconds{second(MaxSecond - 1), second(1), second(1)}, 2},
		{slices.Repeat(Seconds{second(1)}, MaxSeconds+1), MaxSeconds},
	} {
		got := tt.seconds.Fitting()
		if len(got) != tt.want {
			t.Errorf("%d of %d seconds fit, want %d", len(got), len(tt.seconds), tt.want)
		}
		phases := Phases{{Live: make([]byte, maxLive)}}
		if _, err := Encode(&Beat{Sequence: 1, Phases: phases, Seconds: got}); err != nil {
			t.Errorf("a beat with %d seconds: %v", len(got), err)
		}
	}
}

// The metrics of the last phases stay if there are too many.
func TestBound(t *testing.T) {
	p := Phases{{Live: make([]byte, maxLive)}, {Live: make([]byte, 1)}, {Live: make([]byte, maxLive-1)}}
	p.Bound()
	if p[0].Live != nil || len(p[1].Live) != 1 || len(p[2].Live) != maxLive-1 {
		t.Errorf("%d, %d, %d bytes are left", len(p[0].Live), len(p[1].Live), len(p[2].Live))
	}
}

// The largest state of a worker can be sent.
func TestLargestBeat(t *testing.T) {
	b := &Beat{Sequence: 1<<63 - 1, Run: testRun, Done: &Done{State: bench.StateCompleted, Ending: new(report.Ending)}}
	for i := range MaxPhases {
		b.Phases = append(b.Phases, Phase{
			Stats: bench.PhaseStats{Index: i, Name: strings.Repeat("n", 64), Sent: 1 << 62, SentEnd: 1 << 62}, Live: make([]byte, 30<<10),
		})
	}
	b.Phases.Bound()
	for range MaxFiles {
		b.Done.Files = append(b.Done.Files, File{strings.Repeat("n", 100), 1 << 50, make([]byte, 32)})
	}
	if data, err := Encode(b); err != nil {
		t.Error(err)
	} else if err := Decode(data, new(Beat)); err != nil {
		t.Error(err)
	}
}

// FuzzDecode: whatever comes, it is refused or is a message that can be sent again.
func FuzzDecode(f *testing.F) {
	for _, m := range messages() {
		payload, err := Encode(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(payload)
	}
	f.Add([]byte("2 beat 2\n{}"))
	f.Add([]byte("1 beat 99999999999999999999\n{}"))
	f.Add([]byte("1 beat 41\n{\"sequence\":1,\"phases\":[{},{},{},{},{}]}"))
	f.Add([]byte("1 chunk 2\n{}\n\n"))
	f.Fuzz(func(t *testing.T, payload []byte) {
		for _, m := range messages() {
			first := empty(m)
			if Decode(payload, first) != nil {
				continue
			}
			again, err := Encode(first)
			if errors.Is(err, bus.ErrTooLarge) {
				continue // what is not UTF-8 becomes longer
			}
			second := empty(m)
			if err == nil {
				err = Decode(again, second)
			}
			if err != nil {
				t.Fatalf("%T: %v", m, err)
			}
			if last, err := Encode(second); err != nil || !bytes.Equal(last, again) {
				t.Errorf("%T: %q, then %q, %v", m, again, last, err)
			}
		}
	})
}
