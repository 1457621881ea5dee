package flags

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"aiperfd/internal/engine/config"
)

// usageWidth is the width of help texts in columns.
const usageWidth = 80

// usageExamples are the first lines of the help.
const usageExamples = `Run a benchmark or a sweep against an inference server and print the results.

Usage: aiperfd profile [flags]

Examples:
  # 100 streamed requests, 8 at a time, to the only model of a server
  aiperfd profile --url localhost:8000 --streaming --concurrency 8 \
    --request-count 100
  # 20 requests per second for a minute, 512 input and 128 output tokens
  aiperfd profile -m llama -u localhost:8000 --streaming --request-rate 20 \
    --benchmark-duration 60 --isl 512 --osl 128 --extra-inputs ignore_eos:true
  # the share of requests that meet two objectives
  aiperfd profile -m llama --streaming --goodput "ttft:200 itl:30"
  # a sweep: one run per value; --isl, --request-rate and others take lists too
  aiperfd profile -m llama --streaming --concurrency 1,2,4,8 --request-count 200
  # a recipe: the highest concurrency at which the p95 of TTFT is below 200 ms
  aiperfd profile -m llama --streaming --ttft-sla-ms 200 \
    --search-recipe max-concurrency-under-sla
  # another API, and prompts of your own
  aiperfd profile -m bge --endpoint-type embeddings --input-file prompts.jsonl
`

// commonFlags are the flags of the short help, by the spelling that it shows.
func commonFlags() []string {
	return []string{
		"--model", "--url", "--endpoint-type", "--streaming",
		"--concurrency", "--request-rate", "--request-count", "--benchmark-duration", "--warmup-request-count",
		"--isl", "--osl", "--input-file", "--extra-inputs", "--tokenizer", "--goodput",
		"--api-key-file", "--header", "--config", "--artifact-dir", "--report", "--ui", "--api-port",
	}
}

// UsageShort writes examples and the flags that most runs need.
func UsageShort(w io.Writer, known *config.Choices) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s\nCommon flags:\n", usageExamples)
	table := flagTable()
	for _, name := range commonFlags() {
		o := table[name]
		title := name + placeholder(o)
		for _, short := range o.spellings() {
			if len(short) == len("-x") {
				title = short + ", " + title
			}
		}
		const indent = 32
		lines := wrapText(o.usage(known), usageWidth-indent)
		if len(title) > indent-4 {
			fmt.Fprintf(out, "  %s\n", title)
			title = ""
		}
		for i, line := range lines {
			if i > 0 {
				title = ""
			}
			fmt.Fprintf(out, "  %-*s%s\n", indent-2, title, line)
		}
	}
	fmt.Fprintf(out, "\n--help-all lists all %d flags.\n", len(supportedOptions()))
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write help: %w", err)
	}
	return nil
}

// Usage writes the help of all options that do something, in AIPerf's groups: the
// load and the output first.
func Usage(w io.Writer, known *config.Choices) error {
	out := bufio.NewWriter(w)
	group := ""
	for _, d := range Descriptions(known) {
		if d.Group != group {
			group = d.Group
			fmt.Fprintf(out, "\n%s\n", group)
		}
		for _, line := range wrapText(d.Title, usageWidth-2) {
			fmt.Fprintf(out, "  %s\n", line)
		}
		for _, line := range wrapText(d.Help, usageWidth-6) {
			fmt.Fprintf(out, "      %s\n", line)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write help: %w", err)
	}
	return nil
}

// Description describes a flag to people.
type Description struct {
	Group, Title, Help string // Title has all spellings and the placeholder of the value
}

// Descriptions returns the supported flags, the groups that most users need first.
func Descriptions(known *config.Choices) []Description {
	rows := supportedOptions()
	rank := func(o option) int { return slices.Index([]string{"Output", "Load Generator"}, o.group) }
	slices.SortStableFunc(rows, func(a, b option) int { return rank(b) - rank(a) })
	out := make([]Description, 0, len(rows))
	for _, o := range rows {
		out = append(out, Description{o.group, strings.Join(o.spellings(), ", ") + placeholder(o), o.usage(known)})
	}
	return out
}

// usage returns what an option means, with its default.
func (o option) usage(known *config.Choices) string {
	help := known.Expand(o.help)
	if o.def == "" {
		return help
	}
	return help + " (default: " + o.def + ")"
}

// wrapText breaks text at blanks into lines of at most width bytes.
func wrapText(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// placeholder shows what value an option takes.
func placeholder(o option) string {
	switch o.kind {
	case optBool:
		return ""
	case optNumber:
		return " NUMBER"
	case optFile:
		return " PATH"
	case optHeader:
		return " NAME:VALUE"
	case optExtra:
		return " NAME:VALUE|JSON"
	case optGoodput:
		return ` "TAG:NUMBER …"`
	case optList, optWords:
		return " TEXT…"
	}
	return " TEXT"
}
