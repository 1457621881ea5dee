// Package elsewhere has the options of other benchmarks of inference servers, and what
// they are called here.
package elsewhere

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
	Ours    string // flags of aiperfd profile in quotes of code, or a sentence, or [None]
	Differs string // what to know; may be empty
}

// None is what a row has for options without an equivalent.
const None = "none"

//go:embed *.md
var tables embed.FS

// Tools returns the tools with their tables.
func Tools() []Tool {
	var tools []Tool
	for _, file := range []string{"vllm", "guidellm", "genai-perf"} {
		text, err := tables.ReadFile(file + ".md")
		if err != nil {
			panic("read table: " + err.Error()) // it is part of the program
		}
		tool := parse(string(text))
		tool.Source = "internal/engine/config/elsewhere/" + file + ".md"
		tools = append(tools, tool)
	}
	return tools
}

// parse reads a table of three columns; the head of the first one begins with the name of
// the tool.
func parse(table string) Tool {
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

// leads is what a row gains that has an option as the first of a quote, and not in the
// company of another one. No value is so long.
const leads = 1 << 20

// match returns how well a row describes an option as typed with its value, and 0 if it does
// not have the option: the length of what the two have in common.
func (r Row) match(option, typed string) int {
	best := 0
	for _, snippet := range Snippets(r.Theirs) {
		words := strings.Fields(snippet)
		at := slices.Index(words, option)
		if at < 0 {
			continue
		}
		example, score := strings.Join(words[at:], " "), 0
		for score < min(len(example), len(typed)) && example[score] == typed[score] {
			score++
		}
		if example == typed {
			score++
		}
		if at == 0 {
			score += leads
		}
		best = max(best, score)
	}
	return best
}

// Hint says what an option of another tool is here, as the end of a sentence for
// terminals; "" if no tool has it. value is what was typed behind it.
func Hint(option, value string) string {
	var hints []string
	best := 0
	for _, tool := range Tools() {
		hint, score := tool.hint(option, strings.TrimSpace(option+" "+value))
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

// hint describes an option by the row that matches best what was typed; the first of
// several.
func (t Tool) hint(option, typed string) (text string, score int) {
	var row Row
	for _, r := range t.Rows {
		if s := r.match(option, typed); s > score {
			row, score = r, s
		}
	}
	name, _, _ := strings.Cut(strings.TrimSuffix(t.Name, " run"), " profile")
	theirs := name + "'s " + option
	switch ours := row.translate(option, typed); {
	case score == 0:
		return "", 0
	case ours == None && row.Differs == "":
		return theirs + " has no equivalent", score
	case ours == None:
		return theirs + " has no equivalent: " + strings.TrimSuffix(plain(row.Differs), "."), score
	case strings.HasPrefix(ours, "-"):
		return theirs + ": use " + ours, score
	default:
		return theirs + ": " + ours, score
	}
}

// number is a value that can stand in place of that of an example.
var number = regexp.MustCompile(`^[0-9][0-9.,]*$`)

// translate returns the cell of our flags as plain text. If the example of an option is a
// number that our flags repeat, it has the number that was typed.
func (r Row) translate(option, typed string) string {
	ours, value := plain(r.Ours), strings.TrimSpace(strings.TrimPrefix(typed, option))
	if !number.MatchString(value) {
		return ours
	}
	for _, snippet := range Snippets(r.Theirs) {
		if example, ok := strings.CutPrefix(snippet, option+" "); ok && number.MatchString(example) {
			words := strings.Fields(ours)
			for i := range words {
				if words[i] == example {
					words[i] = value
				}
			}
			return strings.Join(words, " ")
		}
	}
	return ours
}

// link finds the links of a cell.
var link = regexp.MustCompile(`\[([^\]]+)\]\([^)]+\)`)

// plain removes the marks of Markdown.
func plain(cell string) string {
	return strings.ReplaceAll(link.ReplaceAllString(cell, "$1"), "`", "")
}
