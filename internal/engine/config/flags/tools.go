// This file has the options of other benchmarks of inference servers, and what
// they are called here.

package flags

import (
	"embed"
	"regexp"
	"slices"
	"strings"
)

// Tool is another benchmark.
type Tool struct {
	Name   string
	Source string // the file of the table, from the root of the repository
	Table  string // Markdown
	Rows   []Row
}

// Row is what some options of a tool are here. The cells are Markdown.
type Row struct {
	Theirs  string // the options, with examples of their values
	Ours    string // flags of aiperfd profile in quotes of code, or a sentence, or [NoFlag]
	Differs string // what to know; may be empty
}

// NoFlag is what a row has for options without an equivalent.
const NoFlag = "none"

//go:embed *.md
var tables embed.FS

// Tools returns the tools with their tables.
func Tools() []Tool {
	var tools []Tool
	for _, file := range []string{"vllm", "guidellm", "genai-perf", "http"} {
		text, err := tables.ReadFile(file + ".md")
		if err != nil {
			panic("read table: " + err.Error()) // it is part of the program
		}
		tool := parseTool(string(text))
		tool.Source = "internal/engine/config/flags/" + file + ".md"
		tools = append(tools, tool)
	}
	return tools
}

// parseTool reads a table of three columns; the head of the first one begins with the name of
// the tool.
func parseTool(table string) Tool {
	t := Tool{Table: table}
	for i, line := range strings.Split(strings.TrimSpace(table), "\n") {
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		for j := range cells {
			cells[j] = strings.TrimSpace(cells[j])
		}
		switch i {
		case 0:
			t.Name = cells[0]
		case 1: // the line below the head
		default:
			t.Rows = append(t.Rows, Row{Theirs: cells[0], Ours: cells[1], Differs: strings.Join(cells[2:], " | ")})
		}
	}
	return t
}

// code finds the quotes of code of a cell.
var code = regexp.MustCompile("`([^`]+)`")

// Snippets returns the quotes of code of a cell.
func Snippets(cell string) []string {
	var all []string
	for _, m := range code.FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
}

// What a row gains by an example: that the option is the first of it, or the others before it
// were typed as well; a value that is a word, such as the kind of a thing; the name of a value.
// No value is as long as the next larger one.
const (
	leads  = 1 << 24
	agrees = 1 << 16
	shares = 1 << 8
)

// match returns how well a row describes an option as typed, and 0 if it does not have the
// option.
func (r Row) match(option string, typed values) int {
	best := 0
	for _, snippet := range Snippets(r.Theirs) {
		words := strings.Fields(snippet)
		at := slices.Index(words, option)
		if at < 0 {
			continue
		}
		before := readValues(words[:at])
		example := readValues(words)
		score := 1
		if !slices.ContainsFunc(before.names, func(name string) bool { return before.of[name] != typed.of[name] }) {
			score += leads * (1 + len(before.names))
		}
		for _, name := range example.names {
			theirs, given := typed.of[name]
			switch {
			case !given || name == option && strings.Contains(theirs, "="): // its parts count
			case theirs == example.of[name] && !number.MatchString(theirs):
				score += agrees
			case name != option:
				score += shares
			}
		}
		best = max(best, score+common(example.of[option], typed.of[option]))
	}
	return best
}

// common returns the length of the common beginning of two texts, and one more if they are
// equal.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b), shares-2) && a[n] == b[n] {
		n++
	}
	if a == b {
		n++
	}
	return n
}

// values are the options of a command line with their values, and the parts of values such
// as kind=constant,rate=3 under the name of the option and their own.
type values struct {
	names []string // in the order of the command line
	of    map[string]string
}

func readValues(words []string) values {
	v := values{of: make(map[string]string)}
	option := ""
	for _, word := range words {
		if strings.HasPrefix(word, "-") {
			name, value, inline := strings.Cut(word, "=")
			option = name
			v.set(option, "")
			if !inline {
				continue
			}
			word = value
		}
		v.set(option, strings.TrimSpace(v.of[option]+" "+word))
		for part := range strings.SplitSeq(word, ",") {
			if name, value, ok := strings.Cut(part, "="); ok {
				v.set(option+" "+name, value)
			}
		}
	}
	return v
}

func (v *values) set(name, value string) {
	if _, ok := v.of[name]; !ok {
		v.names = append(v.names, name)
	}
	v.of[name] = value
}

// hintElsewhere says what an option of another tool is here, as the end of a sentence for
// terminals; "" if no tool has it. argv is the command line with the option.
func hintElsewhere(option string, argv []string) string {
	var hints []string
	best, typed := 0, readValues(argv)
	for _, tool := range Tools() {
		hint, score := tool.hint(option, typed)
		if score > best {
			hints, best = nil, score
		}
		if score == best && score > 0 {
			hints = append(hints, hint)
		}
	}
	if len(hints) == 0 {
		return ""
	}
	return "; " + strings.Join(hints, "; ") + " (docs/coming-from.md)"
}

// row returns the row that matches an option best; the first of several.
func (t Tool) row(option string, typed values) (row Row, score int) {
	for _, r := range t.Rows {
		if s := r.match(option, typed); s > score {
			row, score = r, s
		}
	}
	return row, score
}

// hint describes an option by the row that matches best what was typed.
func (t Tool) hint(option string, typed values) (text string, score int) {
	row, score := t.row(option, typed)
	name, _, _ := strings.Cut(strings.TrimSuffix(t.Name, " run"), " profile")
	theirs := name + "'s " + option
	if strings.HasSuffix(name, " HTTP") { // not one tool
		theirs = option
	}
	switch ours := plain(row.Ours); {
	case score == 0:
		return "", 0
	case ours == NoFlag && row.Differs == "":
		return theirs + " has no equivalent", score
	case ours == NoFlag:
		return theirs + " has no equivalent: " + strings.TrimSuffix(plain(row.Differs), "."), score
	case strings.HasPrefix(ours, "-"):
		return theirs + ": use " + t.translate(row, typed), score
	default:
		return theirs + ": " + t.translate(row, typed), score
	}
}

var (
	// number is a number, or a list of numbers.
	number = regexp.MustCompile(`^[0-9]+(?:[.,][0-9]+)*$`)
	// address is a base URL that has no place for a secret.
	address = regexp.MustCompile(`^https?://[A-Za-z0-9.\[\]:/_-]+$`)
	// filled finds what an example of our flags has in the place of values of the user: JSON,
	// addresses and numbers, with what is before them.
	filled = regexp.MustCompile(`(^|[\s:"])('\{[^']*\}'|https?://[^\s,]+|[0-9]+(?:[.,][0-9]+)*)`)
)

// translate returns the cell of our flags as plain text, with the values that were typed in
// place of those of the examples. Where none was typed there is a placeholder.
func (t Tool) translate(r Row, typed values) string {
	ours := plain(r.Ours)
	text, done := strings.Builder{}, 0
	for _, at := range filled.FindAllStringSubmatchIndex(ours, -1) {
		before, example := strings.Fields(ours[:at[4]]), ours[at[4]:at[5]]
		flag := ""
		if len(before) > 0 {
			flag = before[len(before)-1]
		}
		value, ok := r.carried(example, typed)
		if !ok {
			value, ok = t.given(flag, typed)
		}
		if !ok {
			value = toolPlaceholder(example, r.Differs)
		}
		text.WriteString(ours[done:at[4]] + value)
		done = at[5]
	}
	return text.String() + ours[done:]
}

// carried returns the value that was typed for the one of an example.
func (r Row) carried(example string, typed values) (value string, ok bool) {
	for _, snippet := range Snippets(r.Theirs) {
		theirs := readValues(strings.Fields(snippet))
		for _, name := range theirs.names {
			value, ok := typed.of[name]
			if ok && theirs.of[name] == example && (number.MatchString(value) || address.MatchString(value)) {
				return value, true
			}
		}
	}
	return "", false
}

// given returns the value that another option of the command line gives to a flag of ours.
func (t Tool) given(flag string, typed values) (value string, ok bool) {
	for _, name := range typed.names {
		row, _ := t.row(name, typed)
		words := strings.Fields(plain(row.Ours))
		if at := slices.Index(words, flag); at >= 0 && at+1 < len(words) {
			if value, ok := row.carried(words[at+1], typed); ok {
				return value, true
			}
		}
	}
	return "", false
}

// toolPlaceholder stands for a value that nobody typed. 0 and 1 are constants, and so is a number
// that the remark explains, such as a default of the other tool.
func toolPlaceholder(example, remark string) string {
	switch {
	case strings.HasPrefix(example, "'"):
		return "JSON"
	case strings.HasPrefix(example, "http"):
		return "URL"
	case example == "0" || example == "1" || slices.Contains(strings.Fields(remark), example):
		return example
	case strings.Contains(example, ","):
		return "N,N"
	}
	return "N"
}

// link finds the links of a cell.
var link = regexp.MustCompile(`\[([^\]]+)\]\([^)]+\)`)

// plain removes the marks of Markdown.
func plain(cell string) string {
	return strings.ReplaceAll(link.ReplaceAllString(cell, "$1"), "`", "")
}
