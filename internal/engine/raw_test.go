package engine_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

func TestRawRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 100*time.Millisecond, 10*time.Millisecond), func(next http.Handler) http.Handler { return next })
		r := b.run(document("type: concurrency, concurrency: 1, requests: 1", fileData,
			`  artifacts: {level: raw}`))
		data, err := os.ReadFile(filepath.Join(b.store.Dir(r.ID), "profile_export_raw.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		var line struct {
			Metadata struct {
				Session int64 `json:"session_num"`
			}
			Start     int64             `json:"start_perf_ns"`
			Header    map[string]string `json:"request_headers"`
			Status    int
			Responses []struct {
				PerfNs  int64 `json:"perf_ns"`
				Packets []struct{ Name, Value string }
			}
			Payload struct{ Messages []struct{ Content string } }
		}
		if err := json.Unmarshal(bytes.TrimSpace(data), &line); err != nil {
			t.Fatal(err)
		}
		// role, three tokens, finish, usage, [DONE]
		if n := len(line.Responses); n != 7 || line.Responses[6].Packets[0].Value != "[DONE]" {
			t.Fatalf("%d responses: %s", n, data)
		}
		if got := time.Duration(line.Responses[2].PerfNs - line.Start); got != 110*time.Millisecond {
			t.Errorf("second token after %v, want 110ms", got)
		}
		if line.Payload.Messages[0].Content != "one" || line.Status != 200 || line.Header["Content-Type"] != "application/json" {
			t.Errorf("line = %s", data)
		}
		b.stop()
	})
}
