package plan

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/dataset"
	"aiperfd/internal/engine/dataset/agentic"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/random"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/dataset/synthetic"
	"aiperfd/internal/engine/dataset/trace"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/hub"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/media"
)

// compileDataset fills the dataset of a plan, and its Tokens.
func compileDataset(c *compiler, p *Plan) {
	if len(c.b.Datasets) != 1 {
		c.problem("datasets", "out-of-range", "%d datasets; exactly one is possible", len(c.b.Datasets))
		return
	}
	d := &c.b.Datasets[0]
	compileTokens(c, p)
	p.CacheBust = compileCacheBust(c, d, &p.Kind)
	o := dataset.Options{Options: source.Options{Entries: d.Entries, Seed: p.Seed, System: readSystemPrompt(c, d)}}
	if d.RandomSeed != nil {
		o.Seed = bench.Seed(*d.RandomSeed)
	}
	if d.DelayCap != nil {
		limit := d.DelayCap.Duration()
		o.DelayCap = &limit
	}
	if given := sharedText(d); given != "" && !p.Kind.Caps.System {
		c.problem("datasets/0/"+given, "conflict", "the endpoint type %s takes neither a system message nor a context",
			p.Kind.Name)
	}
	if d.Warmup == "separate" && !slices.ContainsFunc(p.Phases, func(ph spec.Phase) bool { return ph.Kind == bench.Warmup }) {
		c.problem("datasets/0/warmup", "conflict",
			"there is no warm-up that could have data of its own (--warmup-request-count)")
	}
	if p.Settings.ExactLength = d.OSLExact; d.OSLExact && !p.Kind.ExactLength {
		c.problem("datasets/0/oslExact", "conflict", "the endpoint type %s has no fields that force a length; %s have",
			p.Kind.Name, exactKinds())
	}
	o.Timed = slices.ContainsFunc(p.Phases, func(ph spec.Phase) bool { return ph.Replay != nil })
	window(p.Phases, &o.Options)
	name := d.Type
	if d.Type == "synthetic" {
		o.Synthetic, o.OSL = compileSynthetic(c, d), compileDistribution(c, "datasets/0/prompts/osl", d.Prompts.OSL)
		checkCalibration(c, p, d)
	} else {
		compileRecords(c, p, d, &o)
	}
	if d.Type == "file" {
		name = d.Format
	}
	for _, kind := range dataset.Kinds() {
		if kind.Reads(name) {
			if kind.Name != name {
				o.Part = name
			}
			o.BlockSize = compileBlockSize(c, d, kind)
			o.StripImages = compileStrip(c, kind.Name)
			kind.Agentic = recordedSessions(d)
			compileRecorded(c, d, p, kind, &o)
			// Traces may need generated prompts; their records are not known yet.
			p.Tokens.Optional = p.Tokens.Optional && !kind.Trace && !(kind.File && kind.Format.Counts)
			p.Dataset = Dataset{Kind: kind, Options: o, Sampling: d.Sampling, Calibrate: d.Prompts.ISLCalibrate, SeparateWarmup: d.Warmup == "separate"}
			return
		}
	}
}

// compileRecords fills the options of a dataset whose conversations are read, and who counts their tokens.
func compileRecords(c *compiler, p *Plan, d *config.Dataset, o *dataset.Options) {
	o.Columns = source.Columns{
		Prompt: column(d.Columns.Prompt), System: column(d.Columns.System),
		OutputTokens: column(d.Columns.OutputTokens), Image: column(d.Columns.Image),
	}
	o.File, o.OSL, o.Open = compileFile(c, d), compileDistribution(c, "datasets/0/osl", d.OSL), mediaFiles(c, d.Path)
	o.Path = requestPath(&p.Kind, c.b.Endpoint.Path)
	o.Sample = d.TraceSessionSampleRatio
	if d.Filters != nil {
		o.Filters = map[string]string{}
		for name, value := range *d.Filters {
			o.Filters[name] = value.Reveal()
		}
	}
	o.SkipBad, o.Systems, o.Batch = d.SkipBadLines, p.Kind.Caps.System, batch(d)
	needed := p.Kind.Caps.ProducesTokens || p.Kind.Caps.TokenizesInput || p.Kind.Caps.TokenIDs
	p.Tokens.Optional = (p.Tokens.Server || !needed) && !p.Kind.Caps.TokenIDs
	if d.Type == "public" && compilePublic(c, d, o) {
		p.Tokens.Optional = false
	}
	p.Tokens.Fallback = !p.Tokens.Client && !p.Kind.Caps.ProducesTokens && !p.Kind.Caps.TokenIDs
}

// checkCalibration checks that the lengths of prompts can be compared with the server's
// counts.
func checkCalibration(c *compiler, p *Plan, d *config.Dataset) {
	const pointer = "datasets/0/prompts/islCalibrate"
	switch caps := &p.Kind.Caps; {
	case !d.Prompts.ISLCalibrate:
	case !caps.ProducesTokens || !caps.TokenizesInput || caps.TokenIDs || p.Kind.Name == "template":
		c.problem(pointer, "conflict", "the endpoint type %s has no prompts whose tokens servers report", p.Kind.Name)
	case p.Tokens.Template:
		c.problem(pointer, "conflict", "excludes tokenizer.applyChatTemplate, which subtracts the chat template already")
	}
}

// exactKinds lists the endpoint types that can force a length.
func exactKinds() string {
	var names []string
	for _, kind := range endpoint.Kinds() {
		if kind.ExactLength {
			names = append(names, kind.Name)
		}
	}
	return strings.Join(names, ", ")
}

// compileBlockSize returns the number of tokens per hash id; 0 = the format has no hash ids.
func compileBlockSize(c *compiler, d *config.Dataset, kind dataset.Kind) int {
	block := 0
	if kind.File {
		block = kind.Format.BlockSize
	}
	switch {
	case d.BlockSize == nil:
		return block
	case block == 0:
		c.problem("datasets/0/blockSize", "conflict", "only formats of traces with hash ids have blocks, and %s is none",
			kind.Name)
	}
	return *d.BlockSize
}

// compilePublic compiles the request for a public dataset and reports whether it needs a
// tokenizer.
func compilePublic(c *compiler, d *config.Dataset, o *dataset.Options) (counts bool) {
	set, err := dataset.FindPublic(d.Dataset)
	if err != nil {
		c.problem("datasets/0/dataset", "unsupported", "%v", err)
	}
	if d.HFRevision != "" && !hub.IsRevision(d.HFRevision) {
		c.problem("datasets/0/hfRevision", "out-of-range", "%q is not the name of a branch, a tag or a commit", d.HFRevision)
	}
	o.Public = dataset.PublicRequest{Name: d.Dataset, Subset: d.HFSubset, Split: d.HFSplit, Revision: d.HFRevision, Fetch: c.b.Tokenizer.AllowDownload}
	if set.Agentic && d.Filters != nil {
		c.problem("datasets/0/filters", "conflict", "%s has sessions of agents, which have no columns", d.Dataset)
	}
	return set.Read.Counts
}

// compileRecorded compiles the options of the replay of a trace, or of sessions of agents.
func compileRecorded(c *compiler, d *config.Dataset, p *Plan, kind dataset.Kind, o *dataset.Options) {
	checkBaseten(c, d, p, kind.Name)
	if kind.Agentic {
		o.Agentic = compileAgentic(c, d, p)
		return
	}
	o.Trace = compileTrace(c, d, p, kind)
	if c.b.GPUTelemetry.Count != nil {
		c.problem("gpuTelemetry/count", "conflict", "only recorded sessions (format %s) have rates per GPU",
			agentic.FormatWeka)
	}
}

// compileStrip reports whether repeated images are sent by their keys alone.
func compileStrip(c *compiler, format string) bool {
	const only = "single_turn"
	e := &c.b.Endpoint
	switch {
	case !e.UUIDAndStrip:
	case e.Type != "chat":
		c.problem("endpoint/uuidAndStrip", "conflict", "only the endpoint type chat has keys of images, not %s", e.Type)
	case format != only:
		c.problem("endpoint/uuidAndStrip", "conflict",
			"only valid for the format %s, whose records belong to a conversation by session_id", only)
	}
	return e.UUIDAndStrip
}

// checkBaseten reports fields of the format baseten_trace that another one has, or that exclude each other.
func checkBaseten(c *compiler, d *config.Dataset, p *Plan, format string) {
	given := []struct {
		field string
		has   bool
	}{
		{"maxIdleGapCapSeconds", d.MaxIdleGapCap != nil}, {"openLoopReplay", d.OpenLoopReplay != nil},
		{"openLoopStrict", d.OpenLoopStrict}, {"omitKvHints", d.OmitKVHints},
		{"forceMinTokens", d.ForceMinTokens != nil},
	}
	for _, one := range given {
		if one.has && format != trace.FormatBaseten {
			c.problem("datasets/0/"+one.field, "conflict", "only valid for the format %s", trace.FormatBaseten)
		}
	}
	closed := d.OpenLoopReplay != nil && !*d.OpenLoopReplay
	if closed && d.OpenLoopStrict {
		c.problem("datasets/0/openLoopStrict", "conflict",
			"excludes openLoopReplay: false, with which requests wait for the answers before them")
	}
	if closed && d.IgnoreTraceDelays {
		c.problem("datasets/0/openLoopReplay", "conflict", "excludes ignoreTraceDelays, which drops all delays")
	}
	if d.MaxIdleGapCap == nil {
		return
	}
	replays, cut := false, false
	for i := range p.Phases {
		if r := p.Phases[i].Replay; r != nil {
			replays, cut = true, cut || !r.Auto && r.Start > 0 || r.End >= 0
		}
	}
	switch {
	case !replays:
		c.problem("datasets/0/maxIdleGapCapSeconds", "conflict",
			"needs a phase of type fixed_schedule, which sends requests at their times")
	case cut:
		c.problem("datasets/0/maxIdleGapCapSeconds", "conflict",
			"excludes startOffset and endOffset, which are times with all gaps")
	}
}

// column is a list of the name that is given.
func column(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// batch returns the numbers of texts and media per request that a document gives for a
// dataset of a file.
func batch(d *config.Dataset) map[string]int {
	n := map[string]int{}
	if d.Prompts.BatchSize > 0 {
		n["prompts"] = d.Prompts.BatchSize
	}
	if d.Images != nil && d.Images.BatchSize != nil {
		n["images"] = *d.Images.BatchSize
	}
	if d.Audio != nil && d.Audio.BatchSize != nil {
		n["audio"] = *d.Audio.BatchSize
	}
	if d.Video != nil && d.Video.BatchSize != nil {
		n["video"] = *d.Video.BatchSize
	}
	return n
}

// sharedText names the member that adds a system message to all conversations, or a
// context to each one; empty = there is none.
func sharedText(d *config.Dataset) string {
	switch {
	case d.SystemPrompt != nil:
		return "systemPrompt"
	case d.SystemPromptFile != nil:
		return "systemPromptFile"
	case d.PrefixPrompts.SharedSystemLength != nil:
		return "prefixPrompts/sharedSystemLength"
	case d.PrefixPrompts.UserContextLength != nil:
		return "prefixPrompts/userContextLength"
	}
	return ""
}

// readSystemPrompt returns the literal system prompt, read from its file if the document
// names one.
func readSystemPrompt(c *compiler, d *config.Dataset) string {
	switch {
	case d.SystemPrompt != nil:
		return *d.SystemPrompt
	case d.SystemPromptFile != nil:
		text, err := readFile(c.doc, *d.SystemPromptFile, maxPrompt)
		if err != nil {
			c.problem("datasets/0/systemPromptFile", "file-not-allowed", "%v", err)
		}
		return string(text)
	}
	return ""
}

func compileFile(c *compiler, d *config.Dataset) file.File {
	f := file.File{Path: d.Path}
	if !c.doc.Trusted() && d.Path != "" {
		f.FS, f.Path = c.doc.DataFile(d.Path)
		f.MaxBytes = file.UntrustedMaxBytes
	}
	for _, r := range d.Records {
		raw, err := json.Marshal(r)
		if err != nil {
			c.problem("datasets/0/records", "wrong-type", "%v", err)
		}
		f.Records = append(f.Records, raw)
	}
	return f
}

func compileSynthetic(c *compiler, d *config.Dataset) synthetic.Spec {
	s := synthetic.Spec{
		ISL:   compileDistribution(c, "datasets/0/prompts/isl", d.Prompts.ISL),
		Turns: compileDistribution(c, "datasets/0/turns", d.Turns), TurnDelay: compileDistribution(c,
			"datasets/0/turnDelay", d.TurnDelay),
		DelayRatio: d.TurnDelayRatio, BatchSize: d.Prompts.BatchSize, Corpus: d.Prompts.Corpus,
		PrefixPool: d.PrefixPrompts.PoolSize, PrefixLength: d.PrefixPrompts.Length,
		Pairs: compilePairs(c, d.Prompts.SequenceDistribution), Style: random.Style(d.Prompts.RandomCorpusStyle),
	}
	if r := d.Prompts.RandomRangeRatio; r != nil {
		s.Ratio = synthetic.Ratio{Given: true, Input: r.Input, Output: r.Output}
	}
	s.SharedSystem, s.UserContext = given(d.PrefixPrompts.SharedSystemLength), given(d.PrefixPrompts.UserContextLength)
	compileMedia(c, d, &s)
	return s
}

// compileDistribution compiles a distribution; an absent one compiles to the zero value.
func compileDistribution(c *compiler, pointer string, d config.Distribution) random.Dist {
	if !d.Given() {
		return random.Dist{}
	}
	out, err := random.New(distSpec(d))
	if err != nil {
		c.problem(pointer, "out-of-range", "%v", err)
	}
	return out
}

// compilePairs compiles pairs of lengths; none compile to the zero value.
func compilePairs(c *compiler, pairs []config.LengthPair) random.Pairs {
	const pointer = "datasets/0/prompts/sequenceDistribution"
	if len(pairs) == 0 {
		return random.Pairs{}
	}
	list := make([]random.Pair, len(pairs))
	for i, p := range pairs {
		at := pointer + "/" + strconv.Itoa(i)
		list[i] = random.Pair{Input: compileDistribution(c, at+"/isl", p.ISL), Output: compileDistribution(c, at+"/osl",
			p.OSL), Probability: p.Probability}
	}
	out, err := random.NewPairs(list)
	if err != nil {
		c.problem(pointer, "out-of-range", "%v", err)
	}
	return out
}

func distSpec(d config.Distribution) random.Spec {
	s := random.Spec{Mean: d.Mean, Stddev: d.Stddev, Median: d.Median, Min: d.Min, Max: d.Max}
	for _, p := range d.Peaks {
		s.Peaks = append(s.Peaks, random.Peak{Spec: distSpec(p.Distribution), Weight: p.Weight})
	}
	for _, p := range d.Points {
		s.Points = append(s.Points, random.Point{Value: p.Value, Weight: p.Weight})
	}
	return s
}

// compileMedia compiles the generated images, audio clips, videos and rankings.
func compileMedia(c *compiler, d *config.Dataset, s *synthetic.Spec) {
	kind, _ := endpoint.Lookup(c.b.Endpoint.Type)
	if d.Images.On() {
		if !kind.Caps.Images {
			c.problem("datasets/0/images", "conflict", "the endpoint type %s takes no images", kind.Name)
		}
		s.Images = compileImages(c, d.Images)
	}
	if d.Audio.On() {
		if !kind.Caps.Audio {
			c.problem("datasets/0/audio", "conflict", "the endpoint type %s takes no audio", kind.Name)
		}
		s.Audio = compileAudio(c, d.Audio)
	}
	if d.Video.On() {
		if !kind.Caps.Video {
			c.problem("datasets/0/video", "conflict", "the endpoint type %s takes no video", kind.Name)
		}
		s.Videos = compileVideos(c, d.Video)
	}
	requireMedia(c, &kind, d)
	if r := d.Rankings; r != nil {
		s.Rankings = synthetic.Rankings{
			Passages:      compileDistribution(c, "datasets/0/rankings/passages", r.Passages),
			PassageTokens: compileDistribution(c, "datasets/0/rankings/passageTokens", r.PassageTokens),
			QueryTokens:   compileDistribution(c, "datasets/0/rankings/queryTokens", r.QueryTokens),
		}
	}
}

// requireMedia reports a synthetic dataset without what every request of the
// endpoint type must have.
func requireMedia(c *compiler, kind *endpoint.Kind, d *config.Dataset) {
	if kind.Caps.Needs.Audio && !d.Audio.On() {
		c.problem("datasets/0/audio", "required",
			"the endpoint type %s needs audio: set audio.length (--audio-length-mean 5) or use a file with audio "+
				"(--input-file)", kind.Name)
	}
	if kind.Caps.Needs.Images && !d.Images.On() {
		c.problem("datasets/0/images", "required",
			"the endpoint type %s needs images: set images.width (--image-width-mean 512) or use a file with images "+
				"(--input-file)", kind.Name)
	}
}

func compileImages(c *compiler, d *config.Images) synthetic.Images {
	out := synthetic.Images{
		BatchSize: *d.BatchSize, Format: d.Format, Source: d.Source, Sampling: d.SourceSampling,
		Width: compileDistribution(c, "datasets/0/images/width", d.Width), Height: compileDistribution(c,
			"datasets/0/images/height", d.Height),
	}
	dir := d.Directory()
	switch {
	case dir != "":
		files, err := c.doc.Folder(dir)
		if err != nil {
			c.problem("datasets/0/images/source", "file-not-allowed", "%v", err)
		}
		out.Source, out.Open = "files", c.open
		out.Files = slices.DeleteFunc(files, func(name string) bool { return !imageName(name) })
		if err == nil && len(out.Files) == 0 {
			c.problem("datasets/0/images/source", "out-of-range", "there is no PNG, JPEG, GIF or WebP file in %s", dir)
		}
	case d.Source == "assets": // AIPerf ships photographs; aiperfd generates images
		out.Source = "noise-smooth"
	}
	return out
}

// imageName reports whether the name of a file is that of an image.
func imageName(name string) bool {
	return slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif", ".webp"}, strings.ToLower(filepath.Ext(name)))
}

func compileAudio(c *compiler, d *config.Audio) synthetic.Audio {
	out := synthetic.Audio{
		BatchSize: *d.BatchSize, Length: compileDistribution(c, "datasets/0/audio/length", d.Length),
		Depths: d.Depths, Channels: d.Channels,
	}
	for _, rate := range d.SampleRates {
		out.SampleRates = append(out.SampleRates, int(math.Round(config.Hertz(rate))))
	}
	return out
}

func compileVideos(c *compiler, d *config.Video) synthetic.Videos {
	out := synthetic.Videos{BatchSize: *d.BatchSize, Clip: media.Video{
		Width: *d.Width, Height: *d.Height, Frames: d.Frames(), FPS: d.FPS, Pattern: d.SynthType, Format: d.Format, Codec: d.Codec,
	}}
	if a := d.Audio; a.Channels > 0 {
		out.Clip.Sound = &media.Clip{SampleRate: int(math.Round(config.Hertz(a.SampleRate))), Depth: a.Depth, Channels: a.Channels}
		out.Clip.SoundCodec = *a.Codec
	}
	if err := out.Clip.Check(); err != nil {
		c.problem("datasets/0/video", "out-of-range", "%v", err)
	}
	return out
}

// open opens a file within the bounds of the document.
func (c *compiler) open(name string) (io.ReadCloser, error) {
	f, err := c.doc.Open(name)
	if err != nil {
		return nil, err // not a nil file in an interface
	}
	return f, nil
}

// mediaFiles returns the function that opens the images, audio clips and videos that
// the records of a dataset name. Like all files of the document, they are read from
// the working directory, or in a daemon from its data directories; if they are not
// there, from the folder of the input.
func mediaFiles(c *compiler, input string) func(name string) (io.ReadCloser, error) {
	return func(name string) (io.ReadCloser, error) {
		f, err := c.open(name)
		if err == nil || filepath.IsAbs(name) || input == "" {
			return f, err
		}
		if beside, besideErr := c.open(filepath.Join(filepath.Dir(input), name)); besideErr == nil {
			return beside, nil
		}
		return nil, err
	}
}

// requestPath returns the function that checks whether the path of a recorded request is
// that of an endpoint type; nil = the type has none. own is the path that the document
// gives; nil = none.
func requestPath(kind *endpoint.Kind, own *string) func(path string) error {
	if kind.Path == "" {
		return nil
	}
	return func(path string) error {
		if path == kind.Path || own != nil && path == *own {
			return nil
		}
		for _, other := range endpoint.Kinds() {
			if other.Path == path {
				return fmt.Errorf("%q is the path of another endpoint type than %s: use --endpoint-type %s", path, kind.Name,
					other.Name)
			}
		}
		return fmt.Errorf("%q is not the path of the endpoint type %s, which is %s", path, kind.Name, kind.Path)
	}
}

// compileTrace compiles the options that only traces have.
func compileTrace(c *compiler, d *config.Dataset, p *Plan, kind dataset.Kind) (out trace.Spec) {
	for field, has := range map[string]bool{
		"maxContextLength": d.MaxContextLength != nil, "useThinkTimeOnly": d.UseThinkTimeOnly,
		"traceIdleGapCapSeconds": d.TraceIdleGapCap != nil, "gapRule": d.GapRule != "",
	} {
		if has {
			c.problem("datasets/0/"+field, "conflict", "only valid for the format %s", agentic.FormatWeka)
		}
	}
	if !kind.Trace {
		if d.TraceSessionSampleRatio != nil {
			c.problem("datasets/0/traceSessionSampleRatio", "conflict", "only the sessions of traces are sampled, and %s is none", kind.Name)
		}
		if d.IgnoreTraceDelays {
			c.problem("datasets/0/ignoreTraceDelays", "conflict", "only traces have recorded delays, and %s is none", kind.Name)
		}
		if d.Synthesis != nil {
			c.problem("datasets/0/synthesis", "conflict", "only traces can be changed, and %s is none", kind.Name)
		}
		return out
	}
	if out.IgnoreDelays = d.IgnoreTraceDelays; out.IgnoreDelays && slices.ContainsFunc(p.Phases, func(ph spec.Phase) bool { return ph.Replay != nil }) {
		c.problem("datasets/0/ignoreTraceDelays", "conflict",
			"a phase of type fixed_schedule sends the trace at its times; use --no-fixed-schedule, or another type")
	}
	out.Baseten = trace.Baseten{
		Closed: d.OpenLoopReplay != nil && !*d.OpenLoopReplay, Strict: d.OpenLoopStrict,
		NoHints: d.OmitKVHints, NoLeast: d.ForceMinTokens != nil && !*d.ForceMinTokens,
	}
	if limit := d.MaxIdleGapCap; limit != nil {
		out.Baseten.IdleCap = time.Duration(float64(limit.Duration()) * d.Speedup()) // times are divided by it later
	}
	for _, m := range c.b.Endpoint.Extra {
		if kind.Name == trace.FormatBaseten && slices.Contains(out.Baseten.Adds(), m.Name) {
			c.problem("endpoint/extra/"+m.Name, "conflict",
				"%s sends a recorded value; omitKvHints (--omit-kv-hints) and forceMinTokens: false (--no-force-min-tokens) "+
					"leave it out", kind.Name)
		}
	}
	if s := d.Synthesis; s != nil {
		if s.AllowDatasetWrap {
			c.problem("datasets/0/synthesis/allowDatasetWrap", "conflict", "only valid for the format %s", agentic.FormatWeka)
		}
		out.Synthesis = trace.Synthesis{
			PrefixLen: s.PrefixLenMultiplier, PromptLen: s.PromptLenMultiplier, OutputLen: s.OutputLenMultiplier,
			Roots: given(s.PrefixRootMultiplier), MaxISL: given(s.MaxISL), MaxOSL: given(s.MaxOSL),
		}
	}
	return out
}

// compileAgentic compiles the replay of sessions of agents.
func compileAgentic(c *compiler, d *config.Dataset, p *Plan) agentic.Spec {
	out := agentic.Spec{
		IgnoreDelays: d.IgnoreTraceDelays, ThinkOnly: d.UseThinkTimeOnly, MaxContext: given(d.MaxContextLength),
		Models: p.Models.Names,
	}
	out.AIPerfGaps = d.GapRule == "aiperf"
	if limit := d.TraceIdleGapCap; limit != nil {
		out.IdleCap = new(limit.Duration())
	}
	compilePauses(c, d)
	if s := d.Synthesis; s != nil {
		out.MaxOSL = given(s.MaxOSL)
		rest := *s
		rest.MaxOSL, rest.SpeedupRatio, rest.AllowDatasetWrap = nil, nil, false
		if rest != (config.Synthesis{}) {
			c.problem("datasets/0/synthesis", "conflict",
				"the prompts of weka_trace are those of the recording; only maxOsl (--synthesis-max-osl) and speedupRatio (--synthesis-speedup-ratio) are possible")
		}
	}
	if !p.Kind.Messages {
		c.problem("endpoint/type", "conflict", "the endpoint type %s takes no chat messages, which weka_trace has; use chat", p.Kind.Name)
	}
	for i := range p.Phases {
		if p.Phases[i].Replay != nil {
			c.problem(fmt.Sprintf("phases/%d/type", i), "conflict",
				"weka_trace has gaps between requests, but no times at which sessions start; use the type concurrency or agentic_replay")
		}
	}
	return out
}

// compilePauses reports options of pauses that exclude each other.
func compilePauses(c *compiler, d *config.Dataset) {
	given := []struct {
		field string
		has   bool
	}{
		{"ignoreTraceDelays", d.IgnoreTraceDelays}, {"useThinkTimeOnly", d.UseThinkTimeOnly},
		{"interTurnDelayCapSeconds", d.DelayCap != nil},
	}
	if d.IgnoreTraceDelays && d.UseThinkTimeOnly {
		c.problem("datasets/0/useThinkTimeOnly", "conflict", "excludes ignoreTraceDelays, which drops all pauses")
	}
	for _, one := range given {
		if one.has && d.TraceIdleGapCap != nil {
			c.problem("datasets/0/traceIdleGapCapSeconds", "conflict", "excludes %s: pauses follow from the times that it leaves", one.field)
		}
	}
}

// window leaves out what the only replay of a dataset leaves out, so that it is not
// prepared.
func window(phases []spec.Phase, o *source.Options) {
	var only *spec.Replay
	for i := range phases {
		if r := phases[i].Replay; r != nil {
			if only != nil {
				return
			}
			only = r
		}
	}
	if only == nil {
		return
	}
	if !only.Auto {
		o.From = &only.Start
	}
	if only.End >= 0 {
		o.Until = &only.End
	}
}
