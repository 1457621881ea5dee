// This file replaces references to environment variables and secrets in a document.

package template

import (
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/tree"
)

// VariableOptions say what a reference can stand for.
type VariableOptions struct {
	Untrusted bool     // only the variables of AllowEnv
	AllowEnv  []string // names
	// LookupEnv gives environment variables; nil = none is set.
	LookupEnv func(name string) (string, bool)
	// LookupSecret gives secrets for ${secret:NAME}; nil = there are none.
	LookupSecret func(name string) (string, bool)
}

// ExpandVariables replaces ${NAME}, ${NAME:default} and ${secret:NAME} in every text
// below root. A text that is one substitution as a whole takes the type of what
// it becomes: boolean, number or text. The template of request bodies is left as it
// is.
func ExpandVariables(root *tree.Node, o VariableOptions, r *problem.Report) {
	root.Walk(func(n *tree.Node) {
		if n.Shape != tree.Text || strings.HasSuffix(n.Pointer, "/endpoint/template/body") {
			return
		}
		if strings.Contains(n.Scalar, "${") {
			expand(n, o, r)
		}
	})
}

// expand replaces the substitutions of one text.
func expand(n *tree.Node, o VariableOptions, r *problem.Report) {
	var out strings.Builder
	rest := n.Scalar
	whole := strings.HasPrefix(rest, "${") && strings.IndexByte(rest, '}') == len(rest)-1
	for {
		before, after, more := strings.Cut(rest, "${")
		out.WriteString(before)
		if !more {
			break
		}
		expression, tail, closed := strings.Cut(after, "}")
		if !closed {
			r.Fail(n.Place, problem.CodeWrongType, "%s: ${ without a closing brace", problem.Label(n.Place))
			return
		}
		value, outside, ok := lookup(n, expression, o, r)
		if !ok {
			return
		}
		if outside {
			n.Secrets = append(n.Secrets, value)
			if name, isSecret := strings.CutPrefix(expression, "secret:"); isSecret {
				n.Confidential, n.References = true, append(n.References, name)
			}
		}
		out.WriteString(value)
		rest = tail
	}
	n.Written, n.Scalar, n.Substituted = n.Scalar, out.String(), whole
	if whole {
		n.Shape = Retype(n.Scalar)
	}
}

// lookup finds the value of one substitution; outside means that it came from
// outside of the document.
func lookup(n *tree.Node, expression string, o VariableOptions, r *problem.Report) (value string, outside, ok bool) {
	name, fallback, hasFallback := strings.Cut(expression, ":")
	switch {
	case name == "secret" && hasFallback:
		return lookupSecret(n, fallback, o, r)
	case !variableName(name):
		r.Fail(n.Place, problem.CodeWrongType, "%s: ${%s} does not name a variable", problem.Label(n.Place), problem.Clip(expression))
		return "", false, false
	case o.Untrusted && !slices.Contains(o.AllowEnv, name):
		r.Fail(n.Place, problem.CodeEnvNotAllowed, "%s: the environment variable %s is not allowed; see serve --allow-env", problem.Label(n.Place), name)
		return "", false, false
	}
	if o.LookupEnv != nil {
		if value, ok := o.LookupEnv(name); ok {
			return value, true, true
		}
	}
	if !hasFallback {
		r.Fail(n.Place, problem.CodeRequired, "%s: the environment variable %s is not set and has no default", problem.Label(n.Place), name)
	}
	return fallback, false, hasFallback
}

func lookupSecret(n *tree.Node, name string, o VariableOptions, r *problem.Report) (value string, outside, ok bool) {
	if o.LookupSecret != nil {
		value, ok = o.LookupSecret(name)
	}
	if !ok {
		r.Fail(n.Place, problem.CodeSecretNotFound, "%s: no such secret: %q", problem.Label(n.Place), problem.Clip(name))
	}
	return value, true, ok
}

// variableName reports whether s can name an environment variable.
func variableName(s string) bool {
	for i := range len(s) {
		if !tree.IsAlnum(s[i]) && s[i] != '_' {
			return false
		}
	}
	return s != "" && (s[0] < '0' || s[0] > '9')
}

// Retype returns the shape of a plain value, by AIPerf's rules for substituted text and
// for the values of key:value flags.
func Retype(s string) tree.Shape {
	if lower := strings.ToLower(s); lower == "true" || lower == "false" {
		return tree.Boolean
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil && tree.IsNumber(s) {
		return tree.Number
	}
	return tree.Text
}
