package main

import (
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// packages writes one row for each package, with the first sentence of its comment.
func packages(w io.Writer) error {
	var b strings.Builder
	for _, top := range []string{"cmd", "internal", "web", "openapi", "benchmarks", "scripts"} {
		err := fs.WalkDir(os.DirFS("."), top, func(dir string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			if d.Name() == "testdata" || d.Name() == "node_modules" {
				return fs.SkipDir
			}
			return describePackage(&b, dir)
		})
		if err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// describePackage writes the row of a folder if it holds a package.
func describePackage(b *strings.Builder, dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read package: %w", err)
	}
	code, synopsis := false, ""
	for _, f := range files {
		if path.Ext(f.Name()) != ".go" || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		code = true
		file, err := parser.ParseFile(token.NewFileSet(), path.Join(dir, f.Name()), nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			return fmt.Errorf("read package: %w", err)
		}
		if file.Doc != nil {
			synopsis = new(doc.Package).Synopsis(file.Doc.Text())
		}
	}
	if !code {
		return nil
	}
	_, contents, found := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(synopsis, "Package "), "Command "), " ")
	if !found {
		return fmt.Errorf("package %s has no comment", dir)
	}
	contents = strings.NewReplacer("[", "`", "]", "`").Replace(contents) // links of the comment
	fmt.Fprintf(b, "| `%s` | %s |\n", dir, strings.ToUpper(contents[:1])+contents[1:])
	return nil
}
