package export

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/view"
)

// Detail determines how much of a report is printed.
type Detail string

// The details. Each ends with the headline, so that it is visible in a terminal.
const (
	Brief  Detail = "brief"  // only the headline
	AIPerf Detail = "aiperf" // AIPerf's tables
	Full   Detail = "full"   // everything
)

// ConsoleOptions configure how a report is printed. The zero value is that of files.
type ConsoleOptions struct {
	Width  int  // columns; 0 = 140, less than 60 = 60
	Color  bool // with ANSI escapes
	ASCII  bool // boxes are drawn with + - |
	Detail Detail
	Traces bool   // with the table of HTTP timings, which files always have
	Errors int    // rows of the error table; 0 = all
	Folder string // folder of the files of the run, for the headline; empty = not printed
	Files  []File // listed after the tables

	ReportFile string // name of the file in Folder that has the full report; empty = not printed
}

// File is a file of a run.
type File struct{ Label, Path string }

// minWidth is the narrowest report.
const minWidth = 60

// Console prints a report for people: details, errors, one table per group of metrics
// in AIPerf's layout, and a headline. If a table is wider than the terminal, the columns
// std, min, max and p90 are omitted, in that order. If no request succeeded, a panel
// replaces the tables.
func Console(w io.Writer, r *Report, o ConsoleOptions) error {
	o.Width = max(minWidth, cmp.Or(o.Width, consoleFileWidth))
	p := &page{screen: screen{width: o.Width, color: o.Color, ascii: o.ASCII}, opts: o}
	p.boxes = view.NewBorder(o.ASCII, func(text string) string { return p.paint(bold, text) })
	measured := count(r, "request_count") > 0
	if o.Detail != Brief {
		if measured && !r.Complete && !r.Cancelled {
			p.incomplete(r)
		}
		if o.Detail != AIPerf {
			p.head(r)
		}
		p.insight(r)
		p.errors(r)
		if measured {
			p.groups(r)
			p.panels(r)
		} else {
			p.failure(r)
		}
		p.foot(r)
	}
	if o.Detail == Brief && measured {
		p.wanted(r)
	}
	p.headline(r)
	_, err := io.WriteString(w, p.text.String())
	return err
}

// wanted prints what a brief report has only of some runs.
func (p *page) wanted(r *Report) {
	if p.opts.Traces {
		p.line("")
		p.traces(r)
		p.footnotes(r)
	}
	if len(r.ByTarget)+len(r.ByModel)+len(r.ByCategory)+len(r.ByTurn) > 0 {
		p.line("")
		targetTable{p}.print(r)
	}
}

// page prints a report.
type page struct {
	screen
	opts ConsoleOptions
}

// incomplete warns of results that lack requests.
func (p *page) incomplete(r *Report) {
	p.line("")
	for line := range strings.SplitSeq(view.Wrap(incompleteText(r), p.width), "\n") {
		p.line(p.paint(red, line))
	}
}

// head prints what was measured, and every warning about it.
func (p *page) head(r *Report) {
	p.line("")
	if name := runName(r); name != "" {
		p.fact(bold, "Run", name)
	}
	p.fact(bold, "Model", strings.Join(r.Models, ", "))
	endpoint := r.Endpoint
	if r.Streaming {
		endpoint += ", streaming"
	}
	p.fact(bold, "Endpoint", endpoint)
	p.fact(bold, "Load", r.Load)
	if !r.Start.IsZero() {
		p.fact(bold, "Window", fmt.Sprintf("%s UTC, %.2f sec", r.Start.UTC().Format(time.DateTime), r.Duration.Seconds()))
	}
	requests := fmt.Sprintf("%d ok, %d failed, %d cancelled",
		count(r, "request_count"), count(r, "error_request_count"), count(r, "cancelled_request_count"))
	if n := count(r, "cancelled_by_test_count"); n > 0 {
		requests += fmt.Sprintf(", %d cancelled by test", n)
	}
	if r.Expected > 0 {
		requests += fmt.Sprintf(", of %d", r.Expected)
	}
	p.fact(bold, "Requests", requests)
	p.fact(bold, "Tokens", cmp.Or(r.Tokenizer, "not counted"))
	if d := r.Dataset; d.Hash != "" {
		p.fact(bold, "Dataset", cmp.Or(strings.TrimSpace(d.Source+" "+d.Revision), "generated")+", hash "+d.Hash)
	}
	if r.Client != nil {
		p.fact(verdictStyle(r.Client.Verdict), "Client", "verdict "+r.Client.Line())
		if c := r.Client.Certificate; c != nil {
			p.fact(bold, "Certified", c.Line())
		}
	}
	for _, n := range r.Warnings {
		p.fact(yellow, "Note", n.Detail)
	}
}

// runName returns the name of a run with its labels in the order of their names; empty
// if it has neither.
func runName(r *Report) string {
	words := []string{r.Name}
	for _, k := range slices.Sorted(maps.Keys(r.Labels)) {
		words = append(words, k+"="+r.Labels[k])
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

// verdictStyle returns the style of a verdict.
func verdictStyle(l verdict.Level) style {
	switch l {
	case verdict.Invalid:
		return red
	case verdict.Suspect:
		return yellow
	case verdict.OK, verdict.Unknown:
	}
	return bold
}

// count returns a metric of whole numbers, 0 if it is absent.
func count(r *Report, tag string) int64 {
	v, _ := r.Results.Value(tag, metric.Avg)
	return int64(v)
}

// errors prints the errors by kind.
func (p *page) errors(r *Report) {
	if len(r.Errors) == 0 {
		return
	}
	t := view.Table{
		Title: "aiperfd | Error Summary",
		Columns: []view.Column{
			{Title: "Code", Number: true}, {Title: "Type", Number: true}, {Title: "Message"}, {Title: "Count", Number: true},
		},
	}
	shown := r.Errors
	if most := p.opts.Errors; most > 0 && len(shown) > most {
		shown = shown[:most]
	}
	for i := range shown {
		g := &shown[i]
		d := describeError(g.Class, g.Status, g.Example)
		code := "N/A"
		if d.Code != 0 {
			code = strconv.Itoa(d.Code)
		}
		t.Rows = append(t.Rows, []string{
			code, view.Printable(d.Type), shorten(view.Printable(d.Message)), strconv.FormatInt(g.Count, 10),
		})
	}
	t.WrapColumn(2, p.width, 20)
	t.WrapColumn(1, p.width, 10)
	p.line("")
	p.text.WriteString(p.boxes.Table(&t))
	if n := len(r.Errors) - len(shown); n > 0 {
		p.line(fmt.Sprintf("%d more in the files", n))
	}
}

// shorten truncates a message for a table.
func shorten(message string) string {
	const most = 500
	return view.Truncate(message, most, "...")
}

// failure prints the panel of a run in which nothing succeeded.
func (p *page) failure(r *Report) {
	text := cmp.Or(view.Printable(r.Reason), "no request succeeded")
	if count(r, "error_request_count") == 0 {
		text += "\n\nNo request returned a response or an error."
	} else {
		text += "\n\nNo latency or throughput to report: no request succeeded. The errors are listed above and in the summary."
	}
	p.line("")
	p.panel(red, "Benchmark failed", text)
}

// foot prints how the run ended, its command and its files.
func (p *page) foot(r *Report) {
	p.line("")
	if r.Cancelled {
		p.line(p.paint(yellow, "The run was cancelled; its results may be incomplete."))
	}
	seconds := r.Duration.Seconds()
	if v, ok := r.Results.Value("benchmark_duration", metric.Avg); ok {
		seconds = v
	}
	early := ""
	if r.Cancelled {
		early = " (cancelled early)"
	}
	p.line(fmt.Sprintf("Benchmark Duration: %.2f sec%s", seconds, early))
	p.command(r.CLICommand)
	for _, f := range p.opts.Files {
		text := f.Label + ": " + view.Printable(f.Path)
		if view.Width(text) > p.width {
			text = f.Label + ":\n  " + view.Printable(f.Path)
		}
		p.line(text)
	}
}

// command prints the command line with the name of this program; the files have
// AIPerf's.
func (p *page) command(line string) {
	if line == "" {
		return
	}
	if rest, ok := strings.CutPrefix(line, "aiperf "); ok {
		line = "aiperfd " + rest
	}
	const more = " \\\n  " // takes two columns of the line that it ends
	p.line(view.Hang(shellWords("CLI Command: "+view.Printable(line)), p.width-2, more))
	if strings.Contains(line, redact.Placeholder) {
		p.line(view.Wrap("To repeat the run, replace "+redact.Placeholder+" with the secrets"+
			"; API keys are also read from --api-key-file and AIPERFD_API_KEY.", p.width))
	}
}

// shellWords splits at blanks outside of single quotes.
func shellWords(line string) []string {
	var words []string
	quoted, from := false, 0
	for i := range len(line) {
		switch {
		case line[i] == '\'' && (quoted || i == 0 || line[i-1] != '\\'):
			quoted = !quoted
		case line[i] == ' ' && !quoted:
			words, from = append(words, line[from:i]), i+1
		}
	}
	return append(words, line[from:])
}
