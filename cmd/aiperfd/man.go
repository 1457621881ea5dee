package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/plan"
)

func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write the manual pages into a folder",
		Long: `Write one manual page per command into a folder, for section 1 of the manual.

  aiperfd man /usr/local/share/man/man1
  man aiperfd-profile`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return manPages(cmd.Root(), args[0])
		},
	}
}

// manPages writes the pages of a command and of those below it.
func manPages(cmd *cobra.Command, dir string) error {
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	if err := durable.WriteFile(filepath.Join(dir, name+".1"), durable.Shared, manPage(cmd)); err != nil {
		return err
	}
	for _, below := range cmd.Commands() {
		if !below.IsAvailableCommand() {
			continue
		}
		if err := manPages(below, dir); err != nil {
			return err
		}
	}
	return nil
}

// roff is text in the language of man(7).
type roff struct{ bytes.Buffer }

func manPage(cmd *cobra.Command) []byte {
	var r roff
	day, _, _ := strings.Cut(thisBuild().Date, "T")
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	fmt.Fprintf(&r, ".TH %q 1 %q %q %q\n.ad l\n", strings.ToUpper(name), day, "aiperfd "+version, "aiperfd manual")
	r.section("NAME")
	r.text(name + ` - ` + strings.ToLower(cmd.Short[:1]) + cmd.Short[1:])
	r.section("SYNOPSIS")
	synopsis := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		synopsis = cmd.CommandPath() + " COMMAND"
	}
	fmt.Fprintf(&r, ".B %s\n", escape(synopsis))
	r.section("DESCRIPTION")
	r.prose(cmp.Or(cmd.Long, cmd.Short+"."))
	if cmd.Example != "" {
		r.section("EXAMPLES")
		r.prose(cmd.Example)
	}
	if cmd.DisableFlagParsing {
		r.profileFlags()
	} else {
		r.section("OPTIONS")
		cmd.InitDefaultHelpFlag()
		cmd.NonInheritedFlags().VisitAll(r.flag)
	}
	var also []string
	cmd.VisitParents(func(c *cobra.Command) { also = append(also, strings.ReplaceAll(c.CommandPath(), " ", "-")+"(1)") })
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			also = append(also, strings.ReplaceAll(c.CommandPath(), " ", "-")+"(1)")
		}
	}
	if len(also) > 0 {
		r.section("SEE ALSO")
		r.text(strings.Join(also, ", "))
	}
	return r.Bytes()
}

func (r *roff) section(title string) { fmt.Fprintf(r, ".SH %s\n", title) }

func (r *roff) text(line string) { r.WriteString(escape(line) + "\n") }

// prose writes paragraphs. Indented lines are shown as they are.
func (r *roff) prose(text string) {
	for i, paragraph := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			r.WriteString(".PP\n")
		}
		if strings.HasPrefix(paragraph, " ") || strings.HasPrefix(paragraph, "\t") {
			r.WriteString(".nf\n" + escape(strings.ReplaceAll(paragraph, "\t", "  ")) + "\n.fi\n")
			continue
		}
		r.text(paragraph)
	}
}

func (r *roff) flag(f *pflag.Flag) {
	if f.Hidden {
		return
	}
	kind, help := pflag.UnquoteUsage(f)
	title := "--" + f.Name
	if f.Shorthand != "" {
		title = "-" + f.Shorthand + ", " + title
	}
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" && f.DefValue != "0s" {
		help += " (default: " + f.DefValue + ")"
	}
	r.entry(strings.TrimSpace(title+" "+kind), help)
}

func (r *roff) entry(title, text string) {
	fmt.Fprintf(r, ".TP\n.B %s\n", escape(title))
	r.text(text)
}

// profileFlags writes the flags of profile, which have AIPerf's grammar and groups.
func (r *roff) profileFlags() {
	group := ""
	for _, d := range flags.Descriptions(new(plan.Choices())) {
		if d.Group != group {
			group = d.Group
			r.section(strings.ToUpper(group) + " OPTIONS")
		}
		r.entry(d.Title, d.Help)
	}
}

// escape returns text with the characters quoted that have a meaning in roff.
func escape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
