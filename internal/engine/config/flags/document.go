package flags

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
)

// Document builds the document that the options describe, or lays them over the file
// of --config, and checks it like [Load]. Problems name the option at fault. The
// error is *Invalid, *Malformed for an unreadable --config, or an error of
// reading a file.
func (f *Flags) Document() (*config.Document, []problem.Problem, error) {
	draft, err := f.Draft()
	if err != nil {
		return nil, nil, err
	}
	doc, warnings, err := draft.Load()
	return doc, f.explain(warnings), f.Explain(err)
}

// Draft is what [Flags.Document] loads, with the problems of the command line. The error
// is *Malformed for an unreadable --config, or an error of reading a file.
func (f *Flags) Draft() (*config.Draft, error) {
	b, err := f.newOverlay()
	if err != nil {
		return nil, err
	}
	layPlain(b)
	layPhases(b)
	laySearch(b)
	layStudy(b)
	layFilters(b)
	layVariables(b)
	layOther(b)
	b.draft.Add(&f.report)
	return b.draft, nil
}

// overlay is a draft that options are laid over.
type overlay struct {
	flags     *Flags
	draft     *config.Draft
	benchmark *tree.Node
	file      bool                 // the draft came from --config
	taken     map[string]string    // path → the option that wrote it
	swept     []*occurrence        // those with lists of values
	dropped   map[*occurrence]bool // about load: reported, not applied
}

func (f *Flags) newOverlay() (*overlay, error) {
	b := &overlay{flags: f, taken: make(map[string]string), dropped: make(map[*occurrence]bool)}
	if file := f.get("--config"); file == nil {
		b.draft = config.NewDraft(f.Options)
		b.draft.FlagFor = flagFor
	} else {
		data, err := f.readConfig(file.values[0])
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file.values[0], err)
		}
		if b.draft, err = config.Read(data, f.Options); err != nil {
			return nil, fmt.Errorf("%s: %w", file.values[0], err)
		}
		b.file = true
	}
	b.benchmark = b.draft.Root.Get("benchmark")
	if b.benchmark == nil || b.benchmark.Shape != tree.Object {
		// The loader reports it; there is no section for the option.
		b.benchmark = tree.ObjectNode()
	}
	return b, nil
}

// readConfig reads the document of --config: a file, or the folder of a run.
func (f *Flags) readConfig(name string) ([]byte, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() && f.Folder != nil {
		f.folder = true
		data, err := f.Folder(name)
		if err != nil {
			err = errors.Join(errNoConfig, err)
		}
		return data, err
	}
	return readFile(name, cmp.Or(max(f.Options.MaxBytes, 0), tree.MaxBytes))
}

// readFile reads a whole file that must not be longer than most.
func readFile(name string, most int) ([]byte, error) {
	file, err := config.OpenFile(name, nil)
	if err != nil {
		return nil, errors.Join(errNoConfig, err)
	}
	data, err := io.ReadAll(io.LimitReader(file, int64(most)+1))
	return data, errors.Join(err, file.Close())
}

// layPlain lays the options that are not about phases, sweeps and searches.
func layPlain(b *overlay) {
	for _, occ := range b.flags.typed {
		section, _, _ := strings.Cut(occ.option.path, ".")
		warnRepeated(b, occ)
		switch {
		case occ.option.status == inert:
			b.draft.Warn(b.place(occ, ""), problem.CodeNoEffect, "%s has no effect: %s",
				occ.spelling, cmp.Or(occ.option.why, "aiperfd is a single process without a message bus"))
		case slices.Contains([]string{"profiling", "warmup", "sweep", "search", "recipe"}, section):
		case occ.option.path != "":
			layOption(b, occ)
		}
	}
	layWeights(b)
	checkSections(b)
	layFileDataset(b)
	for _, path := range []string{
		"prompts.isl", "turns", "images.width", "images.height", "audio.length",
		"rankings.passages", "rankings.passageTokens", "rankings.queryTokens",
	} {
		layMeanForSpread(b, "dataset."+path)
	}
	checkOutputSpread(b)
}

// warnRepeated warns about an option that was given more than once: as in most programs the last value
// counts, so that a script can add flags to those that it was given.
func warnRepeated(b *overlay, occ *occurrence) {
	first := ""
	if occ.before != occ.spelling {
		first = ", first as " + occ.before
	}
	if occ.before != "" {
		b.draft.Warn(b.place(occ, ""), problem.CodeNoEffect, "%s: given more than once%s; the last value is used", occ.spelling, first)
	}
}

// checkOutputSpread: AIPerf has no mean to fall back to for output lengths.
func checkOutputSpread(b *overlay) {
	spread, osl := b.flags.get("--osl-stddev"), b.find("dataset.prompts.osl")
	if spread == nil || osl == nil || osl.Get("mean") != nil {
		return
	}
	b.fail(spread, problem.CodeConflict, "needs --osl")
	parent := b.find("dataset.prompts")
	if b.isFile() {
		parent = b.find("dataset")
	}
	parent.Drop("osl")
}

// layOption lays one option over the tree.
func layOption(b *overlay, occ *occurrence) {
	path := occ.option.path
	if !b.free(path, occ) {
		return
	}
	switch occ.option.names {
	case "--verbose -v", "--extra-verbose -vv":
		layVerbose(b, occ)
		return
	case "--hf-weka-dataset":
		b.set(path, occ, tree.TextNode(config.WekaPrefix+strings.TrimPrefix(occ.values[0], config.WekaPrefix)))
		return
	}
	switch path {
	case "models.items":
		layModels(b, occ)
	case "models.weights": // after the models
	case "endpoint.apiKey":
		layKey(b, occ)
	case "otel.stream":
		layStream(b, occ)
	case "gpuTelemetry.urls":
		layGPUTelemetry(b, occ)
	case "serverMetrics.urls":
		layServerMetrics(b, occ)
	case "networkLatency.enabled", "networkLatency.meanMs", "networkLatency.pingInterval":
		layNetworkLatency(b, occ, path)
	case "endpoint.headers", "endpoint.extra", "endpoint.urlParams", "otel.customResourceAttributes", "mlflow.tags",
		"dataset.filters", "slos":
		layObject(b, occ, path)
	case "dataset.audio.depths", "dataset.audio.sampleRates":
		layNumbers(b, occ, path)
	case "dataset.prompts.randomRangeRatio":
		layRatio(b, occ, path)
	case "dataset.prompts.sequenceDistribution":
		layPairs(b, occ, path)
	case "endpoint.resetKvCache", "endpoint.serverProfiler":
		laySection(b, path, occ)
	case "endpoint.affinityHeaders":
		layAffinity(b, path, occ)
	case "endpoint.preconnect", "endpoint.streamUsage", "endpoint.tlsVerify", "serverMetrics.enabled", "gpuTelemetry.enabled", "path.enabled":
		b.set(path, occ, &tree.Node{Shape: tree.Boolean, Scalar: strconv.FormatBool(!occ.on)})
	case "client.certify":
		when := tree.TextNode("none")
		if occ.on {
			when = tree.TextNode("before")
		}
		b.set(path, occ, when)
	default:
		if n := b.value(occ); n != nil {
			b.set(path, occ, n)
		}
	}
}

// layNumbers lays a comma list of numbers over the tree.
func layNumbers(b *overlay, occ *occurrence, path string) {
	items := b.value(occ)
	if items == nil {
		return
	}
	for _, item := range items.Items {
		if tree.IsNumber(item.Scalar) {
			item.Shape = tree.Number
		}
	}
	b.set(path, occ, items)
}

// layStream selects what is sent to OpenTelemetry.
func layStream(b *overlay, occ *occurrence) {
	chosen := map[string]bool{}
	for _, name := range commaList(occ.values) {
		switch strings.ToLower(name) {
		case "metrics", "timing":
			chosen[strings.ToLower(name)] = true
		case "default":
			chosen["metrics"], chosen["timing"] = true, true
		default:
			b.fail(occ, problem.CodeBadEnum, problem.Clip(name)+": must be metrics, timing or default; "+occ.option.why)
			return
		}
	}
	for name, path := range map[string]string{"metrics": "otel.streamMetricsEnabled", "timing": "otel.streamTimingEnabled"} {
		b.set(path, occ, &tree.Node{Shape: tree.Boolean, Scalar: strconv.FormatBool(chosen[name])})
	}
}

// layNetworkLatency lays the options of the round trip over the tree: one measures it, one gives it.
func layNetworkLatency(b *overlay, occ *occurrence, path string) {
	const automatic, given = "--network-latency-automatic", "--network-latency-mean"
	measured := b.flags.get(automatic)
	switch {
	case path == "networkLatency.enabled" && occ.on && b.flags.get(given) != nil:
		b.fail(occ, problem.CodeConflict,
			"conflicts with "+given+": the round trip is either measured or given; use only one of them")
		return
	case path == "networkLatency.pingInterval" && b.flags.get(given) != nil:
		b.fail(occ, problem.CodeConflict, "conflicts with "+given+", with which nothing is probed")
		return
	case path == "networkLatency.pingInterval" && measured != nil && !measured.on:
		b.fail(occ, problem.CodeConflict, "contradicts "+measured.spelling+"=false")
		return
	}
	n := b.value(occ)
	if n == nil {
		return
	}
	b.set(path, occ, n)
	switch {
	case path == "networkLatency.enabled" && occ.on: // it is measured, whatever the document gives
		if parent := b.find("networkLatency"); parent != nil {
			parent.Drop("meanMs")
		}
	case path == "networkLatency.meanMs":
		b.set("networkLatency.enabled", occ, &tree.Node{Shape: tree.Boolean, Scalar: "true"})
	}
}

// layGPUTelemetry sorts AIPerf's list of collectors, pages, a CSV file and the word dashboard.
func layGPUTelemetry(b *overlay, occ *occurrence) {
	pages := &tree.Node{Shape: tree.List, Place: b.place(occ, "gpuTelemetry.urls")}
	for _, item := range commaList(occ.values) {
		switch word := strings.ToLower(item); {
		case word == "dashboard":
			b.set("gpuTelemetry.mode", occ, tree.TextNode("realtime_dashboard"))
		case word == "pynvml" || word == "amdsmi" || word == "dcgm":
			b.set("gpuTelemetry.collector", occ, tree.TextNode(word))
		case strings.HasSuffix(item, ".csv"):
			b.set("gpuTelemetry.metricsFile", occ, tree.TextNode(item))
		case strings.HasPrefix(item, "http") || strings.Contains(item, ":"):
			pages.Items = append(pages.Items, tree.TextNode(item))
		default:
			b.fail(occ, problem.CodeBadEnum, problem.Clip(item)+": must be the URL of an exporter of GPU metrics, pynvml, amdsmi, "+
				"dashboard, or a CSV file with fields of DCGM")
		}
	}
	if len(pages.Items) > 0 {
		b.set("gpuTelemetry.urls", occ, pages)
	}
	turnOn(b, occ, "gpuTelemetry")
}

// layServerMetrics lays the pages of servers; without one, the metrics are read as they are without the flag.
func layServerMetrics(b *overlay, occ *occurrence) {
	if len(occ.values) > 0 {
		if pages := b.value(occ); pages != nil {
			b.set("serverMetrics.urls", occ, pages)
		}
	}
	turnOn(b, occ, "serverMetrics")
}

// turnOn turns a section on that the document switches off.
func turnOn(b *overlay, occ *occurrence, section string) {
	on := section + ".enabled"
	if off := b.find(on); off != nil && off.Flag == "" {
		b.set(on, occ, &tree.Node{Shape: tree.Boolean, Scalar: "true"})
	}
	if len(occ.values) == 0 && b.find(section+".urls") == nil { // so that it conflicts with the flag that turns the section off
		b.set(section+".urls", occ, tree.ListNode())
	}
}

// layModels lays the names of models.
func layModels(b *overlay, occ *occurrence) {
	names := b.value(occ)
	if names == nil {
		return
	}
	for i, name := range names.Items {
		named := tree.ObjectNode(tree.Member{Place: name.Place, Name: "name", Value: name})
		named.Place = name.Place
		names.Items[i] = named
	}
	b.set("models.items", occ, names)
}

// layWeights gives the models their weights, and selects by them unless a strategy is given.
func layWeights(b *overlay) {
	occ := b.flags.get("--model-weights")
	if occ == nil {
		return
	}
	weights, models := b.value(occ), b.find("models.items")
	if weights == nil {
		return
	}
	if models == nil || len(models.Items) != len(weights.Items) {
		n := 0
		if models != nil {
			n = len(models.Items)
		}
		b.fail(occ, problem.CodeConflict, fmt.Sprintf("needs one weight per model (--model): the weights are %d, the models %d", len(weights.Items), n))
		return
	}
	for i, weight := range weights.Items {
		if tree.IsNumber(weight.Scalar) {
			weight.Shape = tree.Number
		}
		weight.Place = b.place(occ, config.CanonicalPointer(fmt.Sprintf("benchmark.models.items.%d.weight", i)))
		models.Items[i].Set("weight", weight)
	}
	if b.find("models.strategy") == nil {
		b.set("models.strategy", occ, tree.TextNode("weighted"))
	}
}

// layKey takes the key itself, or the file that holds it. It overrides the key of
// the document.
func layKey(b *overlay, occ *occurrence) {
	key := occ.values[0]
	if occ.option.kind == optFile {
		var err error
		if key, err = config.KeyFrom(key, nil); err != nil {
			b.fail(occ, problem.CodeFileNotAllowed, "the file cannot be read")
			return
		}
	}
	if key == "" {
		b.fail(occ, problem.CodeRequired, "the key is empty")
		return
	}
	if endpoint := b.find("endpoint"); endpoint != nil {
		endpoint.Drop("apiKeyFile")
	}
	b.set("endpoint.apiKey", occ, tree.TextNode(key))
}

// laySection switches a section that has options on or off.
func laySection(b *overlay, path string, occ *occurrence) {
	switch {
	case !occ.on:
		b.set(path, occ, &tree.Node{Shape: tree.Null})
	case b.find(path) == nil:
		b.set(path, occ, tree.ObjectNode())
	}
}

// checkSections reports options of sections that are switched off. Otherwise they switch it on,
// as in AIPerf.
func checkSections(b *overlay) {
	for _, occ := range b.flags.typed {
		parent, _, nested := strings.Cut(strings.TrimPrefix(occ.option.path, "endpoint."), ".")
		if !nested || parent != "resetKvCache" && parent != "serverProfiler" {
			continue
		}
		on := b.flags.get("--reset-kv-cache")
		if parent == "serverProfiler" {
			on = b.flags.get("--server-profiler")
		}
		if on != nil && !on.on {
			b.fail(occ, problem.CodeConflict, "contradicts "+on.spelling+"=false")
		}
	}
}

// layAffinity takes names of headers; none stands for no header.
func layAffinity(b *overlay, path string, occ *occurrence) {
	names := b.value(occ)
	if names == nil {
		return
	}
	if len(names.Items) == 1 && names.Items[0].Scalar == "none" {
		names.Items = nil
	}
	b.set(path, occ, names)
}

// layVerbose lays a level of logging, with the display that leaves room for it.
func layVerbose(b *overlay, occ *occurrence) {
	level := "DEBUG"
	if strings.HasPrefix(occ.option.names, "--extra") {
		level = "TRACE"
	}
	if !occ.on {
		return
	}
	b.set("logging.level", occ, tree.TextNode(level))
	if !b.flags.Given("--ui") {
		b.set("runtime.ui", occ, tree.TextNode("simple"))
	}
}

// layFileDataset sets the type that --input-file and --public-dataset imply; both together
// are a local copy of a public dataset.
func layFileDataset(b *overlay) {
	input, name, field := b.flags.get("--input-file"), "file", "path"
	if public := cmp.Or(b.flags.get("--public-dataset"), b.flags.get("--hf-weka-dataset")); public != nil {
		input, name, field = public, "public", "dataset"
	}
	if input == nil {
		return
	}
	kind := b.find("dataset.type")
	if kind != nil && kind.Scalar != name || kind == nil && b.file && b.find("dataset.prompts") != nil {
		failOtherDataset(b, input, name, kind)
		b.find("dataset").Drop(field) // its place would be a second problem
		return
	}
	b.set("dataset.type", input, tree.TextNode(name))
	if d := b.find("dataset"); d != nil {
		d.Drop("records")
	}
}

// failOtherDataset reports an option for a dataset of type name, if that of --config is another.
func failOtherDataset(b *overlay, input *occurrence, name string, kind *tree.Node) {
	whose, is := "configuration file", "synthetic"
	if b.flags.folder {
		whose = "run"
	}
	if kind != nil {
		is = problem.Clip(kind.Scalar)
	}
	b.fail(input, problem.CodeConflict, fmt.Sprintf("the dataset of the %s is of type %s, not %s, and an option does not change the type; "+
		"give the options of the %[1]s without --config", whose, is, name))
}

// layMeanForSpread gives a spread that was typed alone AIPerf's mean.
func layMeanForSpread(b *overlay, path string) {
	n := b.find(path)
	if n == nil || n.Shape != tree.Object || n.Get("mean") != nil || n.Get("stddev") == nil || n.Get("stddev").Flag == "" {
		return
	}
	mean := schema.Default[float64](fieldOf(path))
	n.Set("mean", &tree.Node{Shape: tree.Number, Scalar: schema.FormatNumber(mean)})
}
