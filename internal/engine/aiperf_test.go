package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/run"
)

// leastCommands is how many argument lists the file must have: fewer would mean
// that some were lost.
const leastCommands = 160

// TestAIPerfCommands takes the argument lists of AIPerf's documentation and
// integration tests from testdata/aiperf/commands.txt. An accepted one runs
// against the simulator, with its load cut short, and completes; a refused one
// names exactly the features that do not exist yet.
func TestAIPerfCommands(t *testing.T) {
	t.Chdir("testdata/aiperf")
	text, err := os.ReadFile("commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	bin, err := filepath.Abs("bin") // has an ffmpeg
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	page, seen := "", 0
	for number, text := range strings.Split(string(text), "\n") {
		kind, rest, _ := strings.Cut(text, " ")
		want, args, refused := strings.Cut(rest, " | ")
		switch kind {
		case "", "#":
			continue
		case "=":
			page = rest
			continue
		case "+":
			args = rest
		case "-", "!":
			if !refused {
				t.Fatalf("line %d: no reason", number+1)
			}
		default:
			t.Fatalf("line %d: begins with %q", number+1, kind)
		}
		seen++
		t.Run(fmt.Sprintf("line %d %s", number+1, page), func(t *testing.T) {
			switch kind {
			case "+":
				// Under the race detector one in ten: each run takes a second there.
				if !raceEnabled || seen%10 == 0 {
					commandRuns(t, words(t, args))
				}
			case "-":
				features := strings.Split(want, ", ")
				checkUnsupported(t, words(t, args), features)
				checkIgnored(t, words(t, args), features)
			case "!":
				if err := refusal(words(t, args)); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s\nerror: %v\nwant: %s", args, err, want)
				}
			}
		})
	}
	if seen < leastCommands {
		t.Errorf("%d argument lists, want at least %d", seen, leastCommands)
	}
}

// words splits a line as a shell does, as far as these lines need it: blanks
// divide, quotes of both kinds hold together.
func words(t *testing.T, line string) (out []string) {
	t.Helper()
	var word strings.Builder
	quote, within := rune(0), false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, within = r, true
		case quote == 0 && r == ' ':
			if within {
				out = append(out, word.String())
			}
			word.Reset()
			within = false
		default:
			word.WriteRune(r)
			within = true
		}
	}
	if quote != 0 {
		t.Fatalf("quotes are not closed: %s", line)
	}
	if within {
		out = append(out, word.String())
	}
	return out
}

// refusal is the error of a command line, as far as it is found before the run.
func refusal(argv []string) error {
	flags, err := flags.Parse(argv, nil)
	flags.Options.Choices = plan.Choices()
	doc, _, docErr := flags.Document()
	if err = errors.Join(err, docErr); err == nil {
		_, err = plan.Compile(doc)
	}
	return err
}

// checkUnsupported checks that every problem is an option, or an option with a value,
// that does not exist yet, and that these are the wanted ones.
func checkUnsupported(t *testing.T, argv, want []string) {
	t.Helper()
	flags, err := flags.Parse(argv, nil)
	flags.Options.Choices = plan.Choices()
	problems := problemsOf(t, err)
	if err == nil {
		_, _, err = flags.Document()
		problems = problemsOf(t, err)
	}
	var got []string
	for _, p := range problems {
		named, _, ok := strings.Cut(p.Detail, ": ")
		if p.Code != problem.CodeUnsupported || !ok || !strings.Contains(p.Detail, "not supported") {
			t.Errorf("refused for another reason: %+v", p)
		}
		got = append(got, named)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%v\nrefused for %q, want %q", argv, got, want)
	}
}

// checkIgnored checks that --ignore-unsupported runs a command line without the options that
// only add files or destinations, with a warning about each, and refuses the others.
func checkIgnored(t *testing.T, argv, features []string) {
	t.Helper()
	flags, err := flags.Parse(append(argv, "--ignore-unsupported"), nil)
	flags.Options.Choices = plan.Choices()
	_, warnings, docErr := flags.Document()
	err = errors.Join(err, docErr)
	for _, feature := range features {
		extra := slices.Contains([]string{"--auto-plot"}, feature)
		if extra == problem.Has(err, problem.CodeUnsupported) {
			t.Errorf("%v\nwith --ignore-unsupported: %v", argv, err)
		}
		ignored := slices.ContainsFunc(warnings, func(p problem.Problem) bool {
			return p.Detail == feature+" has no effect: it is not supported by aiperfd yet"
		})
		if extra && !ignored {
			t.Errorf("%v\nno warning about %s: %v", argv, feature, warnings)
		}
	}
}

func problemsOf(t *testing.T, err error) []problem.Problem {
	t.Helper()
	var invalid *problem.Invalid
	if err != nil && !errors.As(err, &invalid) {
		t.Fatal(err)
	}
	if invalid == nil {
		return nil
	}
	return invalid.Problems
}

// commandRuns runs a command line with less load, against a server in memory.
func commandRuns(t *testing.T, argv []string) {
	t.Helper()
	flags, err := flags.Parse(argv, nil)
	if err != nil {
		t.Fatalf("%v\n%v", argv, err)
	}
	flags.Options.Choices = plan.Choices()
	doc, _, err := flags.Document()
	if err != nil {
		t.Fatalf("%v\n%v", argv, err)
	}
	cutShort(&doc.Benchmark)
	if doc.RandomSeed == nil {
		doc.RandomSeed = new(int64(1)) // with it, a cancellation test spares one of the few requests
	}
	synctest.Test(t, func(t *testing.T) {
		var wrap func(http.Handler) http.Handler
		switch doc.Benchmark.Endpoint.Type {
		case "template":
			wrap = func(http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					time.Sleep(time.Millisecond)
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprint(w, `{"text": "words", "generated_text": "words", "embeddings": [0.5, 0.5]}`)
				})
			}
		case "image_retrieval":
			wrap = anyPath
		}
		b := newBed(t, timing(t, time.Millisecond, time.Millisecond), wrap)
		r, err := b.engine.Submit(t.Context(), doc, run.Submission{Via: "cli"})
		if err != nil {
			t.Fatal(err)
		}
		if r = b.wait(r.ID); r.State != bench.StateCompleted {
			t.Errorf("%v\nstate %v, error %+v", argv, r.State, r.Error)
		}
	})
}

// cutShort reduces the load of a benchmark, and keeps its other options.
func cutShort(b *config.Benchmark) {
	if d := &b.Datasets[0]; d.Type == "public" {
		d.Path = "sharegpt.json" // a local copy, shortened
	}
	for i := range b.Phases {
		p := &b.Phases[i]
		switch few := int64(2); {
		case p.Requests != nil:
			*p.Requests = few
		case p.Sessions != nil:
			*p.Sessions = 1
		default:
			p.Requests = &few
		}
	}
	b.Datasets[0].Entries = min(b.Datasets[0].Entries, 2)
	for i, u := range b.Endpoint.URLs { // certificates are no part of this
		b.Endpoint.URLs[i] = secret.NewURL(strings.Replace(u.Reveal(), "https://", "http://", 1))
	}
}

// anyPath takes requests for the simulator's /v1/infer at any path.
func anyPath(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = "/v1/infer"
		h.ServeHTTP(w, r)
	})
}

// TestAIPerfDocuments loads the documents that AIPerf 0.13 ships, from
// testdata/aiperf/documents.jsonl: each is accepted, or refused only for the features
// listed with it; without the features that only add files, all but one would run.
func TestAIPerfDocuments(t *testing.T) {
	t.Chdir("testdata/aiperf")
	text, err := os.ReadFile("documents.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	seen, runs := 0, 0
	for line := range strings.Lines(string(text)) {
		var row struct {
			Name        string
			Unsupported []string `json:"lacks"`
			Document    json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		seen++
		t.Run(row.Name, func(t *testing.T) {
			doc, _, err := config.Load(row.Document, config.LoadOptions{Choices: plan.Choices(), LookupEnv: func(string) (string, bool) { return "", false }})
			var got []string
			for _, p := range problemsOf(t, err) {
				if p.Code != problem.CodeUnsupported {
					t.Errorf("refused for another reason: %+v", p)
				}
				value, feature, _ := strings.Cut(p.Detail, ": not supported by aiperfd yet")
				if named, ok := strings.CutPrefix(feature, ": "); ok {
					value, _, _ = strings.Cut(named, ";")
				}
				got = append(got, value)
			}
			slices.Sort(got)
			slices.Sort(row.Unsupported)
			if got = slices.Compact(got); !slices.Equal(got, row.Unsupported) {
				t.Errorf("refused for %q, want %q", got, row.Unsupported)
			}
			if err == nil {
				if _, err := plan.Compile(doc); err != nil {
					t.Error(err)
				}
			}
			draft, err := config.Read(row.Document, config.LoadOptions{Choices: plan.Choices(), LookupEnv: func(string) (string, bool) { return "", false }})
			if err != nil {
				t.Fatal(err)
			}
			draft.IgnoreUnsupported()
			doc, warnings, err := draft.Load()
			if err == nil {
				_, err = plan.Compile(doc)
				runs++
			}
			extra := slices.DeleteFunc(slices.Clone(row.Unsupported), func(s string) bool { return strings.HasPrefix(s, "format ") })
			if refused := len(extra) < len(row.Unsupported); refused != (err != nil) {
				t.Errorf("without the features that it lacks: %v", err)
			}
			for _, feature := range extra {
				if !slices.ContainsFunc(warnings, func(p problem.Problem) bool {
					return strings.HasSuffix(p.Detail, ": ignored, since "+feature+" is not supported by aiperfd yet")
				}) {
					t.Errorf("no warning about %s: %v", feature, warnings)
				}
			}
		})
	}
	if seen != 27 || runs != 27 {
		t.Errorf("%d documents, %d run; want 27, 27", seen, runs)
	}
}
