package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"aiperfd/internal/mock"
	simulated "aiperfd/internal/mock/options"
)

// recordedResponses are the files of recorded responses, from the root of the repository.
const recordedResponses = "internal/engine/endpoint/testdata/streams*.json"

// wrong begins the names of what must not happen.
const wrong = "WRONG: "

// startDialects starts the absurd server and the clients that submit runs against it.
func startDialects(ctx context.Context, all *sync.WaitGroup, o options, ln net.Listener, c *counts) error {
	paths, err := filepath.Glob(recordedResponses)
	if err != nil || len(paths) == 0 {
		return fmt.Errorf("no files %s: run this from the root of the repository", recordedResponses)
	}
	var recorded []mock.Case
	for _, path := range paths {
		list, err := simulated.LoadCases(path)
		if err != nil {
			return err
		}
		recorded = append(recorded, list...)
	}
	var types []string
	for i := range recorded {
		types = append(types, recorded[i].Type)
	}
	slices.Sort(types)
	types = slices.Compact(types)
	web := &http.Server{Handler: mock.NewAbsurd(o.seed, recorded), ReadHeaderTimeout: time.Minute}
	all.Go(func() { _ = web.Serve(ln) }) // it ends with the error that it was closed
	context.AfterFunc(ctx, func() { _ = web.Close() })
	for i := range o.writes {
		w := &writer{addr: o.addr, http: client(40 * time.Second), counts: c, rand: rand.New(rand.NewPCG(o.seed, uint64(i)))}
		all.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				w.dialect(ctx, types[n%len(types)], "http://"+ln.Addr().String())
			}
		})
	}
	return nil
}

// dialect performs a run of one endpoint type, reads its results and removes it.
func (w *writer) dialect(ctx context.Context, name, target string) {
	seed := uint64(w.rand.Uint32())
	text := mock.AbsurdDocument(target, name, seed%2 == 0, seed)
	status, answer := w.do(ctx, http.MethodPost, "/api/runs", "yaml", []byte(text))
	if status == "422" { // the endpoint type has no streams
		text = mock.AbsurdDocument(target, name, false, seed)
		status, answer = w.do(ctx, http.MethodPost, "/api/runs", "yaml", []byte(text))
	}
	var run struct {
		ID       string
		State    string
		Error    *struct{ Code string }
		Warnings []struct{ Code string }
	}
	w.note(name, "POST /api/runs", status)
	if status != "201" || json.Unmarshal(answer, &run) != nil {
		pause(ctx, w.rand, time.Second)
		return
	}
	path := "/api/runs/" + run.ID
	deadline := time.Now().Add(2 * time.Minute)
	for ctx.Err() == nil && run.State != "completed" && run.State != "failed" {
		pause(ctx, w.rand, time.Second)
		status, answer = w.do(ctx, http.MethodGet, path, "", nil)
		if w.note(name, "GET of a run", status); status == "200" && json.Unmarshal(answer, &run) != nil {
			w.counts.add(wrong + name + ": a run that is not JSON")
			return
		}
		if time.Now().After(deadline) {
			w.counts.add(wrong + name + ": a run that does not end")
			log.Print(name, " ", run.ID, " does not end")
			return
		}
	}
	if run.Error != nil && run.Error.Code != "no-success" {
		w.counts.add(wrong + name + ": " + run.Error.Code)
	}
	for _, warning := range run.Warnings {
		if warning.Code == "processing-crashed" {
			w.counts.add(wrong + name + ": " + warning.Code)
		}
	}
	for _, of := range []string{
		"/results", "/report.md", "/report.html", "/samples", "/distributions", "/timeseries", "/records", "/errors",
	} {
		status, answer := w.do(ctx, http.MethodGet, path+of, "", nil)
		if status == "503" && bytes.Contains(answer, []byte("too-many-streams")) {
			w.counts.add("GET " + of + " busy") // so many reports are being written at the time
			continue
		}
		w.note(name, "GET "+of, status)
	}
	w.do(ctx, http.MethodDelete, path+"?force=true", "", nil)
}

// note counts the status of a response, which must not be a 5xx.
func (w *writer) note(dialect, what, status string) {
	if strings.HasPrefix(status, "5") {
		w.counts.add(wrong + dialect + ": " + what + " " + status)
		return
	}
	w.counts.add(what + " " + status)
}
