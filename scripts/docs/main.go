// Command docs writes the reference pages that are made from tables in the code:
// docs/metrics.md, datasets.md, arrivals.md, endpoints.md, formats.md, flags.md
// and document.md. Run it from the root of the repository: go run ./scripts/docs. The
// same code gives the same bytes.
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"aiperfd/internal/engine/arrival"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/dataset"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric"
)

func main() {
	log.SetFlags(0)
	if err := run("docs"); err != nil {
		log.Fatal("docs: ", err)
	}
}

// page is one generated file.
type page struct {
	name  string
	title string // empty = the body has its own
	from  string // what it is generated from
	intro string
	body  func(io.Writer) error
}

// pages lists the generated files.
func pages() []page {
	return []page{
		{name: "metrics.md", body: metric.WriteDocs},
		{
			name: "datasets.md", title: "Datasets", from: "the table of datasets in `internal/engine/dataset`",
			intro: "What a run can send: the value of `type` of a dataset or, for files, of `format`.",
			body:  dataset.WriteDocs,
		},
		{
			name: "arrivals.md", title: "Arrivals", from: "the table of arrival processes in `internal/engine/arrival`",
			intro: "When the sessions of an open-loop phase are due: the value of the phase's `type`. `rate` is in arrivals " +
				"per second; gaps are in seconds. The closed loop, `concurrency`, has no arrivals: a session is due when " +
				"its slot is free.",
			body: arrival.WriteDocs,
		},
		{
			name: "endpoints.md", title: "Endpoint types", from: "the table of dialects in `internal/engine/endpoint`",
			intro: "What a run can speak: the value of `endpoint.type` and of `--endpoint-type`. Case does not matter, and " +
				"`-` and `_` are the same. The path is appended to the base URL unless `endpoint.path` is given.",
			body: endpoints,
		},
		{
			name: "formats.md", title: "Files of a run", from: "the table of formats in `internal/engine/export`",
			intro: "What the folder of a run holds. `artifacts.prefix` replaces the common part of the names.",
			body:  formats,
		},
		{
			name: "flags.md", title: "Flags of aiperfd profile", from: "the flag table in `internal/engine/config`",
			intro: "Names, aliases and meanings are those of `aiperf profile` 0.13. A flag of AIPerf that is not listed here " +
				"is refused by name, or ignored with a warning where it means nothing in a program of one process.",
			body: flags,
		},
		{
			name: "document.md", title: "Benchmark document",
			from: "the types, rules and defaults of documents and the flag table in `internal/engine/config`",
			intro: "What `POST /api/runs`, `aiperfd profile --config` and `aiperfd validate` read: AIPerf's configuration " +
				"document. Flags given beside `--config` replace the fields of the document that are named in the last column.",
			body: document,
		},
	}
}

// run writes all pages into a folder.
func run(folder string) error {
	for _, p := range pages() {
		text, err := p.render()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, p.name), text, 0o644); err != nil {
			return fmt.Errorf("write page: %w", err)
		}
	}
	return nil
}

// render returns the text of a page.
func (p *page) render() ([]byte, error) {
	var b bytes.Buffer
	if p.title != "" {
		fmt.Fprintf(&b, "# %s\n\nThis file is generated from %s; do not edit it.\n\n%s\n\n", p.title, p.from, p.intro)
	}
	if err := p.body(&b); err != nil {
		return nil, fmt.Errorf("make %s: %w", p.name, err)
	}
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n'), nil
}

// endpoints writes one row for each dialect.
func endpoints(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| type | also accepted | path | streams | makes tokens | reasoning | system message | history | takes besides text |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|\n")
	for _, k := range endpoint.Kinds() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s | %s | %s |\n", k.Name, codes(k.Aliases), paths(&k),
			yes(k.Caps.Streams), yes(k.Caps.ProducesTokens), yes(k.Caps.Reasoning), yes(k.Caps.System), yes(k.Caps.History),
			media(&k.Caps))
	}
	b.WriteString(aboutMedia)
	_, err := io.WriteString(w, b.String())
	return err
}

// aboutMedia says what the table cannot about sound and pictures.
const aboutMedia = `
## Sound and pictures

- **Forms.** The requests of ` + "`audio_transcription`, `audio_translation` and `image_edit`" + ` are forms (` + "`multipart/form-data`" + `) with a boundary that is always the same: equal requests are equal bytes. Extra inputs are fields: texts as they are, numbers, booleans and objects as JSON, each element of a list as a field of its own whose name ends in ` + "`[]`" + `, no field for ` + "`null`" + `. Fields that the dataset decides (` + "`file`" + `; ` + "`prompt`, `image`, `url`, `mask`" + `) cannot be set, and a warning says so.
- **Transcripts.** A request takes exactly one clip, by its bytes. The text of a turn is not sent; ` + "`--extra-inputs prompt:…`" + ` is. Streams of vLLM and of OpenAI are read, and every ` + "`response_format`" + `.
- **Speech.** The answer is the sound itself. With ` + "`--streaming`" + ` every read that brings sound is a content event, and the first of them is ` + "`time_to_first_token`" + `; the header of the file is no sound. Nothing in the request asks for a stream: where a server wants to be asked, add ` + "`--extra-inputs stream_format:sse`" + ` (OpenAI's events) or ` + "`--extra-inputs stream:true`" + `.
- **Pictures.** With ` + "`--streaming`" + `, previews (` + "`--extra-inputs partial_images:2`" + `) count for ` + "`time_to_first_image`" + `, finished pictures for ` + "`generated_images`" + `. OpenAI's own models (` + "`gpt-image…`" + `) are not sent ` + "`response_format`" + `, which they refuse.
`

// paths returns the path of requests, and that of streamed ones if it is another.
func paths(k *endpoint.Kind) string {
	switch {
	case k.Path == "":
		return "– (the URL as it is)"
	case k.StreamPath != "":
		return fmt.Sprintf("`%s`, streamed `%s`", k.Path, k.StreamPath)
	}
	return "`" + k.Path + "`"
}

// media lists what a dialect takes besides text.
func media(c *endpoint.Caps) string {
	var names []string
	for _, m := range []struct {
		name string
		ok   bool
	}{{"images", c.Images}, {"audio", c.Audio}, {"video", c.Video}} {
		if m.ok {
			names = append(names, m.name)
		}
	}
	if len(names) == 0 {
		return "–"
	}
	return strings.Join(names, ", ")
}

func codes(names []string) string {
	if len(names) == 0 {
		return "–"
	}
	return "`" + strings.Join(names, "`, `") + "`"
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// contents says what the reports hold; a format without a sentence here is an
// error.
func contents() map[string]string {
	return map[string]string{
		"json":    "The summary: every metric with its statistics, the resolved configuration, errors and warnings.",
		"csv":     "The summary as tables.",
		"console": "The report as `aiperfd profile` prints it.",
	}
}

// formats writes one row for each file of a run.
func formats(w io.Writer) error {
	names := export.NamesFor("")
	rows := [][3]string{
		{names.Inputs, "inputs", "Request bodies of the dataset, without the history that later turns carry. Written before the first request. Of a form it lists the parts, with size and SHA-256 in place of what files hold."},
		{names.Records, "records", "One JSON object a line for each request. Appended while the run goes, so it survives a kill; absent with `artifacts.level: summary`."},
		{names.Raw, "raw", "With `artifacts.level: raw`, one JSON object a line: request headers, the body as in `inputs.json`, and every event or body of the response with its time. Of a response that is no text (sound, pictures) it has time and size of each read."},
	}
	texts := contents()
	for _, f := range export.Formats() {
		text, ok := texts[f.Name]
		if !ok {
			return fmt.Errorf("format %s has no sentence in contents", f.Name)
		}
		rows = append(rows, [3]string{f.File(names), f.Name, text})
	}
	rows = append(rows,
		[3]string{names.Log, "log", "The log of `aiperfd profile`."},
		[3]string{export.ReadyMarker, "marker", "There once every other file is complete. Read a folder only if it exists."})
	var b strings.Builder
	b.WriteString("| file | kind | what it holds |\n|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r[0], r[1], r[2])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// flags writes the help text of the flags.
func flags(w io.Writer) error {
	var b strings.Builder
	if err := config.Usage(&b); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "```text\n%s\n```\n", strings.Trim(b.String(), "\n"))
	return err
}
