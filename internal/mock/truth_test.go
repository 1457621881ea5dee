package mock

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/mock/api"
)

// TestTruthLine checks that the line equals that of package json.
func TestTruthLine(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		a := rng.Int64N(1 << 62)
		x := api.Truth{
			Seq: rng.Int64(), Path: "/v1/chat/completions", RequestID: "a\"\\\x01é\xff<&>\u2028", CorrelationID: "c", Model: "m/x", Stream: rng.IntN(2) == 0,
			Status: 200, N: 1, MaxTokens: 2, PromptTokens: 3, OutputTokens: rng.IntN(3), ReasoningTokens: 4, FinishReason: "stop",
			AcceptNs: a, BodyReadNs: a + 1, HeadersNs: a + 2, FirstWriteNs: a + rng.Int64N(9), FirstWriteEndNs: 1,
			LastWriteNs: a + rng.Int64N(1<<uint(rng.IntN(60))), LastWriteEndNs: 2, EndNs: 3, Outcome: api.OutcomeOK,
		}
		for range rng.IntN(3) {
			x.ChunkNs = append(x.ChunkNs, rng.Int64())
			x.ChunkTokens = append(x.ChunkTokens, rng.IntN(5))
		}
		if rng.IntN(2) == 0 {
			x.Batch = &api.TruthBatch{
				QueuedNs: rng.Int64(), AdmittedNs: rng.Int64(), QueueMs: api.Millis(rng.Int64N(1 << 40)),
				CachedTokens: 1, Preemptions: 2, MeanBatch: 1 + float64(rng.IntN(1000))/7,
			}
		}
		x.Derive()
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(&x); err != nil {
			t.Fatal(err)
		}
		// Package json marks U+2028 and U+2029 in any case; with it HTML too.
		got := appendTruth(nil, &x)
		var back api.Truth
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		var same api.Truth
		if err := json.Unmarshal(want.Bytes(), &same); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(same, back); diff != "" {
			t.Fatalf("read back (-want +got):\n%s", diff)
		}
		plain := func(b []byte) string {
			return regexp.MustCompile(`"request_id":"[^,]*",`).ReplaceAllString(string(b), "")
		}
		if diff := cmp.Diff(plain(want.Bytes()), plain(got)); diff != "" {
			t.Fatalf("line (-want +got):\n%s", diff)
		}
	}
}
