package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/view"
	"aiperfd/openapi"
)

func newConfigCommand() *cobra.Command {
	validate := newValidateCommand()
	validate.Short += "; also aiperfd validate"
	return group(&cobra.Command{Use: "config", Short: "Create, validate and explain benchmark documents"},
		newInitCommand(), validate, newExpandCommand(), newShowDefaultsCommand(), newSchemaCommand())
}

// initFlags are the flags of config init.
type initFlags struct {
	template, search, category, model, url, output string
	list, verbose                                  bool
}

func newInitCommand() *cobra.Command {
	f := new(initFlags)
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a benchmark document from a template",
		Long: `Write a benchmark document from a template, to standard output or a file.
Without a template, the list of templates is printed.`,
		Example: `  aiperfd config init --list
  aiperfd config init --template latency_test --model m --output bench.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(plainOut(cmd)) },
	}
	fs := cmd.Flags()
	fs.StringVarP(&f.template, "template", "t", "", "`name` of the template")
	fs.BoolVarP(&f.list, "list", "l", false, "list the templates")
	fs.StringVarP(&f.search, "search", "s", "", "list the templates that contain a `text` in their name, tags or description")
	fs.StringVarP(&f.category, "category", "c", "", "list the templates of a `category`")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "list descriptions and tags too")
	fs.StringVarP(&f.model, "model", "m", "", "`name` of the model to write into the document")
	fs.StringVarP(&f.url, "url", "u", "", "`URL` of the server to write into the document")
	fs.StringVarP(&f.output, "output", "o", "", "`file` to write, which must not exist")
	return cmd
}

func (f *initFlags) run(w io.Writer) error {
	if f.template == "" {
		if f.model+f.url+f.output != "" {
			return exitWith(exitUsage, errors.New("--model, --url and --output need --template"))
		}
		return f.printList(w)
	}
	if f.list || f.search != "" || f.category != "" {
		return exitWith(exitUsage, errors.New("--template cannot be combined with --list, --search or --category"))
	}
	t, err := config.FindStarter(f.template)
	if err != nil {
		return exitWith(exitUsage, err)
	}
	text := t.For(f.model, f.url)
	if f.output == "" {
		_, err = io.WriteString(w, text)
		return err
	}
	file, err := os.OpenFile(f.output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // it has no secrets, and others may read it
	if err != nil {
		return exitWith(exitUsage, err)
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// printList prints the templates that the flags select.
func (f *initFlags) printList(w io.Writer) error {
	var found []config.Starter
	for _, t := range config.Starters() {
		if t.Matches(f.search) && strings.Contains(strings.ToLower(t.Category), strings.ToLower(f.category)) {
			found = append(found, t)
		}
	}
	if len(found) == 0 {
		categories := strings.Join(config.StarterCategories(), ", ")
		return exitWith(exitUsage, fmt.Errorf("no template matches; the categories are %s", categories))
	}
	for len(found) > 0 {
		category := found[0].Category
		n := slices.IndexFunc(found, func(t config.Starter) bool { return t.Category != category })
		if n < 0 {
			n = len(found)
		}
		fmt.Fprintln(w, category)
		f.printTemplates(w, found[:n])
		if found = found[n:]; len(found) > 0 {
			fmt.Fprintln(w)
		}
	}
	return nil
}

// printTemplates prints the templates of one category.
func (f *initFlags) printTemplates(w io.Writer, templates []config.Starter) {
	table := view.Table{Columns: make([]view.Column, 2)}
	for _, t := range templates {
		if f.verbose {
			fmt.Fprintf(w, "  %s  %s\n      %s\n      tags: %s\n", t.Name, t.Title, t.Description, strings.Join(t.Tags, ", "))
			continue
		}
		table.Rows = append(table.Rows, []string{"  " + t.Name, t.Title})
	}
	fmt.Fprint(w, table.Text(0))
}

func newShowDefaultsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show-defaults [FILE]",
		Short: "List the defaults of all fields, or those that a document gets",
		Long: `Without FILE, list the default of every field, and the flags that set it. With
FILE, list the values that are chosen because of others in this document, with
the reason.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return printDefaults(plainOut(cmd))
			}
			doc, _, err := loadDocument(cmd, args[0])
			if err != nil {
				return err
			}
			for _, d := range doc.Defaulted() {
				fmt.Fprintln(plainOut(cmd), d)
			}
			return nil
		},
	}
}

// printDefaults prints all fields that have a default.
func printDefaults(w io.Writer) error {
	known := plan.Choices()
	root := flags.Reference(&known)
	table := view.Table{Columns: []view.Column{{Title: "FIELD"}, {Title: "DEFAULT"}, {Title: "FLAG"}}}
	root.Walk(func(f *flags.Field) {
		if f.Default != "" {
			path := strings.ReplaceAll(f.Path, ".*", "[]")
			table.Rows = append(table.Rows, []string{path, f.Default, strings.Join(slices.Compact(f.Flags), " ")})
		}
	})
	_, err := io.WriteString(w, table.Text(0))
	return err
}

func newSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of benchmark documents",
		Long: `Print the JSON Schema (draft 2020-12) of benchmark documents, for editors and
validators. The daemon serves it at /api/config/schema.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			schema, err := openapi.DocumentSchema()
			if err != nil {
				return err
			}
			return plainjson.WriteIndent(plainOut(cmd), json.RawMessage(schema))
		},
	}
}
