package arch

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// module is the path of this module, in front of every package of our own.
const module = "aiperfd"

// source is one Go file of the repository.
type source struct {
	path string // from the root, with slashes
	dir  string // folder of path, "." for the root
	test bool
	set  *token.FileSet
	file *ast.File
}

// line returns the line of a position.
func (s *source) line(p token.Pos) int { return s.set.Position(p).Line }

// root finds the folder that holds go.mod.
var root = sync.OnceValues(func() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the test's folder")
		}
		dir = parent
	}
})

// skipped are folders that are not part of the source: version control, build
// output and what tools of other languages put there.
func skipped(name string) bool {
	return slices.Contains([]string{".git", "bin", "dist", "artifacts", "node_modules"}, name)
}

// contents reads every regular file of the repository, by its slashed path from
// the root.
var contents = sync.OnceValues(func() (map[string]string, error) {
	dir, err := root()
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	top := os.DirFS(dir)
	err = fs.WalkDir(top, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipped(d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular(), d.Name() == ".git": // which is a file in a worktree
			return nil
		}
		data, err := fs.ReadFile(top, name)
		out[name] = string(data)
		return err
	})
	return out, err
})

// files returns the content of every file of the repository.
func files(t *testing.T) map[string]string {
	t.Helper()
	all, err := contents()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 200 {
		t.Fatalf("found %d files; the walk misses the repository", len(all))
	}
	return all
}

// read returns the content of a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	text, ok := files(t)[name]
	if !ok {
		t.Fatalf("%s does not exist", name)
	}
	return text
}

// parsed holds every Go file outside testdata, in lexical order.
var parsed = sync.OnceValues(func() ([]*source, error) {
	all, err := contents()
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	var out []*source
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !strings.HasSuffix(name, ".go") || strings.Contains(name, "testdata/") {
			continue
		}
		file, err := parser.ParseFile(set, name, all[name], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		out = append(out, &source{
			path: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), set: set, file: file,
		})
	}
	return out, nil
})

// sources returns every Go file outside testdata.
func sources(t *testing.T) []*source {
	t.Helper()
	out, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 100 {
		t.Fatalf("found %d Go files; the walk misses the repository", len(out))
	}
	return slices.Clone(out)
}

// code returns the files that are not tests.
func code(t *testing.T) []*source {
	t.Helper()
	return slices.DeleteFunc(sources(t), func(s *source) bool { return s.test })
}

// functions calls f for every function with a body.
func (s *source) functions(f func(*ast.FuncDecl)) {
	for _, d := range s.file.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			f(fn)
		}
	}
}

// selects reports whether a call is pkg.name(…), as it is written.
func selects(call *ast.CallExpr, pkg, name string) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == pkg
}
