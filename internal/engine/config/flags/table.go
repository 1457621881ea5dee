// This file has the flag table. flags.md beside it has the spellings, the groups and the help.

package flags

import (
	_ "embed"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/redact"
)

// optionKind is the way in which an option takes values.
type optionKind uint8

const (
	optBool    optionKind = iota // presence; =true and =false are understood too
	optText                      // one value
	optNumber                    // one number
	optFile                      // one path
	optList                      // comma lists, repeated
	optWords                     // comma lists, repeated, and several tokens up to the next flag
	optHeader                    // like optWords without commas; Name:Value or JSON
	optExtra                     // like optWords; name:value or JSON
	optGoodput                   // "tag:number tag:number" in one argument
)

// optionStatus is how aiperfd treats an option.
type optionStatus uint8

const (
	supported optionStatus = iota
	refused                // AIPerf's, and not here yet
	inert                  // AIPerf's, without meaning in one process
)

// option is one row of the flag table.
type option struct {
	names  string // all spellings, blanks between; the first is the main one
	kind   optionKind
	path   string
	status optionStatus
	why    string // inert: the reason; "" = that of a program of one process; refused: what to know besides
	extra  bool   // refused: it only adds files or destinations, so that --ignore-unsupported leaves it out
	bare   bool   // without a value it turns its section on
	redact redact.FlagKind

	// Of flags.md, which has the names too.
	name    string // the main spelling
	negated string // the spelling for false; "" = none
	group   string
	help    string
	def     string // effective default, for the help text; "" there = that of the field, if it is a constant
}

// spellings returns all names, the negated one included.
func (o option) spellings() []string {
	return append(strings.Fields(o.names), strings.Fields(o.negated)...)
}

// several reports whether an option takes tokens up to the next flag.
func (o option) several() bool { return o.kind >= optWords && o.kind <= optExtra }

//go:embed flags.md
var flagTexts string

// options returns the flags in the order of flags.md.
var options = sync.OnceValue(func() []option {
	rows := make(map[string]option)
	for _, row := range append(fieldRows(), optionRows()...) {
		for name := range strings.FieldsSeq(row.names) {
			rows[name] = row
		}
	}
	var all []option
	_, groups, _ := strings.Cut(flagTexts, "\n## ") // behind the heading of the file
	for section := range strings.SplitSeq(groups, "\n## ") {
		group, flags, _ := strings.Cut(section, "\n")
		for flag := range strings.SplitSeq(strings.TrimPrefix(flags, "\n### "), "\n### ") {
			heading, help, _ := strings.Cut(flag, "\n")
			names, negated, _ := strings.Cut(heading, " / ")
			name, _, _ := strings.Cut(names, " ")
			row, ok := rows[name]
			if !ok {
				panic("the flag table has no row of " + name) // a test reads every flag
			}
			help, row.def, _ = strings.Cut(strings.TrimSpace(help), "\n\nDefault: ")
			row.name, row.names, row.negated, row.group, row.help = name, names, negated, group, help
			all = append(all, row.completed())
		}
	}
	return all
})

func flagTable() map[string]option {
	table := make(map[string]option)
	for _, o := range options() {
		for _, name := range o.spellings() {
			table[name] = o
		}
	}
	return table
}

// supportedOptions returns those that do something.
func supportedOptions() []option {
	return slices.DeleteFunc(slices.Clone(options()), func(o option) bool { return o.status != supported })
}

// completed returns a row with what follows from its kind and its field: how it is shown, and the
// default. A switch says what it does, and not what is the case without it.
func (o option) completed() option {
	switch o.kind {
	case optBool:
		o.redact = redact.Bool
	case optFile:
		o.redact = redact.File
	}
	if o.def == "" && o.kind != optBool {
		o.def = constantDefault(o.path)
	}
	return o
}

// constantDefault returns the default of the field at an option's path, if it is the same in every
// document.
func constantDefault(path string) string {
	switch value := schema.FieldAt(strings.TrimSuffix(fieldOf(path), ".mean")).Value.(type) {
	case nil:
		if strings.HasSuffix(path, ".stddev") {
			return "0"
		}
		return ""
	case float64:
		return schema.FormatNumber(value)
	case []string:
		return strings.Join(value, ", ")
	default:
		return fmt.Sprint(value)
	}
}

// fieldOf returns the generic path of the field that an option's path names.
func fieldOf(path string) string {
	for _, root := range []struct{ option, field string }{
		{"dataset.", "datasets.*."}, {"profiling.", "phases.*."}, {"warmup.", "phases.*."},
	} {
		if rest, ok := strings.CutPrefix(path, root.option); ok {
			path = root.field + rest
		}
	}
	if atRoot(path) {
		return path
	}
	return "benchmark." + path
}

// atRoot reports whether an option's path is beside the benchmark section.
func atRoot(path string) bool {
	return slices.Contains([]string{"randomSeed", "noSweepTable", "ignoreUnsupported"}, path) ||
		strings.HasPrefix(path, "sweep.") || strings.HasPrefix(path, "multiRun.") || strings.HasPrefix(path, "repeats.")
}

// sweepable are the options of which AIPerf takes a comma list as a sweep.
const sweepable = "--conversation-num --conversation-turn-mean --prompt-input-tokens-mean --prompt-input-tokens-stddev " +
	"--prompt-output-tokens-mean --prompt-output-tokens-stddev --benchmark-duration --concurrency --prefill-concurrency " +
	"--request-rate --request-count --num-users"

// fieldRows are the rows of the flags that the table of fields names.
func fieldRows() []option {
	var rows []option
	for _, field := range schema.Fields() {
		for name := range strings.FieldsSeq(field.Flags) {
			rows = append(rows, ofField(field, name))
		}
	}
	return rows
}

// ofField returns the row of a flag that gives a field: how it takes values follows from their Go type.
func ofField(field schema.Field, name string) option {
	path := strings.TrimPrefix(field.Path, "benchmark.")
	if rest, ok := strings.CutPrefix(path, "datasets.*."); ok {
		path = "dataset." + rest
	}
	if rest, ok := strings.CutPrefix(path, "phases.*."); ok {
		path = "profiling." + rest
		if strings.Contains(name, "warmup") && hasMainFlag(field) {
			path = "warmup." + rest
		}
	}
	o := option{names: name, path: path, kind: optText}
	t := typeAt(field.Path)
	switch t {
	case reflect.TypeFor[config.Distribution]():
		o.kind, o.path = optNumber, path+"."+name[strings.LastIndexByte(name, '-')+1:]
	case reflect.TypeFor[config.Headers]():
		o.kind, o.redact = optHeader, redact.Header
	case reflect.TypeFor[config.Params]():
		o.kind, o.redact = optHeader, redact.KeyValue
	case reflect.TypeFor[config.Object]():
		o.kind, o.redact = optExtra, redact.KeyValue
	case reflect.TypeFor[config.Objectives]():
		o.kind = optGoodput
	case reflect.TypeFor[[]secret.URL]():
		o.kind, o.redact = optWords, redact.URLs
	case reflect.TypeFor[[]sweep.Scenario]():
		o.kind = optWords
	case reflect.TypeFor[secret.URL]():
		o.redact = redact.URLs
	case reflect.TypeFor[secret.Text]():
		o.redact = redact.Secret
	case reflect.TypeFor[config.RangeRatio](), reflect.TypeFor[[]config.LengthPair](): // notations of their own
	default:
		o.kind = plainKind(t.Kind(), field.Form)
	}
	return o
}

// hasMainFlag reports whether a field of phases has a flag for the profiling phase. Fields whose only flag is about
// warm-ups are fields of the profiling phase.
func hasMainFlag(field schema.Field) bool {
	return slices.ContainsFunc(strings.Fields(field.Flags), func(flag string) bool {
		return !strings.Contains(flag, "warmup")
	})
}

// plainKind returns how an option takes a value of one of Go's own kinds. A struct is a section that is
// switched on.
func plainKind(kind reflect.Kind, form string) optionKind {
	switch kind {
	case reflect.Bool, reflect.Struct:
		return optBool
	case reflect.Int, reflect.Int64, reflect.Float64:
		return optNumber
	case reflect.Slice:
		return optList
	}
	if form == "file" {
		return optFile
	}
	return optText
}

// typeAt returns the Go type of the field at a path.
func typeAt(path string) reflect.Type {
	t := reflect.TypeFor[config.Document]()
	for name := range strings.SplitSeq(path, ".") {
		if name == "*" {
			t = t.Elem()
			continue
		}
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		field, _, _ := schema.FieldNamed(t, name)
		t = field.Type
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// optionRows are the rows of the other flags, by their first spelling.
// Paths are relative to the benchmark section; dataset, profiling and warmup stand for the only
// dataset and for the phases of that kind.
func optionRows() []option {
	return []option{
		{names: "--model-weights", kind: optList, path: "models.weights"},
		{names: "--transport", kind: optText, path: "endpoint.transport"},
		{names: "--api-key-file", kind: optFile, path: "endpoint.apiKey"},
		{
			names: "--tokenizer-trust-remote-code", kind: optBool, status: inert,
			why: "it never runs code of a tokenizer's repository",
		},
		{names: "--config", kind: optFile},
		{names: "--hf-weka-dataset", kind: optText, path: "dataset.dataset"},
		{names: "--fixed-schedule", kind: optBool},
		{names: "--timing", kind: optText},
		{names: "--no-fixed-schedule", kind: optBool},
		{names: "--image-source", kind: optText, path: "dataset.images.source", redact: redact.File},
		{names: "--plot-required", kind: optBool, status: inert, why: "nothing is plotted after the run"},
		{
			names: "--stream", kind: optWords, path: "otel.stream",
			why: "it selects what is sent to OpenTelemetry; for streamed responses use --streaming",
		},
		{names: "--server-metrics-formats", kind: optWords, path: "serverMetrics.formats"},
		{names: "--mlflow-artifact-glob", kind: optWords, path: "mlflow.artifactGlobs"},
		{names: "--server-metrics", kind: optWords, path: "serverMetrics.urls", redact: redact.URLs, bare: true},
		{names: "--gpu-telemetry", kind: optWords, path: "gpuTelemetry.urls", redact: redact.URLs, bare: true},
		{names: "--no-gpu-telemetry", kind: optBool, path: "gpuTelemetry.enabled"},
		{names: "--otel-receive", kind: optBool, path: "otel.receive"},
		{names: "--no-path-telemetry", kind: optBool, path: "path.enabled"},
		{names: "--on-worker-lost", kind: optText, path: "cluster.onWorkerLost"},
		{names: "--workers", kind: optNumber, path: "cluster.workers"},
		{names: "--spawn-workers", kind: optNumber, path: "cluster.workers"},
		{names: "--bus-listen", kind: optText},
		{names: "--bus-url", kind: optText, redact: redact.URLs},
		{names: "--bus-creds", kind: optText, redact: redact.File},
		{names: "--bus-prefix", kind: optText},
		{names: "--bus-ca", kind: optText, redact: redact.File},
		{names: "--bus-token-file", kind: optText, redact: redact.File},
		{names: "--bus-cert", kind: optText, redact: redact.File},
		{names: "--bus-key", kind: optText, redact: redact.File},
		{names: "--bus-client-ca", kind: optText, redact: redact.File},
		{names: "--insecure-bus", kind: optBool},
		{names: "--fail-on-finding", kind: optWords, path: "gates.failOnFinding"},
		{names: "--search-space", kind: optList, path: "search.space"},
		{names: "--search-metric", kind: optText, path: "search.metric"},
		{names: "--search-stat", kind: optText, path: "search.stat"},
		{names: "--search-direction", kind: optText, path: "search.direction"},
		{names: "--sweep-stop-when", kind: optList, path: "search.stopWhen"},
		{names: "--search-sla", kind: optList, path: "search.sla"},
		{names: "--search-sla-tier", kind: optList, path: "search.tier"},
		{names: "--search-recipe", kind: optText, path: "recipe.name"},
		{names: "--verbose", kind: optBool, path: "logging.level"},
		{names: "--extra-verbose", kind: optBool, path: "logging.level"},
		{names: "--certify", kind: optBool, path: "client.certify"},
		{names: "--auto-plot", kind: optBool, status: refused, extra: true},
		{names: "--accuracy-tasks", kind: optList, status: refused},
		{names: "--zmq-ipc-path", kind: optText, status: inert, redact: redact.File},
		{names: "--zmq-dual-bind", kind: optBool, status: inert},

		// Options that are treated alike: those that are not supported, and those that recipes read.
		{
			kind: optBool, status: refused,
			names: "--accuracy-enable-cot --accuracy-verbose",
		},
		{
			kind: optText, status: refused,
			names: "--optuna-sampler --optuna-acquisition --optuna-terminator --search-percentile-pooling " +
				"--bo-constraint-mode --accuracy-benchmark --accuracy-n-shots --accuracy-grader " +
				"--accuracy-system-prompt",
		},
		{
			kind: optText, status: refused, extra: true,
			names: "--wandb-project --wandb-entity --wandb-run-name",
		},
		{
			kind: optWords, status: refused, extra: true,
			names: "--wandb-tag",
		},
		{
			kind: optNumber, path: "recipe.option",
			names: "--ttft-sla-ms --itl-sla-ms --tpot-sla-ms --e2e-sla-ms --error-rate-sla --slo-attainment-fraction " +
				"--degradation-threshold --isl-min --isl-max --isl-steps --concurrency-min --concurrency-max " +
				"--concurrency-steps --rate-min --rate-max --rate-steps --osl-min --osl-max --osl-steps " +
				"--search-precision --search-start --search-max-load-seconds --search-warmup-seconds",
		},
		{
			kind: optText, path: "recipe.option",
			names: "--isl-osl-pairs --search-style --degradation-metric-tag --degradation-stat",
		},
		{kind: optText, status: inert, names: "--record-processor-service-count --workers-max --zmq-host"},
	}
}
