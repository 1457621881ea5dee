package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/certify"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// certificate reads the certificate of a summary file; nil = it has none.
func (b *bed) certificate(id string) *verdict.Certificate {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.store.Dir(id), export.NamesFor("").JSON))
	if err != nil {
		b.t.Fatal(err)
	}
	var s struct {
		Client struct{ Certificate *verdict.Certificate }
	}
	if err := json.Unmarshal(data, &s); err != nil {
		b.t.Fatal(err)
	}
	return s.Client.Certificate
}

// TestCertificate: a run that requests a certificate has one for its load, made
// outside its phases, in the file and in the run. In virtual time the error is 0.
func TestCertificate(t *testing.T) {
	const closed, open = "type: concurrency, concurrency: 12, requests: 30", "type: poisson, rate: 200, requests: 30"
	tests := []struct {
		name, phase, certify string
		want                 string
		streams              int
		rate                 float64
		chunk                int // bytes of an event; 0 = not looked at
	}{
		{"before", closed, "true", "before", 12, 0, 256},
		{"after, with events as the run had them", closed, "after", "after", 12, 0, 0},
		{"open loop", open, "before", "before", 0, 200, 256},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, timing(t, 200*time.Millisecond, 20*time.Millisecond), nil)
				r := b.run(document(tt.phase, fileData, "  client: {certify: "+tt.certify+"}"))
				if r.State != bench.StateCompleted {
					t.Fatalf("run %s: %s", r.State, r.StateReason)
				}
				c := b.certificate(r.ID)
				if c == nil {
					t.Fatal("no certificate in the file")
				}
				if diff := cmp.Diff(c, r.Client.Certificate); diff != "" {
					t.Errorf("file and run differ (-file +run):\n%s", diff)
				}
				if c.When != tt.want || c.TTFTAdded != 0 || c.InterChunkAdded != 0 || c.Requests < 400 {
					t.Errorf("certificate %q of %d requests adds %v and %v ms, want %q without errors", c.When, c.Requests, c.TTFTAdded, c.InterChunkAdded, tt.want)
				}
				if (c.Concurrency == nil || *c.Concurrency != tt.streams) && tt.streams > 0 || (c.Rate == nil || *c.Rate != tt.rate) && tt.rate > 0 {
					t.Errorf("load %v streams, %v/s, want %d, %v", c.Concurrency, c.Rate, tt.streams, tt.rate)
				}
				if tt.chunk > 0 && c.ChunkBytes != tt.chunk || tt.chunk == 0 && c.ChunkBytes == 256 {
					t.Errorf("events of %d bytes, want %d (0 = those of the run)", c.ChunkBytes, tt.chunk)
				}
				if c.RequestBytes < 100 {
					t.Errorf("requests of %d bytes are smaller than those of the run", c.RequestBytes)
				}
				first, last := b.records(r.ID)[0].Metadata.StartNs, b.records(r.ID)[29].Metadata.EndNs
				at := c.At.UnixNano()
				if tt.want == "before" && at+int64(certify.DefaultTime) > first || tt.want == "after" && at < last {
					t.Errorf("made at %d, requests from %d to %d", at, first, last)
				}
				console, err := os.ReadFile(filepath.Join(b.store.Dir(r.ID), export.NamesFor("").Console))
				if err != nil || !strings.Contains(string(console), "this client added at most 0 ms to TTFT p99") {
					t.Errorf("console report without certificate (error %v):\n%s", err, console)
				}
			})
		})
	}
	t.Run("not asked for", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t, timing(t, 200*time.Millisecond, 20*time.Millisecond), nil)
			r := b.run(document(closed, fileData))
			if c := b.certificate(r.ID); c != nil || r.Client.Certificate != nil {
				t.Errorf("certificate %+v, want none", c)
			}
		})
	})
}

// A cancel while the certificate is made ends the run at once.
func TestCancelOfACertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 200*time.Millisecond, 20*time.Millisecond), nil)
		began := time.Now()
		id := b.submit(document("type: concurrency, concurrency: 2, requests: 5", fileData, "  client: {certify: before}"))
		time.Sleep(time.Second)
		if _, _, err := b.engine.Cancel(t.Context(), id, run.CancelRequest{}); err != nil {
			t.Fatal(err)
		}
		r := b.wait(id)
		if took := time.Since(began); r.State != bench.StateCancelled || took != time.Second {
			t.Errorf("run %s after %s, want cancelled after 1s", r.State, took)
		}
		for _, w := range r.Warnings {
			if w.Code == "not-certified" {
				t.Errorf("a cancel caused a warning: %s", w.Detail)
			}
		}
	})
}
