package decode

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-playground/validator/v10"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/config/unsupported"
	"aiperfd/internal/engine/suggest"
)

// rules checks a value against its field's validate tag, as the validator
// library reads it (gt, gte, lt, lte, min, max, oneof), or against its choices.
func (f Field) rules(n *tree.Node, v reflect.Value) {
	if f.Tag.Get("choices") != "" {
		f.choice(n, v)
		return
	}
	rule := f.Tag.Get("validate")
	if rule == "" {
		return
	}
	if choices, ok := strings.CutPrefix(rule, "oneof="); ok {
		canonical(v, strings.Fields(choices), n.Shape == tree.Number)
	}
	err := f.validate.Var(v.Interface(), rule)
	var broken validator.ValidationErrors
	if !errors.As(err, &broken) {
		return
	}
	f.Failed[f.Path] = true
	for _, e := range broken {
		if e.Tag() == "oneof" && unsupported.HasValue(f.Path, v.String()) {
			f.FailValue(n, problem.CodeUnsupported, "not supported by aiperfd yet; use "+ChoiceList(strings.Fields(e.Param())))
			continue
		}
		code := problem.CodeOutOfRange
		if e.Tag() == "oneof" {
			code = problem.CodeBadEnum
		}
		hint := ""
		if code == problem.CodeBadEnum {
			hint = suggest.DidYouMean(v.String(), strings.Fields(e.Param()))
		}
		f.FailValue(n, code, requirement(e, v.Kind())+hint)
	}
}

// canonical replaces a choice by its own spelling: AIPerf compares choices
// without regard to case, and takes - for _. A number may be written in any way: 2 is 2.0.
func canonical(v reflect.Value, choices []string, number bool) {
	x, err := strconv.ParseFloat(v.String(), 64)
	number = number && err == nil
	for _, c := range choices {
		y, err := strconv.ParseFloat(c, 64)
		if suggest.Fold(c) == suggest.Fold(v.String()) && len(c) == len(v.String()) || number && err == nil && x == y {
			v.SetString(c)
		}
	}
}

// requirement describes the values that a rule accepts.
func requirement(e validator.FieldError, kind reflect.Kind) string {
	switch e.Tag() {
	case "gt":
		return "must be greater than " + e.Param()
	case "gte":
		return "must be at least " + e.Param()
	case "lte":
		return "must be at most " + e.Param()
	case "oneof":
		return "must be " + ChoiceList(strings.Fields(e.Param()))
	case "min":
		if kind == reflect.String {
			return "must not be empty"
		}
		return "needs at least " + e.Param()
	case "max":
		if kind == reflect.String {
			return "must have at most " + e.Param() + " characters"
		}
		return "takes at most " + e.Param()
	}
	return fmt.Sprintf("must satisfy %s %s", e.Tag(), e.Param())
}
