package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/engine/plan"
)

// guides are the pages that explain tasks. Their flags are checked in running text, too.
var guides = []string{
	"README.md", "docs/first-benchmark.md", "docs/tls-and-keys.md", "docs/pick-a-concurrency.md", "docs/how-much-load.md",
	"docs/why-is-it-slow.md", "docs/replay.md", "docs/agents.md",
	"docs/ci.md", "docs/daemon.md", "docs/trust.md", "docs/coming-from.md",
}

// TestCommands: the program accepts every command line in a block of shell or YAML of the
// documentation, as far as that can be said without running it, and has every flag that a
// guide mentions.
func TestCommands(t *testing.T) {
	t.Chdir("../..")
	program := build(t)
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, page := range append(pages, "README.md") {
		for _, line := range commandLines(text(t, page)) {
			checked++
			if err := refusal(program, words(line)); err != nil {
				t.Errorf("%s: aiperfd %s: %v", page, line, err)
			}
		}
	}
	if checked < 60 {
		t.Errorf("%d command lines were checked", checked)
	}

	known := spellings(t, program)
	flag := regexp.MustCompile(`(?:^|[\s(])(--[a-z][a-z0-9-]+)`)
	code := regexp.MustCompile("`[^`\n]+`")
	for _, page := range guides {
		for line := range strings.Lines(prose(text(t, page))) {
			if cells := strings.Split(line, " | "); page == "docs/coming-from.md" {
				line = strings.Join(cells[min(1, len(cells)-1):min(2, len(cells))], "") // the first column has flags of others
			}
			for _, quoted := range code.FindAllString(line, -1) {
				for _, m := range flag.FindAllStringSubmatch(strings.Trim(quoted, "`"), -1) {
					if !known[m[1]] {
						t.Errorf("%s mentions %s, which no command has: %s", page, m[1], quoted)
					}
				}
			}
		}
	}
}

// TestWords checks the reading of command lines.
func TestWords(t *testing.T) {
	block := "```sh\nid=$(aiperfd ctl submit \\\n   b.yaml -o name)\naiperfd ctl get $(aiperfd ctl list)\nhelm install aiperfd chart\naiperfd mock --port 8000 & # comment\n" +
		"OUT=x aiperfd profile --slo \"p99(ttft) < 1s\" --extra-inputs '{\"a b\": 1}' > out\n```\naiperfd prose\n"
	want := [][]string{
		{"ctl", "submit", "b.yaml", "-o", "name"},
		{"ctl", "get", "$"},
		{"ctl", "list"},
		{"mock", "--port", "8000"},
		{"profile", "--slo", "p99(ttft) < 1s", "--extra-inputs", `{"a b": 1}`},
	}
	lines := commandLines(block)
	if len(lines) != len(want) {
		t.Fatalf("%d command lines, want %d: %q", len(lines), len(want), lines)
	}
	for i, line := range lines {
		if got := words(line); !slices.Equal(got, want[i]) {
			t.Errorf("words(%s) = %q, want %q", line, got, want[i])
		}
	}
}

// build makes the program in a temporary folder.
func build(t *testing.T) string {
	t.Helper()
	// The result of the test depends on these files: go test looks at those that a test reads.
	sources, err := filepath.Glob("cmd/aiperfd/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		text(t, source)
	}
	program := filepath.Join(t.TempDir(), "aiperfd")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/aiperfd")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

// refusal says why the program does not take a command line, without running it:
// profile's flags are read by the package that reads them, those of the other commands
// by the command itself, which is asked for its help.
func refusal(program string, args []string) error {
	if args[0] == "profile" {
		_, err := flags.Parse(args[1:], nil)
		return err
	}
	out, err := exec.Command(program, append(slices.Clone(args), "--help")...).CombinedOutput()
	switch usage := string(out); {
	case err != nil:
		return errors.New(strings.TrimSpace(usage))
	case strings.HasPrefix(args[0], "-"):
		return nil
	case !strings.Contains(usage, "\n  aiperfd "+args[0]):
		return errors.New("there is no such command")
	case strings.Contains(usage, "\nAvailable Commands:") && len(args) > 1 && !strings.HasPrefix(args[1], "-"):
		return errors.New("there is no such subcommand")
	}
	return nil
}

// spellings returns the flags of all commands.
func spellings(t *testing.T, program string) map[string]bool {
	t.Helper()
	known := map[string]bool{"--help": true, "--help-all": true}
	flag := regexp.MustCompile(`--[a-z][a-z0-9-]+`)
	for _, d := range flags.Descriptions(new(plan.Choices())) {
		for _, name := range flag.FindAllString(d.Title, -1) {
			known[name] = true
		}
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), program, "man", dir).CombinedOutput(); err != nil {
		t.Fatalf("aiperfd man: %v\n%s", err, out)
	}
	manuals, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(manuals) < 20 {
		t.Fatal(len(manuals), err)
	}
	for _, name := range manuals {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range flag.FindAllString(strings.ReplaceAll(string(data), `\-`, "-"), -1) {
			known[m] = true
		}
	}
	return known
}

// commandLines returns what follows the name of the program in the blocks of a page that
// hold commands.
func commandLines(page string) (lines []string) {
	begins := regexp.MustCompile(`(?:^|[;|&] *|\$ |\$\(|\bsudo |[A-Z_]+=\S* )aiperfd +([a-z-].*)`)
	language := ""
	for line := range strings.Lines(strings.ReplaceAll(page, "\\\n", " ")) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "- "))
		if fence, ok := strings.CutPrefix(line, "```"); ok {
			language = fence
			continue
		}
		if !slices.Contains([]string{"sh", "bash", "console", "yaml"}, language) || strings.HasPrefix(line, "#") {
			continue
		}
		for m := begins.FindStringSubmatch(line); m != nil; m = begins.FindStringSubmatch(m[1]) {
			lines = append(lines, m[1])
		}
	}
	return lines
}

// prose returns a page without its blocks of code.
func prose(page string) string {
	var out strings.Builder
	for i, part := range strings.Split(page, "\n```") {
		if i%2 == 0 {
			out.WriteString(part)
		}
	}
	return out.String()
}

// words splits a command line as a shell does, up to the end of the command or to the
// first command within it. Variables are not replaced.
func words(line string) (words []string) {
	var word strings.Builder
	var quote rune
	begun := false
	end := func() {
		if begun {
			words = append(words, word.String())
			word.Reset()
			begun = false
		}
	}
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, begun = c, true
		case c == ' ':
			end()
		case strings.ContainsRune("|;&<>()", c), c == '#' && !begun:
			end()
			return words
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	end()
	return words
}
