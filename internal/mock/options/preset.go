package options

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/mock/batch"
	"aiperfd/internal/mock/random"
)

// SplitSize parses bytes:N.
func SplitSize(split string) (int, error) {
	text, ok := strings.CutPrefix(split, "bytes:")
	n, err := strconv.Atoi(text)
	if !ok || err != nil || n < 1 {
		others := strings.Join(Choices("split"), ", ")
		return 0, fmt.Errorf("split is %q, want bytes:N with N ≥ 1 or one of %s", split, others)
	}
	return n, nil
}

// Shaped reports whether events are changed before they are written.
func (o *Options) Shaped() bool {
	return o.NoSpace || o.ExtraFields || o.MultiLine || o.LineEnd == LineMixed
}

// ContentType returns the content type of streams and whether to send it.
func (o *Options) ContentType(right string) (kind string, named bool) {
	switch o.StreamType {
	case StreamTypePlain:
		return "text/plain", true
	case StreamTypeJSON:
		return "application/json", true
	case StreamTypeMissing:
		return "", false
	}
	return right, true
}

// Preset returns the parameters of a built-in accelerator, for Options.Accelerator. The
// caller owns them.
func Preset(name string) (*batch.Params, error) {
	for _, p := range batch.Presets() {
		if p.Name == name {
			return &p.Params, nil
		}
	}
	return nil, fmt.Errorf("preset is %q, want one of %s", name, strings.Join(Presets(), ", "))
}

// Presets lists the names of built-in accelerators.
func Presets() []string {
	var names []string
	for _, p := range batch.Presets() {
		names = append(names, p.Name)
	}
	return names
}

// fillAccelerator checks the accelerator and the options that it excludes, and limits the
// context length to the size of its cache.
func (o *Options) fillAccelerator(p *problems) {
	if o.Accelerator == nil {
		return
	}
	params := *o.Accelerator // the caller keeps its own
	o.Accelerator = &params
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"ttft", o.TTFT.IsSet()},
		{"itl", o.ITL.IsSet()},
		{"itl-per-request", o.ITLPerRequest},
		{"prefill-per-token", o.PrefillPerToken != 0},
		{"fast", o.Fast},
	} {
		p.want(!f.set, "%s cannot be combined with an accelerator, which computes its own times", f.name)
	}
	if err := params.Validate(); err != nil {
		*p = append(*p, err)
	}
	if room := params.Blocks * params.BlockSize; o.MaxModelLen == 0 {
		o.MaxModelLen = min(DefaultMaxModelLen, max(room, 1))
	} else {
		p.want(o.MaxModelLen <= room, "max-model-len is %d, but the cache has room for %d tokens (%d blocks of %d)",
			o.MaxModelLen, room, params.Blocks, params.BlockSize)
	}
}

// DefaultGPU is the default card.
const DefaultGPU = "h100-sxm"

// MaxGPUs is the maximum number of cards.
const MaxGPUs = 64

// GPU is a model of a card; the figures are rounded from its data sheet.
type GPU struct {
	Name, Title      string
	Memory           float64 // GiB
	Limit, Idle      float64 // W
	Clock, Boost     float64 // MHz, of the processors
	MemoryClock      float64 // MHz
	Coldest, Hottest float64 // °C
}

func gpus() []GPU {
	return []GPU{
		{"h100-sxm", "NVIDIA H100 80GB HBM3", 80, 700, 70, 1350, 1980, 1593, 40, 88},
		{"h100-pcie", "NVIDIA H100 PCIe", 80, 350, 40, 1095, 1830, 1593, 35, 82},
		{"h200", "NVIDIA H200", 141, 700, 70, 1350, 1980, 1593, 40, 88},
		{"b200", "NVIDIA B200", 192, 1200, 100, 1500, 2200, 2000, 40, 90},
		{"a100-sxm", "NVIDIA A100-SXM4-80GB", 80, 400, 50, 1095, 1410, 1593, 40, 85},
		{"l4", "NVIDIA L4", 24, 72, 16, 795, 2040, 6251, 35, 85},
		{"rtx-6000-ada", "NVIDIA RTX 6000 Ada Generation", 48, 300, 30, 915, 2505, 9001, 35, 83},
	}
}

// GPUs returns the names of cards for Options.GPU.
func GPUs() []string {
	var names []string
	for _, g := range gpus() {
		names = append(names, g.Name)
	}
	return names
}

// FindGPU returns the card with a name of [GPUs].
func FindGPU(name string) (GPU, error) {
	for _, g := range gpus() {
		if g.Name == name {
			return g, nil
		}
	}
	return GPU{}, fmt.Errorf("gpu is %q, want one of %s", name, strings.Join(GPUs(), ", "))
}

// Defaults of [JobOptions].
const (
	DefaultJobWorkers = 3
	DefaultJobTime    = 2 * time.Second
)

// The forms of output of the worker for vLLM. The first is the default.
const (
	OutputEvents = "sse-fragments" // current workers: pieces of a stream's text, or OpenAI's documents
	OutputTokens = "tokens"        // older ones: lists of tokens and counts
)

// JobOptions configure the queues of jobs that clients poll. The zero value of every
// field means the documented default.
type JobOptions struct {
	Workers   int           // concurrent jobs of each kind; DefaultJobWorkers
	ColdStart random.Delay  // of each worker, before its first job; 0
	Time      random.Delay  // duration of the generation of a video; const DefaultJobTime
	Expiry    time.Duration // a result is removed this long after the end of its job; 1 min of /runsync, else 30 min
	Output    string        // of Runpod's workers; OutputEvents
}
