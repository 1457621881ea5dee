// Package jinja renders templates in Jinja's language within bounds. A template
// may be untrusted (a submitted document, a model's repository), and the
// language can request any amount of memory and time in a few bytes. Every
// operation therefore takes its cost from a budget before it is performed, and a
// template can reach neither files nor functions that it was not given.
package jinja

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"
	"github.com/nikolalohinski/gonja/v2/parser"
)

// Bounds of a template and of one rendering.
const (
	MaxSource   = 16 << 10  // bytes of a template, by default
	MaxRendered = 64 << 20  // bytes of the result
	maxMade     = 128 << 20 // bytes of all texts made on the way, the result included
	maxSteps    = 2_000_000 // elements looked at and parts of loop bodies performed
	maxNesting  = 4_000     // openers in a template: the parser takes some 16 KiB of stack for each level
	maxDepth    = 64        // of values in values, and of calls in calls
)

// ErrBudget means that a template needs more time or memory than it may use.
var ErrBudget = errors.New("the template exceeds the limits of time and memory")

// Options configure a template. The zero value has no functions, and refuses
// names that have no value.
type Options struct {
	// Filters are added to those of the language, or replace them. Their result may be
	// at most six times as large as their input.
	Filters map[string]exec.FilterFunction
	// Functions adds macros and the functions namespace and range.
	Functions bool
	// Globals are functions and values beside the variables of a rendering.
	Globals map[string]any
	// Lenient makes names without a value empty, as in chat templates.
	Lenient bool
	// TrimBlocks removes the first line break after a block and the blanks before
	// it, as chat templates expect.
	TrimBlocks bool
	// MaxSource is the most bytes a template may have; 0 = MaxSource.
	MaxSource int
}

// Template is a compiled template. It is immutable and safe for concurrent use.
type Template struct {
	template *exec.Template
	env      exec.Environment
	config   *config.Config
	loader   loaders.Loader
}

// Parse compiles a template.
func Parse(source string, o Options) (*Template, error) {
	const name = "/template"
	limit := MaxSource
	if o.MaxSource > 0 {
		limit = o.MaxSource
	}
	if len(source) > limit {
		return nil, fmt.Errorf("read template: %d bytes, at most %d are accepted", len(source), limit)
	}
	if n := openers(source); n > maxNesting {
		return nil, fmt.Errorf("read template: %d brackets, signs and blocks, at most %d are accepted", n, maxNesting)
	}
	if o.TrimBlocks {
		source = keepBlanks(source)
	}
	loader, err := loaders.NewMemoryLoader(map[string]string{name: source})
	if err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	t := &Template{config: config.New(), loader: loader}
	t.config.StrictUndefined, t.config.KeepTrailingNewline = !o.Lenient, true
	t.config.TrimBlocks, t.config.LeftStripBlocks = o.TrimBlocks, o.TrimBlocks
	globals := exec.EmptyContext()
	if o.Functions {
		globals.Set("namespace", namespace)
		globals.Set("range", countUp)
	}
	for name, v := range o.Globals {
		globals.Set(name, v)
	}
	t.env = exec.Environment{
		Filters: filters(o.Filters), ControlStructures: structures(o.Functions),
		Tests: builtins.Tests, Context: globals, Methods: methods(),
	}
	if t.template, err = exec.NewTemplate(name, t.config, loader, &t.env); err != nil {
		return nil, fmt.Errorf("read template: %w", cause(err))
	}
	if err := bind(t.template.Root()); err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	return t, nil
}

// openers is at least the depth of nesting of a template.
func openers(source string) int {
	n := 0
	for _, s := range []string{"(", "[", "{", "-", "+", "not", "if", "else"} {
		n += strings.Count(source, s)
	}
	return n
}

// structures are the language's blocks without those by which a template can
// reach another. Macros can call themselves, so that their depth is bounded.
func structures(functions bool) *exec.ControlStructureSet {
	own := map[string]parser.ControlStructureParser{}
	for _, name := range []string{"if", "for", "set", "with", "filter", "raw", "break", "continue", "do"} {
		if p, ok := builtins.ControlStructures.Get(name); ok {
			own[name] = p
		}
	}
	if p, ok := builtins.ControlStructures.Get("macro"); ok && functions {
		own["macro"] = p
	}
	return exec.NewControlStructureSet(own)
}

// Render fills a template in. The error is [ErrBudget] if it exceeds the limits.
func (t *Template) Render(variables map[string]any) ([]byte, error) {
	return t.RenderWithin(variables, NewBudget(maxMade))
}

// RenderWithin is like [Template.Render], with what is left of a budget.
func (t *Template) RenderWithin(variables map[string]any, within *Budget) (rendered []byte, err error) {
	defer func() { // the library does not recover from arithmetic errors, such as a division by zero
		if fault := recover(); fault != nil {
			rendered, err = nil, fmt.Errorf("render template: %v", fault)
		}
	}()
	b := &within.left
	env := t.env
	env.Context = t.env.Context.Inherit().Update(exec.NewContext(variables))
	env.Context.Set(budgetName, b)
	out := &strings.Builder{}
	r := exec.NewRenderer(&env, &bounded{out}, t.config, t.loader, t.template)
	if err := r.Execute(); err != nil {
		if b.spent != nil {
			err = b.spent
		}
		return nil, fmt.Errorf("render template: %w", cause(err))
	}
	return []byte(out.String()), nil
}

// bounded refuses to write beyond MaxRendered.
type bounded struct{ out *strings.Builder }

var _ io.Writer = (*bounded)(nil)

// Write implements io.Writer.
func (w *bounded) Write(p []byte) (int, error) { return w.WriteString(string(p)) }

// WriteString implements io.StringWriter.
func (w *bounded) WriteString(s string) (int, error) {
	if w.out.Len()+len(s) > MaxRendered {
		return 0, fmt.Errorf("%w: the result is larger than %d bytes", ErrBudget, MaxRendered)
	}
	return w.out.WriteString(s)
}

// cause is the innermost error: the library wraps one for every part of an
// expression, and quotes that part, including the charges, each time.
func cause(err error) error {
	for {
		var inner error
		switch e := err.(type) { //nolint:errorlint // it walks the chain itself
		case *exec.Value:
			inner, _ = e.Interface().(error)
		case interface{ Unwrap() error }:
			inner = e.Unwrap()
		case interface{ Cause() error }:
			inner = e.Cause()
		}
		if inner == nil || err == inner || errors.Is(ErrBudget, inner) { //nolint:errorlint // it walks the chain itself
			break
		}
		err = inner
	}
	if errors.Is(err, ErrBudget) {
		return err
	}
	const shown = 300 // bytes: an error may quote a value
	text := err.Error()
	if i := strings.LastIndex(text, ErrBudget.Error()); i >= 0 { // of a method: the library keeps the text only
		why := text[i+len(ErrBudget.Error()):]
		return fmt.Errorf("%w%s", ErrBudget, why[:min(len(why), shown)])
	}
	if i := strings.LastIndex(text, "\x00"); i >= 0 {
		text = text[i:]
		if _, rest, ok := strings.Cut(text, "': "); ok {
			text = rest
		}
	}
	if i := strings.LastIndex(text, "}: "); i >= 0 && strings.Contains(text[:i], "filter &{") {
		text = text[i+len("}: "):]
	}
	return errors.New(strings.ToValidUTF8(text[:min(len(text), shown)], ""))
}
