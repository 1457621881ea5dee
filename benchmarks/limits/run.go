//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/results"
)

// row is one run of one client.
type row struct {
	Scenario string             `json:"scenario"`
	Round    int                `json:"round"` // from 1
	Client   string             `json:"client"`
	M        map[string]float64 `json:"measures"`
}

// The two clients.
const (
	rawClient = "raw"
	ourClient = "aiperfd"
)

// runner runs scenarios.
type runner struct {
	binary string // aiperfd
	raw    string // the raw client
	dir    string // for files that do not matter afterwards
	rounds int
	keep   func(row) error // called with every new row
}

// run starts one server, which the clients measure in turn.
func (r *runner) run(ctx context.Context, sc *scenario) (rows []row, err error) {
	dir, err := os.MkdirTemp(r.dir, sc.name)
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(dir)
	body := filepath.Join(dir, "body.json")
	if err := os.WriteFile(body, requestBody(sc), 0o600); err != nil {
		return nil, fmt.Errorf("write request: %w", err)
	}
	m, err := startMock(r.binary, dir, sc)
	if err != nil {
		return nil, err
	}
	defer func() {
		if stopErr := m.Stop(); err == nil && stopErr != nil {
			err = fmt.Errorf("stop mock: %w", stopErr)
		}
	}()
	rounds := r.rounds
	if sc.rounds > 0 {
		rounds = sc.rounds
	}
	for round := 1; round <= rounds; round++ {
		clients := []string{ourClient}
		if sc.raw {
			clients = []string{rawClient, ourClient}
		}
		for _, client := range clients {
			out := row{Scenario: sc.name, Round: round, Client: client, M: map[string]float64{}}
			if err := r.measure(ctx, m, sc, &out, dir); err != nil {
				return nil, fmt.Errorf("%s, round %d, %s: %w", sc.name, round, client, err)
			}
			// JSON has no NaN; measures without a value are omitted.
			maps.DeleteFunc(out.M, func(_ string, v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
			rows = append(rows, out)
			if err := r.keep(out); err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
}

// measure runs one client once.
func (r *runner) measure(ctx context.Context, m *mockServer, sc *scenario, out *row, dir string) error {
	out.M[loadBefore], out.M[wakeP99] = loadAverage(), wakeLateness()
	before, err := m.cpu()
	if err != nil {
		return err
	}
	var truths []truth
	if out.Client == rawClient {
		truths, err = r.runRaw(ctx, m, sc, out, dir)
	} else {
		truths, err = r.runOurs(ctx, m, sc, out, filepath.Join(dir, strconv.Itoa(out.Round)))
	}
	if err != nil {
		return err
	}
	after, err := m.cpu()
	if err != nil {
		return err
	}
	events := 0
	for i := range truths {
		events += truths[i].events()
	}
	out.M[mockCPUPerEvent] = micros(after-before) / float64(events)
	return nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// charge adds the resources that a client has used for the answers in truths, including
// the first ones, which open its connections.
func (r row) charge(c cost, truths []truth) {
	events := 0
	for i := range truths {
		events += truths[i].events()
	}
	r.M[cpuPerEvent] = micros(c.cpu) / float64(events)
	r.M[cores] = c.cpu.Seconds() / c.elapsed.Seconds()
	r.M[rss] = c.rssMiB
}

// runRaw runs the raw client.
func (r *runner) runRaw(ctx context.Context, m *mockServer, sc *scenario, out *row, dir string) ([]truth, error) {
	args := []string{
		"--port", m.Addr[strings.LastIndexByte(m.Addr, ':')+1:], "--body", filepath.Join(dir, "body.json"),
		"--requests", strconv.Itoa(sc.requests),
	}
	if sc.plain {
		args = append(args, "--plain")
	}
	if sc.rate > 0 {
		args = append(args, "--rate", strconv.Itoa(sc.rate))
	} else {
		args = append(args, "--streams", strconv.Itoa(sc.streams))
	}
	stdout, used, err := execute(ctx, r.raw, args...)
	if err != nil {
		return nil, err
	}
	var result struct {
		Requests int     `json:"requests"`
		Failed   int     `json:"failed"`
		Events   int     `json:"events"`
		Seconds  float64 `json:"seconds"`
		TTFT     stats   `json:"ttft_ms"`
		Lag      stats   `json:"lag_ms"`
	}
	if err := json.Unmarshal(stdout, &result); err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	truths, err := m.readTruths(ctx, sc.requests)
	if err != nil {
		return nil, err
	}
	out.charge(used, truths)
	out.M[failures] = float64(result.Failed)
	out.M[requestRate] = float64(result.Requests) / result.Seconds
	out.M[eventRate] = float64(result.Events) / result.Seconds
	out.M[ttftAvg], out.M[ttftP50], out.M[ttftP99] = result.TTFT.Avg, result.TTFT.P50, result.TTFT.P99
	if sc.rate > 0 {
		out.M[lagP99] = result.Lag.P99
	}
	out.sumUp(truths, sc)
	return truths, nil
}

// stats are the statistics of a quantity that the raw client reports.
type stats struct {
	Avg float64 `json:"avg"`
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// runOurs runs aiperfd.
func (r *runner) runOurs(ctx context.Context, m *mockServer, sc *scenario, out *row, dir string) ([]truth, error) {
	args := []string{
		"profile", "--model", "m", "--tokenizer", "builtin", "--url", "http://" + m.Addr,
		"--isl", "32", "--osl", strconv.Itoa(sc.tokens), "--request-count", strconv.Itoa(sc.requests),
		"--output-artifact-dir", dir, "--ui", "none", "--random-seed", "1", "--num-dataset-entries", "64",
	}
	if sc.warmup > 0 {
		args = append(args, "--warmup-request-count", strconv.Itoa(sc.warmup))
	}
	if !sc.plain {
		args = append(args, "--streaming")
	}
	if sc.streams > 0 {
		args = append(args, "--concurrency", strconv.Itoa(sc.streams))
	}
	if sc.rate > 0 {
		args = append(args, "--request-rate", strconv.Itoa(sc.rate), "--arrival-pattern", "poisson")
	}
	_, used, err := execute(ctx, r.binary, args...)
	if err != nil {
		return nil, err
	}
	truths, err := m.readTruths(ctx, sc.requests+sc.warmup)
	if err != nil {
		return nil, err
	}
	out.charge(used, truths)
	files := results.Open(dir, "")
	if err := readReport(files, out); err != nil {
		return nil, err
	}
	records, err := readRecords(files)
	if err != nil {
		return nil, err
	}
	measured := matched(truths, records)
	if len(measured) != sc.requests {
		return nil, fmt.Errorf("match records with the server's truths: %d of %d", len(measured), sc.requests)
	}
	out.M[failures] = float64(failedOf(measured))
	out.compareEach(measured, records)
	out.sumUp(measured, sc)
	return truths, os.RemoveAll(dir)
}

// failedOf counts incomplete answers.
func failedOf(truths []truth) int {
	n := 0
	for i := range truths {
		if truths[i].Outcome != "ok" {
			n++
		}
	}
	return n
}

// readReport takes the measures of aiperfd's report.
func readReport(files *results.Results, out *row) error {
	summary, err := files.Summary()
	if err != nil {
		return fmt.Errorf("read report: %w", err)
	}
	statistic := func(tag, name string) float64 { return summary.Metrics[tag].Stats[name] }
	out.M[requestRate] = statistic("request_throughput", "avg")
	out.M[ttftAvg] = statistic("time_to_first_token", "avg")
	out.M[ttftP50] = statistic("time_to_first_token", "p50")
	out.M[ttftP99] = statistic("time_to_first_token", "p99")
	out.M[icP99] = statistic("inter_chunk_latency", "p99")
	out.M[lagP99] = statistic("schedule_lag", "p99")
	return nil
}

// sent is what is compared of a request. Times are of the wall clock in nanoseconds.
type sent struct {
	due, start float64
	ttft       float64 // in milliseconds; NaN = it had no first token
}

// readRecords returns the measured requests by id.
func readRecords(files *results.Results) (map[string]sent, error) {
	records := map[string]sent{}
	for record, err := range files.Records() {
		if err != nil {
			return nil, fmt.Errorf("read records: %w", err)
		}
		m := &record.Metadata
		if m.Kind != bench.Profiling {
			continue
		}
		one := sent{due: float64(m.Issued), start: float64(m.Start), ttft: math.NaN()}
		if ttft, ok := record.Value("time_to_first_token"); ok {
			one.ttft = ttft
		}
		records[m.RequestID] = one
	}
	return records, nil
}

// matched returns the truths of the requests in records.
func matched(truths []truth, records map[string]sent) []truth {
	return slices.DeleteFunc(slices.Clone(truths), func(t truth) bool {
		_, ok := records[t.RequestID]
		return !ok
	})
}

// compareEach adds measures that compare requests one by one.
func (r row) compareEach(truths []truth, records map[string]sent) {
	var errs, due, start []float64
	events := 0
	for i := range truths {
		t := &truths[i]
		x := records[t.RequestID]
		events += t.events()
		if !math.IsNaN(x.ttft) {
			errs = append(errs, math.Abs(x.ttft-t.ttft()))
		}
		due = append(due, x.due)
		start = append(start, x.start)
	}
	r.M[ttftEachP99] = percentile(errs, 0.99)
	r.M[eventRate] = r.M[requestRate] * float64(events) / float64(len(truths))
	r.M[rateError] = 100 * math.Abs((slices.Max(due)-slices.Min(due))/(slices.Max(start)-slices.Min(start))-1)
}

// requestBody is a request as aiperfd sends it.
func requestBody(sc *scenario) []byte {
	stream := ""
	if !sc.plain {
		stream = `,"stream":true,"stream_options":{"include_usage":true}`
	}
	return fmt.Appendf(nil, `{"model":"m","messages":[{"role":"user","content":"The keeper of the light writes the weather, `+
		`the ships and the oil that was burned into one book, and what he thought the weather would be into another."}],`+
		`"max_completion_tokens":%d%s}`, sc.tokens, stream)
}
