package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/plan"
)

// aboutDocument is the text before the tables of the document.
const aboutDocument = `- **Notation.** YAML or JSON. Names are camelCase as below or snake_case (` + "`urlStrategy`, `url_strategy`" + `). ` + "`null`" + ` is the same as absent. Choices are compared without regard to case, and ` + "`-` and `_`" + ` are the same. A field that is not listed is an error; the answer lists all errors of a document with place, value and what is accepted.
- **Layout.** The benchmark section may stand alone, without ` + "`benchmark:`" + ` around it.
- **Duration.** A number of seconds, or a string with a unit: ` + "`30`, `\"30s\"`, `\"5 min\"`, `\"2h\"`" + `.
- **Distribution.** A number, or an object, see [Distributions](#distributions).
- **Substitution.** ` + "`${NAME}`" + ` in a string is replaced by an environment variable, ` + "`${NAME:default}`" + ` has a default. A string that is one substitution may stand for a number or a boolean. The daemon replaces only names given by ` + "`--allow-env`" + `.
- **Template.** A string with ` + "`{{ … }}`" + ` is an expression over ` + "`variables`" + ` and other values of the document, see [Templates](#templates).
- **Schema.** The same fields as JSON Schema (draft 2020-12): ` + "`aiperfd config schema` or `GET /api/config/schema`" + `. It lists choices in their own spelling only.
- **Begin.** ` + "`aiperfd config init --list`" + ` lists documents to begin with, ` + "`--template NAME`" + ` writes one. ` + "`aiperfd config expand FILE`" + ` lists the variations of a sweep. ` + "`aiperfd config show-defaults`" + ` lists all defaults.
- **Check.** ` + "`aiperfd validate FILE`" + ` prints a document with every default.
`

// distributions describes the values of kind distribution.
const distributions = `
## Distributions

| form | means |
|---|---|
| ` + "`550`" + ` | always 550, as ` + "`{mean: 550}`" + ` |
| ` + "`{mean: 550, stddev: 100}`" + ` | normal, draws below 0 are repeated |
| ` + "`{mean: 550, median: 400}`" + ` | log-normal; the mean is greater than the median |
| ` + "`{peaks: [{mean: 100, stddev: 10, weight: 3}, {mean: 900, median: 800, weight: 1}]}`" + ` | mixture; weights are relative and above 0 |
| ` + "`{points: [{value: 128, weight: 1}, {value: 1024, weight: 1}]}`" + ` | empirical: one of the values |

` + "`min` and `max`" + ` may be added to the objects; draws are clamped to them. Lengths in tokens and counts are rounded to whole numbers, at least 1.
`

// limits describes the limits of documents.
const limits = `
## Limits

| what | at most |
|---|---|
| nesting of lists and objects | %d levels |
| names of members | %d bytes on average, counted once for every value below them |
| values of a document | %d for the daemon, %d in a file of your own; each sign of YAML (` + "`: , - [ {`" + `, quotes) counts as one, also in texts |
| values that YAML aliases add | %d |
| string | %d bytes |
| ` + "`systemPrompt`" + `, body of a request template | %d MiB |
| name of a model or a dataset | %d bytes |
| API key, header, URL parameter | %d KiB each |
| list | %d elements; inline records have no limit of their own |
| headers, URL parameters | %d each |

The tables of the fields show other limits if a field has one. An error names the value and the limit.
`

// templates describes the expressions of documents.
const templates = `
## Templates

A string with ` + "`{{ … }}` or `{% … %}`" + ` is a template in Jinja's language. A result that is a number, ` + "`true` or `false`" + ` has that type.

` + "```yaml" + `
variables:
  users: 8
benchmark:
  model: meta-llama/Llama-3.1-8B-Instruct
  phases:
    concurrency: "{{ users }}"
    requests: "{{ phases.profiling.concurrency * 50 }}"
` + "```" + `

- **Names.** The members of ` + "`variables`" + `, and every value of the document by its path, with or without ` + "`benchmark.`: `model`, `endpoint.url`, `datasets.main.prompts.isl.mean`, `phases.profiling.rate`" + `. Elements of lists have their index or their name. Values may be templates themselves; the order does not matter. A name without a value is an error.
- **Order.** References (` + "`${NAME}`" + `) are replaced first, flags are laid over the document, then templates are evaluated. In a sweep they are evaluated for each variation, so that they follow the value that varies.
- **Language.** Arithmetic, comparisons, ` + "`if … else`" + `, loops, and the filters of Jinja, such as ` + "`int`, `float`, `round`, `min`, `max`, `default`, `join`, `upper`, `lower`, `tojson`" + `. Time and memory are bounded; files and other templates cannot be read. ` + "`//` and `%`" + ` round towards zero.
- **Secrets.** ` + "`${secret:NAME}`" + ` is the content of the file NAME in the folder of ` + "`serve --secrets-dir`" + `, or the environment variable ` + "`AIPERFD_SECRET_NAME`" + `. The file NAME.hosts in the folder [binds it to hosts](security.md#secrets-of-hosts). It may stand in the API key, headers, URL parameters, passwords of URLs, ` + "`extra`, inline records and `variables`" + `, and is never shown or stored.
- **Exceptions.** ` + "`endpoint.template` and `endpoint.extra.payload_template`" + ` are templates of requests and stay as they are. The contents of ` + "`artifacts.userFiles`" + ` are evaluated when the run starts. Values of flags are taken as they are.
`

// document writes the reference of the benchmark document.
func document(w io.Writer) error {
	minimal, err := os.ReadFile("examples/bench.yaml")
	if err != nil {
		return fmt.Errorf("read example: %w", err)
	}
	full, err := os.ReadFile("examples/bench-full.yaml")
	if err != nil {
		return fmt.Errorf("read example: %w", err)
	}
	var b strings.Builder
	b.WriteString(aboutDocument)
	fmt.Fprintf(&b, "\n## Minimal example\n\n`examples/bench.yaml`:\n\n```yaml\n%s```\n", minimal)
	b.WriteString("\n## Fields\n")
	choices := plan.Choices()
	root := flags.Reference(&choices)
	root.Walk(func(f *flags.Field) { object(&b, f) })
	b.WriteString(distributions)
	b.WriteString(templates)
	fmt.Fprintf(&b, limits, tree.MaxDepth, tree.MaxPointer, tree.MaxValues, tree.MaxOwnValues, tree.MaxAliased, schema.MaxText, schema.MaxPrompt>>20, schema.MaxName,
		schema.MaxSecret>>10, schema.MaxList, schema.MaxMembers)
	unsupported(&b, &root)
	fmt.Fprintf(&b, "\n## Full example\n\n`examples/bench-full.yaml`:\n\n```yaml\n%s```\n", full)
	_, err = io.WriteString(w, b.String())
	return err
}

// object writes the table of an object's fields.
func object(b *strings.Builder, f *flags.Field) {
	if f.Kind != flags.KindObject {
		return
	}
	title := "The document"
	if f.Path != "" {
		title = "`" + shown(f.Path) + "`"
	}
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n", title, f.Text)
	b.WriteString("| field | type | default | accepts | meaning | flag |\n|---|---|---|---|---|---|\n")
	for _, m := range f.Fields {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s |\n", m.Name, kind(&m), defaultText(&m), accepts(&m), cell(m.Text), codes(m.Flags))
		for _, s := range m.Short {
			fmt.Fprintf(b, "| `%s` | short form | – | – | %s | – |\n", s.Name, cell(s.Text))
		}
	}
}

// shown returns the form of a canonical path for readers.
func shown(path string) string { return strings.ReplaceAll(path, ".*", "[]") }

// cell escapes text for a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// kind names the type of a field, its short forms and its unit.
func kind(f *flags.Field) string {
	name := string(f.Kind)
	switch f.Kind {
	case flags.KindList, flags.KindMap:
		name += " of " + string(f.Element.Kind)
	case flags.KindObject:
		name = fmt.Sprintf("[object](#%s)", anchor(f.Path))
	}
	if f.Kind == flags.KindList && f.Element.Kind == flags.KindObject {
		name = fmt.Sprintf("list of [object](#%s)", anchor(f.Element.Path))
	}
	for _, form := range []struct {
		has  bool
		text string
	}{
		{f.Has(schema.FormList), ", or its items"},
		{f.Has(schema.FormPoints), ", or its points or path"},
		{f.Has(schema.FormDuration), ", or its duration"},
		{f.Has(schema.FormGroups), ", or an object of such lists"},
		{f.Has(schema.FormElement), ", or one " + element(f)},
		{f.Element != nil && f.Element.Has(schema.FormName), " or name"},
		{f.Element != nil && f.Element.Has(schema.FormScalar), ", number or boolean"},
		{f.Has(schema.FormJSON), ", or `[json]`"},
		{f.Has(schema.FormSwitch) || f.Has(schema.FormBoolean), ", or boolean"},
		{f.Numeric || f.Has(schema.FormNumber), ", or number"},
	} {
		if form.has {
			name += form.text
		}
	}
	if f.Unit != "" {
		name += ", " + f.Unit
	}
	return name
}

// element returns the type of a single value that is accepted in place of a list.
func element(f *flags.Field) string {
	if f.Element == nil {
		return "name"
	}
	return string(f.Element.Kind)
}

// anchor is the fragment of the heading of an object.
func anchor(path string) string {
	return strings.ToLower(strings.NewReplacer(".", "", "*", "").Replace(path))
}

func defaultText(f *flags.Field) string {
	switch {
	case f.Required:
		return "required"
	case f.Default == "":
		return "–"
	case f.Value != nil || !strings.Contains(f.Default, " "):
		return "`" + f.Default + "`"
	}
	return cell(f.Default)
}

// mostChoices is how many tags of metrics a table lists; the others are in metrics.md.
const mostChoices = 20

// accepts describes the values of a field, beyond its type.
func accepts(f *flags.Field) string {
	of := f
	if f.Element != nil && f.Element.Kind != flags.KindObject {
		of = f.Element
	}
	var parts []string
	switch {
	case of.Path == "benchmark.endpoint.type":
		parts = append(parts, "a type of [endpoints](endpoints.md)")
	case of.Path == "benchmark.datasets.*.format":
		parts = append(parts, "a format of [datasets](datasets.md)")
	case len(of.Choices) > mostChoices && slices.Contains(of.Choices, "time_to_first_token"):
		parts = append(parts, "a tag of [metrics](metrics.md)")
	case len(of.Choices) > 0:
		parts = append(parts, codes(of.Choices))
	}
	parts = append(parts, numbers(of))
	if of.Infinite {
		parts = append(parts, "`inf`")
	}
	usual := f.Kind == flags.KindString && f.MaxLength == schema.MaxText || f.Kind == flags.KindList && f.MaxLength == schema.MaxList
	switch {
	case f.Kind == flags.KindList && f.MinLength == f.MaxLength && f.MinLength > 0:
		parts = append(parts, fmt.Sprintf("exactly %d", f.MinLength))
	case f.Kind == flags.KindString && f.MinLength > 0:
		parts = append(parts, "not empty")
	case f.MinLength > 0 && f.MaxLength > 0 && !usual:
		parts = append(parts, fmt.Sprintf("%d to %d", f.MinLength, f.MaxLength))
	case f.MinLength == 1:
		parts = append(parts, "at least 1 element")
	}
	switch {
	case usual: // see the limits
	case f.Kind == flags.KindString && f.MaxLength > 0:
		parts = append(parts, fmt.Sprintf("at most %d characters", f.MaxLength))
	case f.MinLength == 0 && f.MaxLength > 0:
		parts = append(parts, fmt.Sprintf("at most %d", f.MaxLength))
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	if len(parts) == 0 {
		return "–"
	}
	return strings.Join(parts, ", ")
}

// numbers writes the range of a number.
func numbers(f *flags.Field) string {
	show := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	var parts []string
	switch {
	case f.Least != nil && f.Above:
		parts = append(parts, "> "+show(*f.Least))
	case f.Least != nil:
		parts = append(parts, "≥ "+show(*f.Least))
	}
	if f.Most != nil {
		parts = append(parts, "≤ "+show(*f.Most))
	}
	return strings.Join(parts, ", ")
}

// unsupported lists AIPerf's fields that are accepted without their features.
func unsupported(b *strings.Builder, root *flags.Field) {
	b.WriteString("\n## Fields of AIPerf without their features\n\n" +
		"AIPerf 0.13 has these fields as well. They are accepted with the value that switches the feature off " +
		"(`null`, `false`, an empty list or string, or AIPerf's default), so that a resolved document can be submitted again. " +
		"Other values are refused by name; those marked * are ignored with a warning.\n\n| object | fields |\n|---|---|\n")
	root.Walk(func(f *flags.Field) {
		if len(f.Unsupported) == 0 {
			return
		}
		var names []string
		for _, l := range f.Unsupported {
			name := "`" + l.Name + "`"
			if l.Inert {
				name += "*"
			}
			names = append(names, name)
		}
		where := "the document"
		if f.Path != "" {
			where = "`" + shown(f.Path) + "`"
		}
		fmt.Fprintf(b, "| %s | %s |\n", where, strings.Join(names, ", "))
	})
}
