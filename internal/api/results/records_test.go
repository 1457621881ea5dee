package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// recordLine is a line as the writer makes it; filler is the size of its trace.
func recordLine(n int, phase string, outcome Outcome, filler int) string {
	failure := ""
	if outcome != Success {
		failure = `,"failure":{"class":"x","step":"y"}`
	}
	kind := "profiling"
	if phase == "warm" {
		kind = "warmup"
	}
	return fmt.Sprintf(`{"metadata":{"session_num":%d,"phase_name":%q,"benchmark_phase":%q,"was_cancelled":%v},"metrics":{"a":{"value":1,"unit":"ms"}},"trace_data":"%s","aiperfd":{"epoch_ns":1%s}}`,
		n, phase, kind, outcome == Cancelled, strings.Repeat("z", filler), failure) + "\n"
}

// walk returns the lines of all pages together, and the number of pages.
func walk(t *testing.T, file string, q RecordQuery) (all string, pages int) {
	t.Helper()
	for {
		page, err := readRecords(t.Context(), strings.NewReader(file), int64(len(file)), &q, false)
		if err != nil {
			t.Fatal(err)
		}
		var lines, object bytes.Buffer
		if err := errors.Join(page.WriteLines(&lines), page.WriteJSON(&object)); err != nil {
			t.Fatal(err)
		}
		checkForms(t, lines.String(), object.Bytes(), page.Next, q.Limit)
		all += lines.String()
		if pages++; page.Next == "" {
			return all, pages
		}
		q.Cursor = page.Next
	}
}

// checkForms checks that both forms of a page say the same.
func checkForms(t *testing.T, lines string, object []byte, next string, limit int) {
	t.Helper()
	var body struct {
		Items []json.RawMessage `json:"items"`
		Next  *string           `json:"next_cursor"`
	}
	if err := json.Unmarshal(object, &body); err != nil {
		t.Fatalf("page is not JSON: %v", err)
	}
	var joined string
	for _, item := range body.Items {
		joined += string(item) + "\n"
	}
	if joined != lines || (body.Next == nil) != (next == "") || body.Next != nil && *body.Next != next {
		t.Errorf("the two forms of a page differ: %.300s and %.300s", lines, object)
	}
	if len(body.Items) > limit || len(lines) > maxPage {
		t.Errorf("page has %d lines, %d bytes", len(body.Items), len(lines))
	}
}

// All pages together are the file, whatever the limit, the lengths of the lines and the
// filters are.
func TestPagesAreFile(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	outcomes, phases := []Outcome{Success, Failure, Cancelled}, []string{"warm", "main", "other"}
	var file strings.Builder
	want := map[RecordQuery]string{}
	for i := range 150 {
		o, p := outcomes[random.IntN(3)], phases[random.IntN(3)]
		filler := random.IntN(3000)
		if i%50 == 7 {
			filler = buffer - 300 + random.IntN(600) // the marks lie around the end of the buffer
		}
		if i == 75 {
			filler = 3 << 20
		}
		text := recordLine(i, p, o, filler)
		file.WriteString(text)
		kind := map[string]string{"warm": "warmup"}[p]
		if kind == "" {
			kind = "profiling"
		}
		for _, q := range []RecordQuery{{}, {Outcome: o}, {Phase: p}, {Phase: kind}, {Outcome: o, Phase: p}} {
			want[q] += text
		}
	}
	for q, text := range want {
		for _, limit := range []int{7, MaxLimit} {
			asked := q
			asked.Run, asked.Limit = "r", limit
			got, pages := walk(t, file.String(), asked)
			if got != text {
				t.Errorf("%+v: %d bytes of lines, want %d", asked, len(got), len(text))
			}
			if least := strings.Count(text, "\n") / limit; pages < least {
				t.Errorf("%+v: %d pages, want at least %d", asked, pages, least)
			}
		}
	}
}

// The mark of a failure is found wherever the buffer ends.
func TestFailureAcrossBuffer(t *testing.T) {
	base := len(recordLine(1, "main", Failure, 0))
	for shift := range 2 * len(failureMark) {
		filler := buffer - base + shift + 5
		text := recordLine(1, "main", Failure, filler)
		if got, _ := walk(t, text, RecordQuery{Run: "r", Limit: 1, Outcome: Failure}); got != text {
			t.Fatalf("filler of %d bytes: the failure is not found", filler)
		}
		good := recordLine(1, "main", Success, filler)
		if got, _ := walk(t, good, RecordQuery{Run: "r", Limit: 1, Outcome: Failure}); got != "" {
			t.Fatalf("filler of %d bytes: a success is taken for a failure", filler)
		}
	}
}

// Lines that do not fit a page or are not JSON are replaced; a torn last line is left out.
func TestOddLines(t *testing.T) {
	long := recordLine(2, "main", Success, maxPage)
	file := recordLine(1, "main", Success, 0) + long + "\x00\x00\n\n[1]\n" + recordLine(3, "main", Success, 0) + `{"metadata":{"torn`
	got, _ := walk(t, file, RecordQuery{Run: "r", Limit: MaxLimit})
	want := recordLine(1, "main", Success, 0) +
		fmt.Sprintf(`{"metadata":{"session_num":2,"phase_name":"main","benchmark_phase":"profiling","was_cancelled":false},"omitted_bytes":%d}`, len(long)-1) +
		"\n{\"omitted_bytes\":2}\n{\"omitted_bytes\":0}\n{\"omitted_bytes\":3}\n" + recordLine(3, "main", Success, 0)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	for _, empty := range []string{"", "{"} {
		if got, pages := walk(t, empty, RecordQuery{Run: "r", Limit: 1}); got != "" || pages != 1 {
			t.Errorf("records of %q = %q on %d pages", empty, got, pages)
		}
	}
}

// While the run goes on, the cursor of the last page continues with what is appended.
func TestGrows(t *testing.T) {
	q := &RecordQuery{Run: "r", Limit: 10}
	file, got := "", ""
	for i := range 5 {
		file += recordLine(i, "main", Success, 10)
		torn := file + `{"meta`
		page, err := readRecords(t.Context(), strings.NewReader(torn), int64(len(torn)), q, true)
		if err != nil || page.Next == "" {
			t.Fatalf("Read = %+v, %v", page, err)
		}
		var b strings.Builder
		if err := page.WriteLines(&b); err != nil {
			t.Fatal(err)
		}
		got, q.Cursor = got+b.String(), page.Next
	}
	if got != file {
		t.Errorf("lines = %s, want %s", got, file)
	}
}

// counted counts the bytes that are read.
type counted struct {
	io.ReaderAt
	n int64
}

func (c *counted) ReadAt(b []byte, at int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(b, at)
	c.n += int64(n)
	return n, err
}

// A page far in the file reads as much as the first one.
func TestCostOfPage(t *testing.T) {
	text := recordLine(1, "main", Success, 0)
	file := strings.Repeat(text, 100_000)
	q := &RecordQuery{Run: "r", Limit: 10}
	var costs []int64
	for _, lines := range []int{0, 50_000, 99_000} {
		q.Cursor = ""
		if lines > 0 {
			var err error
			if q.Cursor, err = q.encode(strings.NewReader(file), int64(lines*len(text))); err != nil {
				t.Fatal(err)
			}
		}
		r := &counted{ReaderAt: strings.NewReader(file)}
		if _, err := readRecords(t.Context(), r, int64(len(file)), q, false); err != nil {
			t.Fatal(err)
		}
		costs = append(costs, r.n)
	}
	for _, n := range costs {
		if n > buffer+2*trailBytes {
			t.Errorf("pages read %d bytes, want at most the buffer", costs)
		}
	}
}

// A page without a match ends after a bounded part of the file.
func TestScanIsBounded(t *testing.T) {
	text := recordLine(1, "main", Success, 1<<20)
	file := strings.Repeat(text, 70)
	page, err := readRecords(t.Context(), strings.NewReader(file), int64(len(file)), &RecordQuery{Run: "r", Limit: 1, Outcome: Failure}, false)
	if err != nil || len(page.items) != 0 || page.Next == "" {
		t.Errorf("Read = %+v, %v, want an empty page with a cursor", page, err)
	}
}

func TestForeignCursor(t *testing.T) {
	file := recordLine(1, "main", Success, 0) + recordLine(2, "main", Failure, 0)
	page, err := readRecords(t.Context(), strings.NewReader(file), int64(len(file)), &RecordQuery{Run: "r", Limit: 1}, false)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(file, `"session_num":1`, `"session_num":7`, 1)
	for name, test := range map[string]struct {
		file string
		q    RecordQuery
		want error
	}{
		"same":          {file, RecordQuery{Run: "r", Limit: 2}, nil},
		"another run":   {file, RecordQuery{Run: "s", Limit: 1}, ErrCursor},
		"other filter":  {file, RecordQuery{Run: "r", Limit: 1, Outcome: Success}, ErrCursor},
		"other phase":   {file, RecordQuery{Run: "r", Limit: 1, Phase: "main"}, ErrCursor},
		"shorter file":  {file[:10], RecordQuery{Run: "r", Limit: 1}, ErrCursor},
		"other content": {strings.Replace(other, `"epoch_ns":1`, `"epoch_ns":2`, 1), RecordQuery{Run: "r", Limit: 1}, ErrCursor},
	} {
		test.q.Cursor = page.Next
		if _, err := readRecords(t.Context(), strings.NewReader(test.file), int64(len(test.file)), &test.q, false); !errors.Is(err, test.want) {
			t.Errorf("%s: Read = %v, want %v", name, err, test.want)
		}
	}
}

func TestParseQuery(t *testing.T) {
	for text, want := range map[string]string{
		"": "<nil>", "limit=1000&outcome=error&phase=x&cursor=y": "<nil>",
		"limit=0":             `limit is "0", want 1 to 1000`,
		"limit=x&outcome=bad": `limit is "x", want 1 to 1000; outcome is "bad", want success, error or cancelled`,
	} {
		v, err := url.ParseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseRecordQuery("r", v); fmt.Sprint(err) != want {
			t.Errorf("ParseRecordQuery(%s) = %v, want %s", text, err, want)
		}
	}
}

// Pages go over the parts of a file, also if the run continues it in a next one meanwhile.
func TestOpenParts(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, numbers ...int) {
		t.Helper()
		var text strings.Builder
		for _, n := range numbers {
			text.WriteString(recordLine(n, "main", Success, 0))
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	r := &run.Run{ID: "r", State: bench.StateRunning, Config: json.RawMessage(`{}`)}
	q := &RecordQuery{Run: "r", Limit: 2}
	read := func() (got []int) {
		t.Helper()
		page, err := OpenRecords(t.Context(), root, r, q)
		if err != nil {
			t.Fatal(err)
		}
		defer page.Close()
		var out strings.Builder
		if err := page.WriteLines(&out); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			var one struct {
				Metadata struct {
					N int `json:"session_num"`
				}
			}
			if err := json.Unmarshal([]byte(line), &one); err != nil {
				t.Fatal(err)
			}
			got = append(got, one.Metadata.N)
		}
		q.Cursor = page.Next
		return got
	}
	write("profile_export.jsonl", 1, 2, 3)
	first := read()
	write("profile_export.part0002.jsonl", 4)
	second := read()
	write("profile_export.part0002.jsonl", 4, 5)
	write("profile_export.part0003.jsonl", 6)
	third := read()
	if diff := cmp.Diff([][]int{{1, 2}, {3, 4}, {5, 6}}, [][]int{first, second, third}); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

// The file is that of the configuration; the format that of the Accept header.
func TestOpenAndServe(t *testing.T) {
	dir := t.TempDir()
	text := recordLine(1, "main", Success, 0) + recordLine(2, "main", Success, 0)
	for _, name := range []string{"profile_export.jsonl", "mine.jsonl"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(text, "main", name)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for config, name := range map[string]string{
		`{"artifacts":{"prefix":null}}`: "profile_export.jsonl", `{"artifacts":{"prefix":"x/mine"}}`: "mine.jsonl", `{"artifacts":{"prefix":"gone"}}`: "",
	} {
		r := &run.Run{ID: "r", State: bench.StateCompleted, Config: json.RawMessage(config)}
		page, err := OpenRecords(t.Context(), root, r, &RecordQuery{Run: "r", Limit: 1})
		if name == "" {
			if !errors.Is(err, os.ErrNotExist) {
				t.Errorf("Open without a file = %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer page.Close()
		for accept, media := range map[string]string{
			"": "application/json", "application/json": "application/json", "text/html, application/x-ndjson;q=0.5": "application/x-ndjson", "application/x-ndjson;q=0": "application/json",
		} {
			request := httptest.NewRequest("GET", "/api/runs/r/records?limit=1", nil)
			request.Header.Set("Accept", accept)
			w := httptest.NewRecorder()
			if err := page.Serve(w, request); err != nil {
				t.Fatal(err)
			}
			link := "</api/runs/r/records?cursor=" + page.Next + `&limit=1>; rel="next"`
			if got := w.Header(); got.Get("Content-Type") != media || got.Get("Link") != link || !strings.Contains(w.Body.String(), name) {
				t.Errorf("Accept %q: %v %s, want %s, %s", accept, got, w.Body, media, link)
			}
		}
	}
}

// No cursor breaks anything: it is refused, or the page begins with a line.
func FuzzCursor(f *testing.F) {
	file := strings.Repeat(recordLine(1, "main", Success, 3), 5)
	good, err := (&RecordQuery{Run: "r"}).encode(strings.NewReader(file), int64(len(file)/5))
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"", good, "x", good + "A", "________________________________", "AAAAAAAAAAAAAAAAAAAAAAAAAAA"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		page, err := readRecords(t.Context(), strings.NewReader(file), int64(len(file)), &RecordQuery{Run: "r", Limit: 1, Cursor: cursor}, false)
		if err != nil {
			if !errors.Is(err, ErrCursor) {
				t.Errorf("Read(%q) = %v", cursor, err)
			}
			return
		}
		for _, i := range page.items {
			if i.at > 0 && file[i.at-1] != '\n' || i.instead != nil {
				t.Errorf("Read(%q) begins inside a line", cursor)
			}
		}
	})
}
