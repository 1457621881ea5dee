//go:build linux

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
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

// The clients.
const (
	ourClient   = "aiperfd"
	olderClient = "against" // another binary of aiperfd
	rawClient   = "raw"
	httpClient  = "http" // aiperfd by http, where the others use https
)

// runner runs scenarios.
type runner struct {
	binary  string // aiperfd
	against string // another binary of it; "" = none
	raw     string // the raw client
	dir     string // for files that do not matter afterwards
	rounds  int
	keep    func(row) error // called with every new row
}

// run starts the servers of a scenario, which the clients measure in turn.
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
	mock, err := startMock(r.binary, filepath.Join(dir, "server"), sc, sc.https)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, mock.end()) }()
	plainMock := mock
	if sc.reference == httpReference {
		if plainMock, err = startMock(r.binary, filepath.Join(dir, "http"), sc, false); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, plainMock.end()) }()
	}
	for round := 1; round <= r.roundsOf(sc); round++ {
		for _, client := range r.clients(sc, round) {
			to := mock
			if client == httpClient {
				to = plainMock
			}
			out := row{Scenario: sc.name, Round: round, Client: client, M: map[string]float64{}}
			if err := r.measure(ctx, to, sc, &out, dir); err != nil {
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

// roundsOf returns how often the clients take turns.
func (r *runner) roundsOf(sc *scenario) int {
	rounds := r.rounds
	if sc.rounds > 0 {
		rounds = sc.rounds
	}
	if r.against != "" {
		rounds = max(rounds, worseRounds)
	}
	return rounds
}

// clients returns who measures in a round, in this order. The two binaries of aiperfd change
// places, so that neither always follows the other.
func (r *runner) clients(sc *scenario, round int) []string {
	clients := []string{ourClient}
	if r.against != "" {
		clients = append(clients, olderClient)
		if round%2 == 0 {
			slices.Reverse(clients)
		}
	}
	switch sc.reference {
	case rawReference:
		clients = slices.Insert(clients, 0, rawClient)
	case httpReference:
		clients = slices.Insert(clients, 0, httpClient)
	case noReference:
	}
	return clients
}

// measure runs one client once.
func (r *runner) measure(ctx context.Context, m *mockServer, sc *scenario, out *row, dir string) error {
	out.M[loadBefore], out.M[wakeP99] = loadAverage(), wakeLateness()
	before, err := m.cpu()
	if err != nil {
		return err
	}
	var truths []truth
	switch {
	case out.Client == rawClient:
		truths, err = r.runRaw(ctx, m, sc, out, dir)
	case sc.growth:
		return r.measureGrowth(ctx, m, sc, out, filepath.Join(dir, "run"))
	default:
		truths, err = r.runOurs(ctx, m, sc, out, filepath.Join(dir, "run"))
	}
	if err != nil {
		return err
	}
	after, err := m.cpu()
	if err != nil {
		return err
	}
	out.M[mockCPUPerEvent] = micros(after-before) / float64(eventsOf(truths))
	return nil
}

func eventsOf(truths []truth) int {
	events := 0
	for i := range truths {
		events += truths[i].events()
	}
	return events
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// charge adds the resources that a client has used for the answers in truths, including
// the first ones, which open its connections.
func (r row) charge(c cost, truths []truth) {
	r.M[cpuPerEvent] = micros(c.cpu) / float64(eventsOf(truths))
	r.M[cpuPerRequest] = micros(c.cpu) / float64(len(truths))
	r.M[cpuOfRun] = c.cpu.Seconds() * 1e3
	r.M[cores] = c.cpu.Seconds() / c.elapsed.Seconds()
	r.M[memory] = c.memoryMB
	first := slices.MinFunc(truths, func(a, b truth) int { return cmp.Compare(a.AcceptNs, b.AcceptNs) })
	r.M[firstRequest] = float64(first.AcceptNs-c.begin.UnixNano()) / 1e6
}

// runRaw runs the raw client.
func (r *runner) runRaw(ctx context.Context, m *mockServer, sc *scenario, out *row, dir string) ([]truth, error) {
	args := []string{
		"--host", strings.Join(m.hosts(sc), ","), "--port", m.port(), "--body", filepath.Join(dir, "body.json"),
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
		out.M[lagP50], out.M[lagP99] = result.Lag.P50, result.Lag.P99
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

// profile runs aiperfd once, which writes its files to dir.
func (r *runner) profile(
	ctx context.Context, m *mockServer, sc *scenario, client, dir string, requests int,
) (cost, error) {
	binary := r.binary
	if client == olderClient {
		binary = r.against
	}
	_, used, err := execute(ctx, binary, profileArgs(m, sc, dir, requests)...)
	return used, err
}

// profileArgs are arguments that every release of aiperfd accepts.
func profileArgs(m *mockServer, sc *scenario, dir string, requests int) []string {
	args := []string{
		"profile", "--model", "m", "--tokenizer", "builtin",
		"--isl", "32", "--osl", strconv.Itoa(sc.tokens), "--request-count", strconv.Itoa(requests),
		"--output-artifact-dir", dir, "--ui", "none", "--random-seed", "1", "--num-dataset-entries", "64",
	}
	for _, host := range m.hosts(sc) {
		args = append(args, "--url", m.scheme()+net.JoinHostPort(host, m.port()))
	}
	if m.certificate != "" {
		args = append(args, "--tls-ca-file", m.certificate)
	}
	if sc.warmup > 0 {
		args = append(args, "--warmup-request-count", strconv.Itoa(sc.warmup))
	}
	if !sc.plain {
		args = append(args, "--streaming")
	}
	if sc.streams > 0 {
		args = append(args, "--concurrency", strconv.Itoa(min(sc.streams, requests)))
	}
	if sc.rate > 0 {
		args = append(args, "--request-rate", strconv.Itoa(sc.rate), "--arrival-pattern", "poisson")
	}
	return args
}

// runOurs runs aiperfd, and compares its records with the server's.
func (r *runner) runOurs(ctx context.Context, m *mockServer, sc *scenario, out *row, dir string) ([]truth, error) {
	used, err := r.profile(ctx, m, sc, out.Client, dir, sc.requests)
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

// measureGrowth compares the memory of a long run with that of a run of ten requests.
func (r *runner) measureGrowth(ctx context.Context, m *mockServer, sc *scenario, out *row, dir string) error {
	const few = 10
	short, err := r.profile(ctx, m, sc, out.Client, dir, few)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	long, err := r.profile(ctx, m, sc, out.Client, dir, sc.requests)
	if err != nil {
		return err
	}
	out.M[memory], out.M[memoryGrowth] = long.memoryMB, long.memoryMB-short.memoryMB
	out.M[cpuPerRequest] = micros(long.cpu) / float64(sc.requests)
	if err := readReport(results.Open(dir, ""), out); err != nil {
		return err
	}
	return os.RemoveAll(dir)
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
	out.M[lagP50] = statistic("schedule_lag", "p50")
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
