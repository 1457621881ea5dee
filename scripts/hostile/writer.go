package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"time"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/tree"
)

// maxBody is the limit of the daemon for a body.
const maxBody = 1 << 20

// writer sends mutated documents, and cancels and deletes the runs that they start.
type writer struct {
	addr    string
	target  string
	rand    *rand.Rand
	mutator *tree.Mutator
	http    *http.Client
	hosts   *regexp.Regexp
	counts  *counts
}

// seeds are documents of features that the templates do not use.
func seeds() []string {
	return []string{
		`{"benchmark":{"model":"m","endpoint":{"url":"http://a:1","type":"template","template":{"body":"{\"text\": {{ text|tojson }}}","responseField":"[0].text"}},"phases":{"requests":3}}}`,
		`{"benchmark":{"model":"m","endpoint":{"url":"http://a:1"},"dataset":{"entries":3,"audio":{"length":{"mean":1},"batchSize":1},"images":{"width":{"mean":64},"height":{"mean":64}},"video":{"duration":1}},"phases":{"requests":3}}}`,
		`{"benchmark":{"model":"m","endpoint":{"url":"http://a:1"},"dataset":{"type":"file","format":"single_turn","records":[{"text":"a"},{"text":"b"}]},"phases":{"type":"poisson","rate":50,"rateSeries":[{"time":0,"qps":1},{"time":1,"qps":5}],"duration":1}}}`,
		`{"sweep":{"type":"grid","parameters":{"phases.profiling.concurrency":[1,2,3],"variables.x":["a","b"]}},"multiRun":{"numRuns":2},"variables":{"x":"y"},"benchmark":{"model":"m{{ x }}","endpoint":{"url":"http://a:1"},"phases":{"requests":2}}}`,
		`{"sweep":{"type":"latin_hypercube","samples":5,"dimensions":[{"path":"concurrency","lo":1,"hi":4,"kind":"int"}]},"benchmark":{"model":"m","endpoint":{"url":"http://a:1"},"phases":{"requests":2}}}`,
		`{"benchmark":{"endpoint":{"url":"http://a:1","streaming":true,"headers":{"A":"b"},"extra":{"k":[1,{"a":null}]}},"dataset":{"prompts":{"isl":{"mean":50,"stddev":5},"osl":{"points":[{"value":3,"weight":1}]}},"prefixPrompts":{"poolSize":2,"length":10},"turns":2},"phases":{"concurrency":2,"requests":9},"artifacts":{"userFiles":[{"path":"a.txt","content":"{{ model }}"}]},"slos":{"request_latency":100}}}`,
	}
}

func newWriter(o options, number uint64, target string, c *counts) (*writer, error) {
	var sources [][]byte
	for _, s := range seeds() {
		sources = append(sources, []byte(s))
	}
	for _, t := range config.Starters() {
		sources = append(sources, []byte(t.Text))
	}
	m, err := tree.NewMutator(o.seed+number*1_000_003, maxBody, sources...)
	if err != nil {
		return nil, err
	}
	return &writer{
		addr: o.addr, target: target, mutator: m, http: client(40 * time.Second), counts: c,
		rand: rand.New(rand.NewPCG(o.seed, number)), hosts: regexp.MustCompile(`https?://[A-Za-z0-9_.:-]+`),
	}, nil
}

// run sends documents until ctx ends: two of three are submitted, the others are checked.
func (w *writer) run(ctx context.Context) {
	for ctx.Err() == nil {
		text, format := w.mutator.Document()
		text = w.hosts.ReplaceAllLiteral(text, []byte(w.target))
		path := "/api/runs"
		if w.rand.IntN(3) == 0 {
			path = "/api/validate"
		}
		limit := 40 * time.Second
		if w.rand.IntN(10) == 0 {
			limit = time.Duration(w.rand.IntN(200)) * time.Millisecond // and leaves
		}
		sent, cancel := context.WithTimeout(ctx, limit)
		status, answer := w.do(sent, http.MethodPost, path, format, text)
		cancel()
		w.counts.add(fmt.Sprintf("POST %s %s", path, status))
		var run struct{ ID string }
		if status != "201" || json.Unmarshal(answer, &run) != nil {
			continue
		}
		w.look(ctx, run.ID)
	}
}

// look lets a run go on for a while, reads it, and removes it.
func (w *writer) look(ctx context.Context, id string) {
	pause(ctx, w.rand, 3*time.Second)
	reads := []string{"", "/config", "/metrics", "/results", "/progress", "/metrics.prom", "/results/list", "/children"}
	for range 3 {
		status, _ := w.do(ctx, http.MethodGet, "/api/runs/"+id+reads[w.rand.IntN(len(reads))], "", nil)
		w.counts.add("GET of a run " + status)
	}
	for _, path := range []string{"/metrics", "/api/runs?limit=100", "/api/queue"} {
		status, _ := w.do(ctx, http.MethodGet, path, "", nil)
		w.counts.add("GET " + path + " " + status)
	}
	if w.rand.IntN(2) == 0 {
		status, _ := w.do(ctx, http.MethodPost, "/api/runs/"+id+"/cancel", tree.JSON, []byte(`{"mode":"force"}`))
		w.counts.add("cancel " + status)
	}
	if w.rand.IntN(4) > 0 {
		status, _ := w.do(ctx, http.MethodDelete, "/api/runs/"+id+"?force=true", "", nil)
		w.counts.add("delete " + status)
	}
}

// do sends a request. It returns the status, or what failed.
func (w *writer) do(ctx context.Context, method, path string, format tree.Format, body []byte) (string, []byte) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+w.addr+path, bytes.NewReader(body))
	if err != nil {
		return "bad request", nil
	}
	if format != "" {
		r.Header.Set("Content-Type", "application/"+string(format))
	}
	answer, err := w.http.Do(r)
	if err != nil {
		return "no answer", nil
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<20))
	if err != nil {
		return "half an answer", nil
	}
	return fmt.Sprint(answer.StatusCode), text
}
