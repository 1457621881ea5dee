package engine_test

import (
	"testing"
	"testing/synctest"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/mock"
	"aiperfd/internal/mock/options"
)

// TestRunAgainstAccelerator: a run against a server that batches ends without
// errors, its requests have shared steps, and prompts that begin alike were found
// in the cache.
func TestRunAgainstAccelerator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		preset, err := options.Preset("tiny")
		if err != nil {
			t.Fatal(err)
		}
		b := newBed(t, mock.Options{Accelerator: preset}, nil)
		r := b.run(`
benchmark:
  model: m
  endpoint: {url: http://mock.test, type: chat, streaming: true, useServerTokenCount: true}
  dataset: {type: file, format: single_turn, records: [{text: "the same long question, asked again and again, word by word, so that whole blocks of it can be found in the cache", output_length: 20}]}
  phases:
    - {name: profiling, kind: profiling, type: concurrency, concurrency: 4, requests: 40}
`)
		if r.State != bench.StateCompleted || r.Summary.Requests != 40 || r.Summary.Errors != 0 {
			t.Fatalf("run = %s with %d requests and %d errors: %v", r.State, r.Summary.Requests, r.Summary.Errors, r.Error)
		}
		shared, cached := 0, 0
		synctest.Wait() // a request ends a moment after its answer
		for _, truth := range b.server.Truth() {
			if truth.Batch.MeanBatch > 1.5 {
				shared++
			}
			if truth.Batch.CachedTokens > 0 {
				cached++
			}
		}
		if shared < 30 || cached < 30 {
			t.Errorf("of 40 requests %d shared steps and %d found their prompt cached, want at least 30", shared, cached)
		}
		b.stop()
	})
}
