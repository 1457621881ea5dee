// Package template evaluates the expressions of a document: texts with {{ … }} or {% … %}, in
// Jinja's language within the bounds of package jinja. An expression knows the members of
// variables by their names, and every value of the document by its path, as
// phases.profiling.rate. Values that are templates themselves are evaluated first.
package template

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nikolalohinski/gonja/v2/exec"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/jinja"
	"aiperfd/internal/engine/suggest"
)

// Bounds of all templates of a document together.
const (
	maxTemplates = 10_000
	maxSource    = 1 << 20  // bytes
	maxMade      = 32 << 20 // bytes of the texts that are made
)

// Render evaluates the templates below root, in place, and reports their problems. A result
// that is a number, true or false is one; other results are texts. It returns whether there
// were any templates. Templates of requests and the contents of user files stay as they are.
func Render(root *tree.Node, r *problem.Report) bool {
	e := &evaluation{
		root: root, report: r, state: make(map[*tree.Node]state), paths: make(map[*tree.Node]string),
		values: make(map[*tree.Node]any), secrets: make(map[*tree.Node]*secrets), budget: jinja.NewBudget(maxMade),
	}
	e.collect(root, "")
	size := 0
	for _, n := range e.templates {
		if size += len(n.Scalar); size > maxSource || len(e.templates) > maxTemplates {
			r.Fail(n.Place, problem.CodeOutOfRange, "the templates ({{ … }}) of a document can be at most %d, of %d KiB together",
				maxTemplates, maxSource>>10)
			return true
		}
	}
	for _, n := range e.templates {
		e.evaluate(n)
	}
	return len(e.templates) > 0
}

// state is how far the evaluation of a template is.
type state uint8

const (
	waiting state = iota + 1
	evaluating
	done
	failed
)

// evaluation is the state of [Render].
type evaluation struct {
	root      *tree.Node
	report    *problem.Report
	budget    *jinja.Budget
	templates []*tree.Node
	paths     map[*tree.Node]string   // of templates
	state     map[*tree.Node]state    // of templates
	values    map[*tree.Node]any      // as templates see them
	secrets   map[*tree.Node]*secrets // of values without templates left in them
	stack     []*tree.Node            // templates that are being evaluated
}

// collect finds the templates below n.
func (e *evaluation) collect(n *tree.Node, path string) {
	switch suggest.Fold(strings.TrimPrefix(path, "benchmark.")) {
	case "endpoint.template", "endpoint.extra.payloadtemplate", "artifacts.userfiles",
		"sweep.runs": // which are laid over the document before it is evaluated
		return
	}
	if isTemplate(n) {
		e.templates = append(e.templates, n)
		e.state[n], e.paths[n] = waiting, path
	}
	prefix := path
	if path != "" {
		prefix += "."
	}
	for _, m := range n.Members {
		e.collect(m.Value, prefix+m.Name)
	}
	for i, item := range n.Items {
		e.collect(item, prefix+strconv.Itoa(i))
	}
}

// isTemplate reports whether a text that a document contains is a template. Those of flags
// are taken as they are.
func isTemplate(n *tree.Node) bool {
	return n.Shape == tree.Text && n.Flag == "" && (strings.Contains(n.Scalar, "{{") || strings.Contains(n.Scalar, "{%"))
}

// evaluate replaces a template by its result. It reports whether the result is there.
func (e *evaluation) evaluate(n *tree.Node) bool {
	switch e.state[n] {
	case evaluating:
		e.cycle(n)
		return false
	case waiting:
	default:
		return e.state[n] == done
	}
	e.state[n] = evaluating
	e.stack = append(e.stack, n)
	ok := e.render(n)
	e.stack = e.stack[:len(e.stack)-1]
	if !ok {
		e.state[n], n.Written = failed, n.Scalar // so that the decoder does not report it again
		return false
	}
	e.state[n] = done
	return true
}

// cycle reports templates that need each other, once.
func (e *evaluation) cycle(n *tree.Node) {
	var names []string
	for _, on := range e.stack[slices.Index(e.stack, n):] {
		names = append(names, e.paths[on])
	}
	e.report.Fail(n.Place, problem.CodeConflict, "%s: the templates of %s need each other's result",
		problem.Label(n.Place), strings.Join(append(names, names[0]), " → "))
}

// render evaluates a template whose references have been found.
func (e *evaluation) render(n *tree.Node) bool {
	s := e.resolve(n)
	if s == nil {
		return false
	}
	text, err := s.run(e.budget)
	if err != nil {
		e.explain(n, s, err)
		return false
	}
	n.Written, n.Scalar, n.Substituted, n.Confidential = n.Scalar, text, true, s.confidential
	plain := strings.TrimSpace(text)
	if n.Shape = Retype(plain); n.Shape != tree.Text {
		n.Scalar = strings.ToLower(plain)
	}
	if len(s.secrets) > 0 {
		n.Secrets = append(slices.Clone(n.Secrets), append(s.secrets, text)...)
	}
	return true
}

// secrets are those in a value and below it.
type secrets struct {
	values       []string
	confidential bool
}

// source is a template with its references replaced by names of their values.
type source struct {
	text      string
	variables map[string]any
	undefined []string // references without a value
	secrets   []string // that the values contain

	confidential bool
}

// resolve finds the values of the references of a template; nil = one of them failed.
func (e *evaluation) resolve(n *tree.Node) *source {
	s := &source{variables: make(map[string]any), secrets: slices.Clone(n.Secrets), confidential: n.Confidential}
	var out strings.Builder
	at := 0
	for _, r := range scan(n.Scalar) {
		value, used := e.find(r.names)
		if used < len(r.names) && !(r.called && used == len(r.names)-1) {
			s.undefined = append(s.undefined, strings.Join(r.names, "."))
		}
		if used == 0 {
			continue
		}
		if !e.ready(value, s) {
			return nil
		}
		name := fmt.Sprintf("v%d_", len(s.variables))
		s.variables[name] = e.value(value)
		out.WriteString(n.Scalar[at:r.start] + name)
		at = r.ends[used-1]
	}
	s.text = out.String() + n.Scalar[at:]
	return s
}

// find returns the value that a reference leads to, and how many of its names do.
func (e *evaluation) find(names []string) (*tree.Node, int) {
	best, most := e.root, 0
	try := func(from *tree.Node, names []string, extra int) {
		if from == nil || from.Shape != tree.Object {
			return
		}
		if n, used := tree.FindPath(from, names); used > 0 && used+extra > most {
			best, most = n, used+extra
		}
	}
	try(e.root.Get("variables"), names, 0)
	if most > 0 {
		return best, most
	}
	switch names[0] {
	case "benchmark", "variables":
		try(e.root.Get(names[0]), names[1:], 1)
		return best, most
	}
	try(e.root.Get("benchmark"), names, 0)
	if most == 0 {
		try(e.root, names, 0)
	}
	return best, most
}

// ready evaluates the templates at and below n, and collects the secrets there.
func (e *evaluation) ready(n *tree.Node, s *source) bool {
	found, known := e.secrets[n]
	if !known {
		found = &secrets{}
		ok := true
		n.Walk(func(below *tree.Node) {
			if e.state[below] != 0 && ok {
				ok = e.evaluate(below)
			}
			found.values = append(found.values, below.Secrets...)
			found.confidential = found.confidential || below.Confidential
		})
		if !ok {
			return false
		}
		e.secrets[n] = found
	}
	s.secrets = append(s.secrets, found.values...)
	s.confidential = s.confidential || found.confidential
	return true
}

// value returns a node as templates see it.
func (e *evaluation) value(n *tree.Node) any {
	if v, known := e.values[n]; known {
		return v
	}
	var v any
	switch n.Shape {
	case tree.Boolean:
		v = n.Scalar == "true"
	case tree.Number:
		if i, err := strconv.Atoi(n.Scalar); err == nil {
			v = i
		} else if v, err = strconv.ParseFloat(n.Scalar, 64); err != nil {
			v = n.Scalar
		}
	case tree.Text:
		v = n.Scalar
	case tree.List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = e.value(item)
		}
		v = list
	case tree.Object:
		object := make(map[string]any, len(n.Members))
		for _, m := range n.Members {
			object[m.Name] = e.value(m.Value)
		}
		v = object
	}
	e.values[n] = v
	return v
}

func (s *source) run(budget *jinja.Budget) (string, error) {
	t, err := jinja.Parse(s.text, jinja.Options{Functions: true, Filters: map[string]exec.FilterFunction{"round": round}})
	if err != nil {
		return "", err
	}
	out, err := t.RenderWithin(s.variables, budget)
	switch text := string(out); text {
	case "+Inf", "-Inf", "NaN":
		return "", errors.New("the result is not a number; it divides by zero")
	default:
		return text, err
	}
}

// explain reports why a template has no result. The error of a template with secrets is
// not shown: it may quote a value.
func (e *evaluation) explain(n *tree.Node, s *source, err error) {
	at := problem.Label(n.Place)
	code := problem.CodeWrongType
	switch {
	case errors.Is(err, jinja.ErrBudget):
		e.report.Fail(n.Place, problem.CodeOutOfRange, "%s: %v", at, err)
	case len(s.undefined) > 0:
		name := s.undefined[0]
		e.report.Fail(n.Place, problem.CodeRequired, "%s: %s is not defined%s", at, problem.Clip(name), suggest.DidYouMean(name, e.names()))
	case len(s.secrets) > 0:
		e.report.Fail(n.Place, code, "%s: the template cannot be evaluated; it contains a secret, so that the reason is not shown", at)
	default:
		e.report.Fail(n.Place, code, "%s: the template cannot be evaluated: %s", at, strings.TrimPrefix(strings.TrimPrefix(err.Error(), "render template: "), "read template: "))
	}
}

// names lists what templates can name: variables, and the sections of the benchmark.
func (e *evaluation) names() []string {
	var all []string
	for _, section := range []string{"variables", "benchmark"} {
		if n := e.root.Get(section); n != nil {
			for _, m := range n.Members {
				all = append(all, m.Name)
			}
		}
	}
	return all
}
