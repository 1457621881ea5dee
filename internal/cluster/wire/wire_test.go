package wire

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/cluster/bus"
	"aiperfd/internal/cluster/clock"
	"aiperfd/internal/cluster/sealed"
)

const (
	run      = "0123456789abcdef0123456789abcdef"
	instance = "0123456789abcdef"
)

// messages returns one valid message of each kind with a head.
func messages() []Message {
	document := []byte(`{"benchmark": {}}`)
	key := bytes.Repeat([]byte{7}, sealed.PublicSize)
	file := File{Name: "data/profile_export.jsonl", Size: 10, Digest: DigestOf(nil)}
	return []Message{
		&Join{
			Name: "eu-1", Instance: sealed.Instance(key), Build: Build{"v1", "abc"}, Labels: map[string]string{"region": "eu"},
			CPUs: 1.5, Memory: 1 << 30, Ports: 28232, Streams: 1000, Key: key,
			Proof: sealed.Prove("aiperfd_TOKEN", key, "eu-1", time.Unix(1_800_000_000, 0)),
		},
		&Join{Name: "eu-1", Instance: instance, CPUs: 1},
		&Welcome{Heartbeat: time.Second, LostAfter: 10 * time.Second, Epoch: 3},
		&Welcome{Refusal: RefusedName, Detail: "a worker eu-1 is connected"},
		&Prepare{
			Run: run, Digest: DigestOf(document), Document: document, Lanes: 1, Worker: 1, Weights: []float64{1, 0.5},
			Files: []File{file}, Secrets: []byte("sealed"),
		},
		&Prepare{Run: run, Digest: DigestOf(document), Weights: []float64{1}},
		&Ready{Run: run, Plan: DigestOf(document), Schedule: DigestOf(nil), ClockBound: time.Millisecond},
		&Arm{Run: run, Phase: 1, Start: time.Hour, Base: 100},
		&Confirm{Run: run, Phase: 1, Problem: "no"},
		&Stop{Run: run, Cut: true, Reason: "cancelled"},
		&Goodbye{Reason: "drained"},
		&Report{Run: run, Files: []File{file}, Final: []byte("sets")},
		&Range{Run: run, Name: file.Name, Offset: 1 << 40, Length: MaxRange},
		&Part{Offset: 1 << 40, Digest: DigestOf([]byte("data")), Data: []byte("data")},
	}
}

func empty(m Message) Message { return reflect.New(reflect.TypeOf(m).Elem()).Interface().(Message) }

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
		if diff := cmp.Diff(m, got, cmp.Comparer(bytes.Equal)); diff != "" {
			t.Errorf("%T (-sent +received):\n%s", m, diff)
		}
		for _, other := range messages() {
			if other.kind() != m.kind() {
				if err := Decode(payload, empty(other)); !errors.Is(err, ErrMalformed) {
					t.Errorf("decode %T as %T: %v", m, other, err)
				}
			}
		}
		for n := range payload {
			cut := empty(m)
			if err := Decode(payload[:n], cut); err == nil && !bytes.HasPrefix(*body(m), *body(cut)) {
				t.Errorf("%T cut to %d bytes is another message", m, n)
			}
		}
	}
}

// body returns the body of a message; one without has an empty one.
func body(m Message) *[]byte {
	if b := m.content(); b != nil {
		return b
	}
	return &[]byte{}
}

// What breaks a rule is not sent, and is refused if it comes.
func TestRules(t *testing.T) {
	long := strings.Repeat("x", maxText+1)
	tests := []struct {
		name string
		m    Message
		want string // a part of the error
	}{
		{"a name with a slash", &Join{Name: "a/b", Instance: instance, CPUs: 1}, "name must be"},
		{"an instance with a dot", &Join{Name: "a", Instance: "0123456789abcde.", CPUs: 1}, "instance must be"},
		{"no processors", &Join{Name: "a", Instance: instance}, "cpus must be"},
		{"a label with a long value", &Join{Name: "a", Instance: instance, CPUs: 1, Labels: map[string]string{"a": long}}, "labels must be"},
		{"another's instance", &Join{Name: "a", Instance: instance, CPUs: 1, Key: make([]byte, 32)}, "instance must be that of the key"},
		{"a short key", &Join{Name: "a", Instance: instance, CPUs: 1, Key: []byte("k")}, "key must be"},
		{"a member without a heartbeat", &Welcome{}, "heartbeat must be"},
		{"all weights 0", &Prepare{Run: run, Digest: DigestOf(nil), Weights: []float64{0}}, "weights must be"},
		{"a negative weight", &Prepare{Run: run, Digest: DigestOf(nil), Weights: []float64{2, -1}}, "weights must be"},
		{"no such worker", &Prepare{Run: run, Digest: DigestOf(nil), Weights: []float64{1}, Worker: 1}, "worker must be"},
		{"another document", &Prepare{Run: run, Digest: DigestOf(nil), Document: []byte("x"), Weights: []float64{1}}, "document must be"},
		{"no digest", &Prepare{Run: run, Weights: []float64{1}}, "sha256 must be"},
		{"a run of another form", &Ready{Run: "x"}, "run must be"},
		{"a long problem", &Ready{Run: run, Problem: long}, "problem must be"},
		{"a negative phase", &Arm{Run: run, Phase: -1}, "phase must be"},
		{"a start in the past", &Arm{Run: run, Start: -1}, "start_ns and base must be"},
		{"a path upwards", &Range{Run: run, Name: "../a", Length: 1}, "name of a file must be"},
		{"an absolute path", &Range{Run: run, Name: "/a", Length: 1}, "name of a file must be"},
		{"a hidden file", &Range{Run: run, Name: "a/.b", Length: 1}, "name of a file must be"},
		{"a long range", &Range{Run: run, Name: "a", Length: MaxRange + 1}, "length must be"},
		{"damaged data", &Part{Data: []byte("x")}, "data must be"},
	}
	for _, tt := range tests {
		if _, err := Encode(tt.m); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestDecodeStrict(t *testing.T) {
	head := func(text string) string {
		return fmt.Sprintf("%c%c%c%s", Version, kindStop, len(text), text)
	}
	valid := head(`{"run":"` + run + `","cut":false,"reason":""}`)
	if err := Decode([]byte(valid), &Stop{}); err != nil {
		t.Fatal(err)
	}
	for name, payload := range map[string]string{
		"nothing":                  "",
		"one byte":                 "\x01",
		"a field nobody knows":     head(`{"run":"` + run + `","x":1}`),
		"a value of another type":  head(`{"run":1}`),
		"two values":               head(`{"run":"` + run + `"}{}`),
		"null":                     head(`null`),
		"a head of half its size":  valid[:len(valid)-1],
		"a body that has no place": valid + "x",
		"a size without an end":    "\x01\x07\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
	} {
		if err := Decode([]byte(payload), &Stop{}); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v, want %v", name, err, ErrMalformed)
		}
	}
	err := Decode([]byte("\x02"+valid[1:]), &Stop{})
	if want := VersionError(2); !errors.Is(err, want) {
		t.Errorf("another version: %v, want %v", err, want)
	}
	large := append([]byte(valid), make([]byte, bus.MaxPayload)...)
	if err := Decode(large, &Stop{}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a large message: %v", err)
	}
}

func snapshot() Snapshot {
	return Snapshot{
		Run: run, Sequence: 1 << 40, At: -time.Second, Activity: Draining, Phase: 3,
		Counters: Counters{1000, 900, 800, 20, 30, 50, 1 << 50},
		Probes:   []clock.Probe{{Sent: 1, Arrived: -2, Answered: 3, Returned: 1 << 60}, {Sent: 5}},
		Whole:    true, Sketch: []byte{1, 2, 3},
	}
}

func TestSnapshot(t *testing.T) {
	least := Snapshot{Sequence: 1, Sketch: []byte{}}
	for _, want := range []Snapshot{snapshot(), least} {
		payload, err := want.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeSnapshot(payload)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-sent +received):\n%s", err, diff)
		}
		for n := range payload {
			if s, err := DecodeSnapshot(payload[:n]); err == nil {
				t.Errorf("cut to %d bytes: %+v, want an error", n, s)
			}
		}
		if _, err := DecodeSnapshot(append(payload, 0)); !errors.Is(err, ErrMalformed) {
			t.Errorf("a byte more: %v", err)
		}
	}
	if payload, _ := least.Encode(); len(payload) > 20 {
		t.Errorf("a snapshot of nothing has %d bytes", len(payload))
	}
	for name, change := range map[string]func(*Snapshot){
		"no number":          func(s *Snapshot) { s.Sequence = 0 },
		"a run":              func(s *Snapshot) { s.Run = "x" },
		"an activity":        func(s *Snapshot) { s.Activity = activities },
		"a negative count":   func(s *Snapshot) { s.Counters.Failed = -1 },
		"a negative phase":   func(s *Snapshot) { s.Phase = -1 },
		"too many probes":    func(s *Snapshot) { s.Probes = make([]clock.Probe, MaxProbes+1) },
		"too large a sketch": func(s *Snapshot) { s.Sketch = make([]byte, MaxSketch+1) },
	} {
		s := snapshot()
		change(&s)
		if _, err := s.Encode(); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v, want %v", name, err, ErrMalformed)
		}
	}
}

// The largest snapshot is within its limit.
func TestLargestSnapshot(t *testing.T) {
	s := Snapshot{Run: run, Sequence: 1<<64 - 1, At: -1 << 63, Activity: activities - 1, Phase: 999, Sketch: make([]byte, MaxSketch)}
	for _, n := range s.Counters.fields() {
		*n = 1<<63 - 1
	}
	for range MaxProbes {
		s.Probes = append(s.Probes, clock.Probe{Sent: -1 << 63, Arrived: -1 << 63, Answered: -1 << 63, Returned: -1 << 63})
	}
	payload, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeSnapshot(payload); err != nil {
		t.Error(err)
	}
}

func TestClockMessages(t *testing.T) {
	q, err := DecodeQuestion(Question{-5}.Encode())
	if err != nil || q.Sent != -5 {
		t.Errorf("question: %v, %v", q, err)
	}
	want := Answer{Sent: -5, Arrived: 1 << 62, Answered: 1<<62 + 1}
	a, err := DecodeAnswer(want.Encode())
	if err != nil || a != want {
		t.Errorf("answer: %v, %v, want %v", a, err, want)
	}
	if p := a.Probe(7); p != (clock.Probe{Sent: -5, Arrived: 1 << 62, Answered: 1<<62 + 1, Returned: 7}) {
		t.Errorf("probe: %v", p)
	}
	for _, ack := range []Ack{{0, false}, {1 << 63, true}} {
		if got, err := DecodeAck(ack.Encode()); err != nil || got != ack {
			t.Errorf("acknowledgement: %v, %v, want %v", got, err, ack)
		}
	}
	if _, err := DecodeAck([]byte{Version, byte(kindAck), 2, 0}); !errors.Is(err, ErrMalformed) {
		t.Errorf("neither known nor unknown: %v", err)
	}
	if _, err := DecodeAnswer(Question{1}.Encode()); !errors.Is(err, ErrMalformed) {
		t.Errorf("a question as an answer: %v", err)
	}
}

// FuzzSnapshot: whatever comes, it is refused or is a snapshot that can be sent again.
func FuzzSnapshot(f *testing.F) {
	s := snapshot()
	payload, _ := s.Encode()
	f.Add(payload)
	f.Add([]byte{Version, byte(kindSnapshot), 0, 1})
	f.Fuzz(func(t *testing.T, payload []byte) {
		s, err := DecodeSnapshot(payload)
		if err != nil {
			return
		}
		again, err := s.Encode()
		if err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		got, err := DecodeSnapshot(again)
		if diff := cmp.Diff(s, got); diff != "" || err != nil {
			t.Errorf("%v (-first +again):\n%s", err, diff)
		}
	})
}

// FuzzMessages does the same with the messages that have a head, and with the small ones.
func FuzzMessages(f *testing.F) {
	for _, m := range messages() {
		payload, _ := Encode(m)
		f.Add(payload)
	}
	f.Add(Question{1}.Encode())
	f.Add(Answer{1, 2, 3}.Encode())
	f.Add(Ack{1, true}.Encode())
	f.Fuzz(func(t *testing.T, payload []byte) {
		for _, m := range messages() {
			got := empty(m)
			if Decode(payload, got) != nil {
				continue
			}
			if _, err := Encode(got); err != nil && !errors.Is(err, ErrTooLarge) {
				t.Errorf("%#v: %v", got, err)
			}
		}
		if q, err := DecodeQuestion(payload); err == nil {
			if again, err := DecodeQuestion(q.Encode()); err != nil || again != q {
				t.Errorf("%v, %v, want %v", again, err, q)
			}
		}
		if a, err := DecodeAck(payload); err == nil {
			if again, err := DecodeAck(a.Encode()); err != nil || again != a {
				t.Errorf("%v, %v, want %v", again, err, a)
			}
		}
		if a, err := DecodeAnswer(payload); err == nil {
			if again, err := DecodeAnswer(a.Encode()); err != nil || again != a {
				t.Errorf("%v, %v, want %v", again, err, a)
			}
		}
	})
}
