package options

import (
	"fmt"
	"strconv"
	"strings"

	"aiperfd/internal/mock/batch"
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
