// Command docs writes the reference pages that are made from tables in the code:
// docs/metrics.md, datasets.md, arrivals.md, endpoints.md, formats.md, flags.md,
// document.md and packages.md, and the tables of coming-from.md. Run it from the root of
// the repository: go run ./scripts/docs. The same code gives the same bytes.
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"aiperfd/internal/engine/arrival"
	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/engine/dataset"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/plan"
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
		{name: "metrics.md", body: catalogue.WriteDocs},
		{
			name: "datasets.md", title: "Datasets", from: "the table of datasets in `internal/engine/dataset`",
			intro: "The data that a run can send. The name of a section is the value of `type` of a dataset or, for files, of `format`.",
			body:  dataset.WriteDocs,
		},
		{
			name: "arrivals.md", title: "Arrivals", from: "the table of arrival processes in `internal/engine/arrival`",
			intro: "The arrival process determines when the sessions of an open-loop phase are due. It is the value of the phase's " +
				"`type`. `rate` is in arrivals per second; gaps are in seconds. The closed loop, `concurrency`, has no arrivals: " +
				"a session is due when its slot is free.",
			body: arrival.WriteDocs,
		},
		{
			name: "endpoints.md", title: "Endpoint types", from: "the table of dialects in `internal/engine/endpoint`",
			intro: "The APIs that a run can use: the values of `endpoint.type` and `--endpoint-type`. Case does not matter, and " +
				"`-` and `_` are equivalent. The path is appended to the base URL unless `endpoint.path` is set.",
			body: endpoints,
		},
		{
			name: "formats.md", title: "Files of a run", from: "the table of formats in `internal/engine/export` and `scripts/docs/formats.md`",
			intro: "The files in the folder of a run. `artifacts.prefix` replaces the common part of their names. Files contain " +
				"prompts and answers. Those of `aiperfd profile` have the permissions that the umask gives; the folders of the " +
				"daemon are for its user only.",
			body: formats,
		},
		{
			name: "flags.md", title: "Flags of aiperfd profile", from: "the flag table in `internal/engine/config/flags`",
			intro: "Names, aliases and meanings are those of `aiperf profile` 0.13. Flags of AIPerf that are not listed here " +
				"are refused by name, or ignored with a warning if they have no meaning in a single process or ask for what " +
				"happens anyway (`--no-auto-plot`, `--num-profile-runs 1`). " +
				"`aiperfd profile --help` prints the most common ones, `--help-all` this page.\n\n" +
				"These environment variables of AIPerf replace flags that are not given: `AIPERF_API_SERVER_PORT` and " +
				"`AIPERF_API_SERVER_HOST`, `AIPERF_HTTP_SSL_VERIFY`, `AIPERF_HTTP_TRUST_ENV` (`--proxy-from-env`), " +
				"`AIPERF_UI_REALTIME_METRICS_INTERVAL` (`--stats-interval`), `AIPERF_DAG_FAIL_FAST` (`--dag-fail-fast`), and `AIPERF_HTTP_X_…_FROM_CORRELATION_ID` for " +
				"`SESSION_AFFINITY`, `SESSION_ID`, `SMG_ROUTING_KEY` and `DYNAMO_SESSION_ID` (`--affinity-header`). Others that " +
				"change what AIPerf measures or sends are named in a warning.",
			body: usage,
		},
		{
			name: "document.md", title: "Benchmark document",
			from: "the types, rules and defaults of documents and the flag table in `internal/engine/config/flags`",
			intro: "What `POST /api/runs`, `aiperfd profile --config` and `aiperfd validate` read: AIPerf's configuration " +
				"document. Flags given beside `--config` replace the fields of the document that are named in the last column.",
			body: document,
		},
		{name: "coming-from.md", body: comingFrom},
		{
			name: "packages.md", title: "Packages", from: "the comments of the packages",
			intro: "Every package with the first sentence of its comment. [architecture.md](architecture.md) shows which may import which; " +
				"`go doc ./internal/engine/load` prints a comment in full.",
			body: packages,
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
	b.WriteString("| type | aliases | path | streaming | produces tokens | reasoning | system message | history | input besides text |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|\n")
	for _, k := range endpoint.Kinds() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s | %s | %s |\n", k.Name, codes(k.Aliases), paths(&k),
			yes(k.Caps.Streams), yes(k.Caps.ProducesTokens), yes(k.Caps.Reasoning), yes(k.Caps.System), yes(k.Caps.History),
			media(&k))
	}
	b.WriteString(aboutMedia)
	b.WriteString(aboutTemplates)
	_, err := io.WriteString(w, b.String())
	return err
}

// aboutTemplates describes the endpoint type template.
const aboutTemplates = `
## Templates

The endpoint type ` + "`template`" + ` sends bodies written as Jinja templates, to the URL as given:

` + "```" + `
aiperfd profile --model m --url http://localhost:8000/generate --endpoint-type template \
  --extra-inputs payload_template:./body.json --extra-inputs response_field:generated_text
` + "```" + `

` + "`payload_template`" + ` (in a document ` + "`endpoint.template.body`" + `) is the template itself, the name of a file that contains it, or
` + "`nv-embedqa`" + `. It must render to one JSON object and can use text, texts, image, images, audio, audios, video, videos, query,
queries, passage, passages, texts_by_name, messages, model, max_tokens, stream, system and role; the filter tojson writes any value
as JSON. ` + "`response_field`" + ` (` + "`endpoint.template.responseField`" + `) selects the output in a response, as a
JMESPath, or a JSONPath that begins with $; without it the usual places are searched.
`

// aboutMedia is the text about audio and images that does not fit into the table.
const aboutMedia = `
## Audio and images

- **Forms.** The requests of ` + "`audio_transcription`, `audio_translation` and `image_edit`" + ` are forms (` + "`multipart/form-data`" + `) with a constant boundary, so that equal requests are equal bytes. Extra inputs become fields: strings as they are; numbers, booleans and objects as JSON; each element of a list as a separate field whose name ends in ` + "`[]`" + `; no field for ` + "`null`" + `. Fields that the dataset sets (` + "`file`" + `; ` + "`prompt`, `image`, `url`, `mask`" + `) cannot be overridden; a warning says so.
- **Transcription.** A request contains exactly one audio clip. The text of a turn is not sent; use ` + "`--extra-inputs prompt:…`" + ` for a prompt. The streams of vLLM and OpenAI and every ` + "`response_format`" + ` are supported.
- **Speech.** The response body is audio. With ` + "`--streaming`" + `, every read that contains audio is a content event, and the first one counts for ` + "`time_to_first_token`" + `; the file header does not count as audio. The request does not ask for a stream; if your server requires that, add ` + "`--extra-inputs stream_format:sse`" + ` (OpenAI's events) or ` + "`--extra-inputs stream:true`" + `.
- **Images.** With ` + "`--streaming`" + `, previews (` + "`--extra-inputs partial_images:2`" + `) count for ` + "`time_to_first_image`" + `, finished images for ` + "`generated_images`" + `. ` + "`response_format`" + ` is not sent to OpenAI's own models (` + "`gpt-image…`" + `), because they reject it.
`

// paths returns the path of requests, and that of streamed ones if it is another.
func paths(k *endpoint.Kind) string {
	switch {
	case k.Path == "":
		return "– (the URL as given)"
	case k.StreamPath != "":
		return fmt.Sprintf("`%s`, streamed `%s`", k.Path, k.StreamPath)
	}
	return "`" + k.Path + "`"
}

// media lists the input of a dialect besides text.
func media(k *endpoint.Kind) string {
	var names []string
	for _, m := range []struct {
		name string
		ok   bool
	}{{"images", k.Caps.Images}, {"audio", k.Caps.Audio}, {"video", k.Caps.Video}} {
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

// formats writes one row for each file of a run.
func formats(w io.Writer) error {
	names := export.NamesFor("")
	rows := [][3]string{
		{names.Inputs, "inputs", "Only with `artifacts.exportInputs` (`--export-inputs`) or `artifacts.level: raw`. Request bodies of the conversations in the order of their first use, without the history in later turns; `context_mode` marks conversations whose later turns are sent with history. For forms it lists the parts, with size and SHA-256 instead of file contents."},
		{names.Outputs, "outputs", "Only with `artifacts.exportOutputsJson` (`--export-outputs-json`). The texts of the responses with some metrics of each request, sorted by session and turn: `data` has those of profiling phases, `warmup` the others. `response_text` is the reasoning, which is also in `reasoning_text`, and the answer."},
		{names.Records, "records", "One JSON object per line and request. Written during the run, so it survives a crash; absent with `artifacts.level: summary`. `artifacts.recordFileSize` continues it in further files (`profile_export.part0002.jsonl`, …), and `artifacts.keepRecords` keeps failures or a sample only ([below](#long-runs))."},
		{names.Tables, "records", "Only with `artifacts.recordFormat: parquet` or `both` (`--record-format`). The same as Apache Parquet with zstd, one row per request; times are offsets from `epoch_ns` in the metadata `aiperfd`. `aiperfd export` turns it into lines. It cannot be read before the end of the run, and not after a crash."},
		{names.Raw, "raw", "Only with `artifacts.level: raw`. One JSON object per line and request: request headers, the body as in `inputs.json`, and every event or body of the response with its time. For binary responses (audio, images) it contains the time and size of each read."},
	}
	for _, f := range export.Formats() {
		rows = append(rows, [3]string{f.File(names), f.Name, f.About})
	}
	for _, f := range export.Formats() {
		if f.Phase != "" {
			rows = append(rows, [3]string{"phases/NAME/" + f.File(names), "phases", "The same for each phase alone, if the run has several. Results that belong to the run as a whole, such as the verdict on the client, are only in the summary of the run."})
		}
	}
	rows = append(rows,
		[3]string{"phase_manifest.json", "phases", "List of the phases of a run of several: times, requests, errors, and the names of their files."},
		[3]string{names.Log, "log", "The log of `aiperfd profile`."},
		[3]string{export.ReadyMarker, "marker", "Created when all other files are complete. Wait for it before you read the folder."})
	var b strings.Builder
	b.WriteString("| file | kind | contents |\n|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r[0], r[1], r[2])
	}
	b.WriteString("\n" + aboutFormats)
	_, err := io.WriteString(w, b.String())
	return err
}

// aboutFormats describes the members of the files, with examples of a real run.
//
//go:embed formats.md
var aboutFormats string

// usage writes the help text of the flags.
func usage(w io.Writer) error {
	var b strings.Builder
	if err := flags.Usage(&b, new(plan.Choices())); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "```text\n%s\n```\n", strings.Trim(b.String(), "\n"))
	return err
}

// comingFrom writes docs/coming-from.md as it is, with new tables.
func comingFrom(w io.Writer) error {
	page, err := os.ReadFile("docs/coming-from.md")
	if err != nil {
		return fmt.Errorf("read page: %w", err)
	}
	text := string(page)
	for _, tool := range flags.Tools() {
		begin := fmt.Sprintf("<!-- This table is generated from %s. -->\n\n", tool.Source)
		before, rest, found := strings.Cut(text, begin)
		_, after, ended := strings.Cut(rest, "<!-- end of the table -->")
		if !found || !ended {
			return fmt.Errorf("docs/coming-from.md has no place for the table of %s", tool.Name)
		}
		text = before + begin + tool.Table + "\n<!-- end of the table -->" + after
	}
	_, err = io.WriteString(w, text)
	return err
}
