// This file lists the fields and values of AIPerf's document that aiperfd
// does not support.

package schema

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/suggest"
)

// Lack is a field of AIPerf's document whose feature aiperfd does not support. The
// value that switches the feature off is accepted, so that a resolved document can
// be posted again; any other value is an error.
type Lack struct {
	Name string
	Off  string // AIPerf's value for "off" or "default", as JSON; resolved documents show it
	Alt  string // another accepted value; "" = none
	What string // the feature, in words
	// Inert fields have no effect in one process; other values are accepted with a
	// warning.
	Inert bool
	// Extra fields only add files or destinations: a run without them measures the same.
	Extra bool
}

// lacking returns the fields of a feature, blanks between, each with the value that switches it off
// behind an equals sign; without one it is null.
func lacking(what, names string) []Lack {
	var fields []Lack
	for field := range strings.FieldsSeq(names) {
		name, off, _ := strings.Cut(field, "=")
		fields = append(fields, Lack{Name: name, Off: cmp.Or(off, "null"), What: what})
	}
	return fields
}

func benchmarkLacks() []Lack {
	return []Lack{
		{Name: "wandb", Extra: true, Off: `{"project":null,"entity":null,"runName":null,"tags":null}`, What: "Weights & Biases export"},
		{Name: "metrics", Off: `{}`, What: "selection of metrics"},
		{Name: "accuracy", Off: `null`, What: "accuracy benchmarking"},
	}
}

func phaseLacks() []Lack {
	return slices.Concat(
		lacking("in-run control", "sla=[]"), lacking("agentic replay", "timingMode"),
		lacking("in-run control", "adaptiveScale=false adaptiveSustainDuration adaptiveAssessmentPeriod "+
			`adaptiveMinCompletedRequests=1 adaptiveControlVariable="concurrency" adaptiveControlMin=1 `+
			`adaptiveControlMax adaptiveScaleStrategyType="ramp_until_fail" adaptiveScaleStepPolicy="sla_margin" `+
			"adaptiveScaleBaseStep=10 adaptiveScaleMaxStepMultiplier=4 adaptiveScaleStepPercent=25"))
}

func runtimeLacks() []Lack {
	fields := []Lack{{Name: "serviceRunType", Off: `"multiprocessing"`, Inert: true}}
	for name := range strings.FieldsSeq("workers recordProcessors communication datasetApiBaseUrl workersPerPod" +
		" recordProcessorsPerPod workersMin") {
		fields = append(fields, Lack{Name: name, Off: `null`, Inert: true})
	}
	return fields
}

// Difference returns the first part of n that neither switches f off nor is the other
// accepted value; nil if there is none.
func (f Lack) Difference(n *tree.Node) *tree.Node {
	off, _, err := tree.ParseJSON([]byte(f.Off))
	if err != nil {
		panic("bad default in the table of unsupported fields: " + f.Name) // a test reads every row
	}
	if f.Alt != "" && string(n.JSON()) == f.Alt {
		return nil
	}
	return difference(n, off)
}

// difference returns the first part of n that differs from off, or nil. Null, false,
// empty and disabled values do not differ; nor does the member enabled of collectors
// that AIPerf enables by default and that have no target.
func difference(n, off *tree.Node) *tree.Node {
	switch {
	case n.Shape == tree.Null, n.Shape == tree.Boolean && n.Scalar == "false":
		return nil
	case n.Shape == tree.Object && (off.Shape == tree.Object || len(n.Members) == 0 || disabled(n)):
		return memberDifference(n, off)
	case n.Shape == tree.List && len(n.Items) == 0:
		return nil
	case n.Shape == tree.Text && n.Scalar == "":
		return nil
	case n.Shape != off.Shape:
		return n
	case n.Shape == tree.List:
		return listDifference(n, off)
	case n.Shape == tree.Number:
		a, _ := strconv.ParseFloat(n.Scalar, 64)
		b, _ := strconv.ParseFloat(off.Scalar, 64)
		if a == b {
			return nil
		}
		return n
	case n.Shape == tree.Text && suggest.Fold(n.Scalar) == suggest.Fold(off.Scalar), n.Scalar == off.Scalar:
		return nil
	}
	return n
}

func memberDifference(n, off *tree.Node) *tree.Node {
	if off.Shape != tree.Object {
		return nil
	}
	for _, m := range n.Members {
		i := off.Index(m.Name)
		for j, known := range off.Members {
			if m.Name == tree.SnakeCase(known.Name) {
				i = j
			}
		}
		if i < 0 {
			return &tree.Node{Place: m.Place}
		}
		want := off.Members[i].Value
		collects := off.Index("enabled") >= 0 && off.Index("urls") >= 0
		if m.Name == "enabled" && collects {
			if m.Value.Shape == tree.Boolean || m.Value.Shape == tree.Null {
				continue
			}
			return m.Value
		}
		if bad := difference(m.Value, want); bad != nil {
			return bad
		}
	}
	return nil
}

// disabled reports whether n is {enabled: false} and nothing else.
func disabled(n *tree.Node) bool {
	on := n.Get("enabled")
	return len(n.Members) == 1 && on != nil && on.Shape == tree.Boolean && on.Scalar == "false"
}

func listDifference(n, off *tree.Node) *tree.Node {
	if len(n.Items) != len(off.Items) {
		return n
	}
	for i, item := range n.Items {
		if item.Shape != off.Items[i].Shape || difference(item, off.Items[i]) != nil {
			return n
		}
	}
	return nil
}
