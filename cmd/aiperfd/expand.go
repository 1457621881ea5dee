package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/study/search"
	"aiperfd/internal/view"
)

// expandFlags are the flags of config expand.
type expandFlags struct {
	full   bool
	index  int // -1 = all variations
	format string
}

func newExpandCommand() *cobra.Command {
	f := &expandFlags{index: -1}
	cmd := &cobra.Command{
		Use:   "expand FILE",
		Short: "List the variations of a sweep, without running them",
		Long: `List the variations of a sweep, without running them. Every variation is
checked. FILE is a benchmark document (JSON or YAML; - reads standard input).

The document that --full shows is that of the first run of a variation; later
runs leave out the warm-up unless multiRun.disableWarmupAfterFirst is false. Of
a search, only the first variation is known before it runs.`,
		Example: `  aiperfd config expand sweep.yaml
  aiperfd config expand sweep.yaml --index 2 --format yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains([]string{"text", "yaml", "json"}, f.format) {
				return exitWith(exitUsage, fmt.Errorf("--format %q: must be text, yaml or json", f.format))
			}
			doc, _, err := loadDocument(cmd, args[0])
			if err != nil {
				return err
			}
			e, err := f.expand(doc)
			if err != nil {
				return exitWith(exitUsage, err)
			}
			return e.print(plainOut(cmd), f.format)
		},
	}
	fs := cmd.Flags()
	fs.BoolVarP(&f.full, "full", "F", false, "show the whole document of each variation")
	fs.IntVarP(&f.index, "index", "i", f.index, "show only variation `N`, from 0, and its document (default all)")
	fs.StringVarP(&f.format, "format", "f", "text", "`format` of the output: text, yaml or json")
	addIgnoreUnsupported(cmd)
	fs.Lookup("index").DefValue = "0" // -1 is not shown as the default
	return cmd
}

// expansion is what a document expands to, with the names of AIPerf.
type expansion struct {
	Type       string     `json:"sweep_type"` // none = no sweep
	Total      int        `json:"total"`      // the most that a search may choose
	Trials     int        `json:"trials"`     // runs per variation, at most
	Variations []expanded `json:"variations"`
}

// expanded is one variation of an expansion.
type expanded struct {
	Index     int           `json:"index"`
	Folder    string        `json:"dir_name"`
	Label     string        `json:"label"`
	Values    config.Object `json:"values"`
	Seed      *int64        `json:"random_seed,omitempty"`
	Benchmark any           `json:"benchmark,omitempty"` // nil = not asked for
}

// expand returns the variations that the flags select.
func (f *expandFlags) expand(doc *config.Document) (*expansion, error) {
	e := &expansion{Type: "none", Total: 1, Trials: 1}
	list := []vary.Variation{{Label: "base"}}
	s := doc.Study()
	if s != nil {
		planner := search.PlannerOf(s)
		e.Trials, e.Total, list = s.MultiRun.NumRuns, planner.Budget(), s.Variations
		if s.Sweep != nil {
			e.Type = s.Sweep.Type
		}
		if first, ok := planner.Next(nil); s.Adaptive() && ok {
			list = []vary.Variation{first}
		}
	}
	if f.index < -1 || f.index >= len(list) {
		return nil, fmt.Errorf("--index %d: must be from 0 to %d", f.index, len(list)-1)
	}
	for i := range list {
		if f.index >= 0 && i != f.index {
			continue
		}
		v, err := expandOne(doc, &list[i], f.full || f.index >= 0)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", list[i].Label, problemList(err))
		}
		e.Variations = append(e.Variations, v)
	}
	return e, nil
}

// expandOne returns one variation, and its document if full is set.
func expandOne(doc *config.Document, v *vary.Variation, full bool) (expanded, error) {
	out := expanded{Index: v.Index, Folder: v.Folder, Label: v.Label}
	for _, a := range v.Values {
		value, err := plainjson.Marshal(a.Value)
		if err != nil {
			return out, err
		}
		out.Values.Set(config.Member{Name: a.Path, Value: value})
	}
	if !full {
		return out, nil
	}
	if s := doc.Study(); s != nil {
		var err error
		if doc, _, err = s.Cell(v, 0); err == nil {
			_, err = plan.Compile(doc)
		}
		if err != nil {
			return out, err
		}
	}
	out.Seed, out.Benchmark = doc.RandomSeed, config.Resolved(doc)
	return out, nil
}

func (e *expansion) print(w io.Writer, format string) error {
	if format == "json" {
		return plainjson.WriteIndent(w, e)
	}
	if format == "yaml" {
		return writeYAML(w, e, "")
	}
	fmt.Fprintf(w, "Sweep: %s, %s", e.Type, view.Plural(e.Total, "variation"))
	if e.Type == sweep.Adaptive {
		fmt.Fprint(w, " at most, each chosen from the results of those before it")
	}
	if e.Trials > 1 {
		fmt.Fprintf(w, ", %d runs of each", e.Trials)
	}
	fmt.Fprint(w, "\n\n")
	for _, v := range e.Variations {
		fmt.Fprintf(w, "[%d] ", v.Index)
		if v.Folder != "" {
			fmt.Fprintf(w, "dir=%s  ", v.Folder)
		}
		fmt.Fprintf(w, "label=%s\n", v.Label)
		if v.Benchmark == nil {
			continue
		}
		if err := writeYAML(w, v.Benchmark, "    "); err != nil {
			return err
		}
	}
	return nil
}

// writeYAML writes a value as YAML, every line after an indent.
func writeYAML(w io.Writer, v any, indent string) error {
	text, err := plainjson.Marshal(v)
	if err != nil {
		return err
	}
	if text, err = yaml.JSONToYAML(text); err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if _, err := io.WriteString(w, indent+line); err != nil {
			return err
		}
	}
	return nil
}
