// Package problem reports what is wrong with a document or a command line: every problem
// with its place, a code and a sentence.
package problem

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/redact"
)

// The codes of problems and warnings, as clients see them.
const (
	CodeRequired       = "required"
	CodeUnknownField   = "unknown-field"
	CodeWrongType      = "wrong-type"
	CodeOutOfRange     = "out-of-range"
	CodeBadEnum        = "bad-enum"
	CodeConflict       = "conflict"
	CodeNotAllowed     = "not-allowed"
	CodeRedacted       = "redacted-placeholder"
	CodeFileNotAllowed = "file-not-allowed"
	CodeEnvNotAllowed  = "env-not-allowed"
	CodeSecretNotFound = "secret-not-found"
	CodeUnsupported    = "unsupported-feature"

	CodeTargetNotAllowed = "target-not-allowed" // a server that submitted documents must not reach
	CodeSecretNotAllowed = "secret-not-allowed" // a secret that must not be sent to this server

	CodeServerOwned = "server-owned"     // warning: the daemon decides this, the value is ignored
	CodeDeprecated  = "deprecated-field" // warning: an old spelling or layout
	CodeHidden      = "secret-hidden"    // warning: a label whose name is that of a secret
	CodeExposed     = "exposed-secret"   // warning: other users of the machine can see it
	CodeNoEffect    = "no-effect"        // warning: AIPerf's field or flag that means nothing here
	CodeShortRun    = "short-run"        // warning: too few requests for some statistics
	CodeScenario    = "scenario"         // warning: a rule of the scenario that is not kept
	CodePoolOnly    = "pool-only"        // warning: the number of prompts is given, that of requests is not
)

// Problem is one thing that is wrong with a document or a command line, or
// worth a warning.
type Problem struct {
	// RFC 6901 in fragment form, in the user's spelling: #/benchmark/phases/0/rate
	Pointer string `json:"pointer"`
	Flag    string `json:"flag,omitempty"`   // the flag or environment variable at fault, if it was one
	Code    string `json:"code"`             // one of the Code constants
	Detail  string `json:"detail"`           // a sentence: field, value, what is accepted
	Value   any    `json:"value,omitempty"`  // the value; nil if it may be secret
	Line    int    `json:"line,omitempty"`   // 1-based; 0 = not from a file
	Column  int    `json:"column,omitempty"` // 1-based, in bytes
}

// String is for terminals: the place, then the detail. The detail may begin with the name of
// the field, which the place has already named.
func (p Problem) String() string {
	detail := strings.TrimPrefix(p.Detail, p.Pointer[strings.LastIndexByte(p.Pointer, '/')+1:]+": ")
	switch {
	case p.Flag != "" || p.Pointer == "#":
		return p.Detail
	case p.Line > 0:
		return fmt.Sprintf("line %d: %s: %s", p.Line, strings.TrimPrefix(p.Pointer, "#/"), detail)
	}
	return strings.TrimPrefix(p.Pointer, "#/") + ": " + detail
}

// Invalid is the error for a document or command line that was understood but
// cannot be run. It holds at least one problem, in document order.
type Invalid struct{ Problems []Problem }

// Error lists the problems, one per line.
func (e *Invalid) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Has reports whether err is *Invalid with a problem of a code.
func Has(err error, code string) bool {
	var invalid *Invalid
	return errors.As(err, &invalid) && slices.ContainsFunc(invalid.Problems,
		func(p Problem) bool { return p.Code == code })
}

// found is a problem with its sort key.
type found struct {
	Problem
	order int // of the flag
}

// Report collects problems and warnings.
type Report struct {
	problems []found
	warnings []found
}

// maxProblems bounds the collected problems: a hostile document can have a problem
// in every other byte.
const maxProblems = 100

// Err returns the problems as *Invalid, or nil if there are none.
func (r *Report) Err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return &Invalid{Problems: inOrder(r.problems)}
}

// Warnings returns the warnings in document order.
func (r *Report) Warnings() []Problem { return inOrder(r.warnings) }

// Add appends the problems of another report.
func (r *Report) Add(o *Report) { r.problems = append(r.problems, o.problems...) }

// Clone returns a copy that shares nothing with r.
func (r *Report) Clone() Report {
	return Report{problems: slices.Clone(r.problems), warnings: slices.Clone(r.warnings)}
}

// Full reports whether no more problems are collected.
func (r *Report) Full() bool { return len(r.problems) >= maxProblems }

// maxPointer bounds the pointers of problems in bytes: they repeat the names of a document.
const maxPointer = 2048

func newFound(at tree.Place, code, detail string, value any) found {
	pointer := cmp.Or(at.Pointer, "#")
	if len(pointer) > maxPointer {
		pointer = pointer[:maxPointer] + "…"
	}
	return found{
		Problem: Problem{
			Pointer: shownPointer(pointer), Flag: at.Flag, Code: code, Detail: redact.Generated(detail),
			Value: value, Line: at.Line, Column: at.Column,
		},
		order: at.Order,
	}
}

// Fail adds a problem without a value.
func (r *Report) Fail(at tree.Place, code, format string, args ...any) {
	if !r.Full() {
		r.problems = append(r.problems, newFound(at, code, fmt.Sprintf(format, args...), nil))
	}
}

// FailValue adds a problem about the value of n. The detail is the requirement;
// the name of the field or flag and the value are put before it.
func (r *Report) FailValue(n *tree.Node, code, requirement string) {
	if r.Full() {
		return
	}
	shown, value := shownValue(n)
	detail := Label(n.Place) + ": " + requirement
	if shown != "" {
		detail = Label(n.Place) + " " + shown + ": " + requirement
	}
	r.problems = append(r.problems, newFound(n.Place, code, detail, value))
}

// Duplicates reports members that were left out of a tree.
func (r *Report) Duplicates(list []tree.Duplicate) {
	for _, d := range list {
		d.Pointer = "#"
		r.Fail(d.Place, CodeConflict, "%q is given twice; the first is on line %d", Clip(d.Name), d.First)
	}
}

// Warn adds a warning.
func (r *Report) Warn(at tree.Place, code, format string, args ...any) {
	if len(r.warnings) >= maxProblems {
		return
	}
	r.warnings = append(r.warnings, newFound(at, code, fmt.Sprintf(format, args...), nil))
}

// Label is the flag, or the last segment of the pointer.
func Label(at tree.Place) string {
	if at.Flag != "" {
		return at.Flag
	}
	return cmp.Or(at.Pointer[strings.LastIndexByte(at.Pointer, '/')+1:], "document")
}

// inOrder returns the problems as they stand in the document.
func inOrder(all []found) []Problem {
	slices.SortStableFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.order, b.order))
	})
	out := make([]Problem, 0, len(all))
	for _, f := range all {
		// One flag may reach two phases.
		twice := slices.ContainsFunc(out, func(p Problem) bool {
			return p == f.Problem || p.Flag != "" && p.Flag == f.Flag && p.Code == f.Code && p.Detail == f.Detail
		})
		if !twice {
			out = append(out, f.Problem)
		}
	}
	return out
}

// shownValue returns how a value may be shown, as text and as JSON; both are
// empty for lists, objects, null, and for values from outside of the document
// or under a sensitive name.
func shownValue(n *tree.Node) (string, any) {
	if n.Shape == tree.Null || n.Shape >= tree.List || len(n.Secrets) > 0 || isNearSecret(Label(n.Place)) {
		return "", nil
	}
	switch n.Shape {
	case tree.Number:
		return n.Scalar, json.Number(n.Scalar)
	case tree.Boolean:
		return n.Scalar, n.Scalar == "true"
	}
	shown := Clip(redact.URL(n.Scalar))
	if n.Flag != "" && !strings.ContainsAny(shown, " \t\n") && shown != "" {
		return shown, shown
	}
	return strconv.Quote(shown), shown
}

// isNearSecret reports whether a field or flag holds a secret or is easily confused with
// one that does, as authStyle and apiKeyFile with apiKey.
func isNearSecret(label string) bool {
	label = strings.ToLower(strings.TrimLeft(label, "-"))
	label = strings.NewReplacer("apikey", "api-key").Replace(label)
	label = strings.TrimRight(strings.TrimSuffix(label, "file"), "-_")
	return redact.SensitiveName(label) || strings.HasPrefix(label, "auth")
}

// shownPointer returns a pointer without secrets that stand in place of names.
func shownPointer(pointer string) string {
	names := strings.Split(pointer, "/")
	for i := range names {
		names[i] = redact.Misplaced(names[i])
	}
	return strings.Join(names, "/")
}

// Clip shortens a user's text for a message, and removes what may be a secret.
func Clip(s string) string {
	const most, enough = 64, 1024
	s = redact.Misplaced(s[:min(len(s), enough)])
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
