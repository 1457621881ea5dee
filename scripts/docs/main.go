// Command docs writes the reference pages that are made from tables in the code:
// docs/metrics.md, datasets.md, arrivals.md, endpoints.md, formats.md, flags.md,
// document.md and packages.md, and the tables of coming-from.md. Run it from the root of
// the repository: go run ./scripts/docs. The same code gives the same bytes.
package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"text/template"

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

// page is one generated file: the text of the file of its name in this folder, or body alone if
// there is none.
type page struct {
	name string
	body func(io.Writer) error
}

// pages lists the generated files.
func pages() []page {
	return []page{
		{"metrics.md", catalogue.WriteDocs},
		{"datasets.md", dataset.WriteDocs},
		{"arrivals.md", arrival.WriteDocs},
		{"endpoints.md", endpoints},
		{"formats.md", formats},
		{"flags.md", usage},
		{"document.md", document},
		{"coming-from.md", comingFrom},
		{"packages.md", packages},
	}
}

// texts are what pages say around what is made from tables.
//
//go:embed *.md
var texts embed.FS

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
	var body, b bytes.Buffer
	if err := p.body(&body); err != nil {
		return nil, fmt.Errorf("make %s: %w", p.name, err)
	}
	text, err := texts.ReadFile(p.name)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = []byte("<% body %>"), nil
	}
	if err != nil {
		return nil, err
	}
	// Actions have delimiters of their own, because the texts describe templates.
	t := template.New(p.name).Delims("<%", "%>").Funcs(template.FuncMap{
		"body": body.String, "example": example, "limit": limit, "unsupported": unsupported,
		"marker": func() string { return export.ReadyMarker },
	})
	if t, err = t.Parse(string(text)); err == nil {
		err = t.Execute(&b, export.NamesFor(""))
	}
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", p.name, err)
	}
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n'), nil
}

// example returns the text of an example.
func example(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join("examples", name))
	return string(text), err
}

// endpoints writes one row for each dialect.
func endpoints(w io.Writer) error {
	var b strings.Builder
	for _, k := range endpoint.Kinds() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s | %s | %s |\n", k.Name, codes(k.Aliases), paths(&k),
			yes(k.Caps.Streams), yes(k.Caps.ProducesTokens), yes(k.Caps.Reasoning), yes(k.Caps.System), yes(k.Caps.History),
			media(&k))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

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

// formats writes one row for each file that is made from the results of a run.
func formats(w io.Writer) error {
	var phases []string
	names := export.NamesFor("")
	for _, f := range export.Formats() {
		fmt.Fprintf(w, "| `%s` | %s | %s |\n", f.File(names), f.Name, f.About)
		if f.Phase != "" {
			phases = append(phases, f.File(names))
		}
	}
	for _, name := range phases {
		fmt.Fprintf(w, "| `phases/NAME/%s` | phases | The same for each phase alone, if the run has several. Results that belong "+
			"to the run as a whole, such as the verdict on the client, are only in the summary of the run. |\n", name)
	}
	return nil
}

// usage writes the help text of the flags.
func usage(w io.Writer) error {
	var b strings.Builder
	if err := flags.Usage(&b, new(plan.Choices())); err != nil {
		return err
	}
	_, err := io.WriteString(w, strings.Trim(b.String(), "\n"))
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
