package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/plan"
)

// document writes the tables of the fields of the benchmark document.
func document(w io.Writer) error {
	var b strings.Builder
	choices := plan.Choices()
	root := flags.Reference(&choices)
	root.Walk(func(f *flags.Field) { object(&b, f) })
	_, err := io.WriteString(w, b.String())
	return err
}

// limit returns a limit of documents.
func limit(name string) (int, error) {
	limits := map[string]int{
		"depth": tree.MaxDepth, "names": tree.MaxPointer, "values": tree.MaxValues, "ownValues": tree.MaxOwnValues,
		"aliased": tree.MaxAliased, "text": schema.MaxText, "prompt MiB": schema.MaxPrompt >> 20, "name": schema.MaxName,
		"secret KiB": schema.MaxSecret >> 10, "list": schema.MaxList, "members": schema.MaxMembers,
	}
	n, ok := limits[name]
	if !ok {
		return 0, fmt.Errorf("there is no limit %q", name)
	}
	return n, nil
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
		{f.Has(schema.FormURL), ", boolean, URL, or list of URLs"},
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
func unsupported() string {
	var b strings.Builder
	choices := plan.Choices()
	root := flags.Reference(&choices)
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
		fmt.Fprintf(&b, "| %s | %s |\n", where, strings.Join(names, ", "))
	})
	return b.String()
}
