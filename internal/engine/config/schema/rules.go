package schema

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-playground/validator/v10"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/suggest"
)

// rules checks a value against its field's row, as package validator reads it.
func (f Target) rules(n *tree.Node, v reflect.Value) {
	if f.Row.List != "" {
		f.choice(n, v)
		return
	}
	rule := f.Row.rule(v.Kind())
	if rule == "" {
		return
	}
	choices := strings.Fields(f.Row.Choices)
	if v.Kind() == reflect.String {
		canonical(v, choices, n.Shape == tree.Number)
	}
	var broken validator.ValidationErrors
	if !errors.As(f.validate.Var(v.Interface(), rule), &broken) {
		return
	}
	switch e := broken[0]; {
	case e.Tag() != "oneof":
		f.Invalid(n, requirement(e))
	case LacksValue(f.Path, fmt.Sprint(e.Value())):
		f.Failed[f.Path] = true
		f.FailValue(n, problem.CodeUnsupported, "not supported by aiperfd yet; use "+ChoiceList(choices))
	default:
		f.Failed[f.Path] = true
		hint := ""
		if v.Kind() == reflect.String {
			hint = suggest.DidYouMean(v.String(), choices)
		}
		f.FailValue(n, problem.CodeBadEnum, requirement(e)+hint)
	}
}

// rule returns the limits of a row as a tag of package validator; "" = it has none.
func (f *Field) rule(kind reflect.Kind) string {
	if f.Choices != "" {
		return "oneof=" + f.Choices
	}
	var tags []string
	switch kind {
	case reflect.Int, reflect.Int64, reflect.Float64:
		for _, limit := range []struct {
			tag string
			x   *float64
		}{{"gt", f.Above}, {"gte", f.Least}, {"lte", f.Most}} {
			if limit.x != nil {
				tags = append(tags, limit.tag+"="+strconv.FormatFloat(*limit.x, 'f', -1, 64))
			}
		}
	}
	// A whole number with a length is a number of digits: its value is the length, and may be negative.
	if f.MinLength > 0 || f.MaxLength > 0 && kind == reflect.Int {
		tags = append(tags, "min="+strconv.Itoa(f.MinLength))
	}
	if f.MaxLength > 0 {
		tags = append(tags, "max="+strconv.Itoa(f.MaxLength))
	}
	return strings.Join(tags, ",")
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
func requirement(e validator.FieldError) string {
	text := e.Kind() == reflect.String
	switch tag := e.Tag(); {
	case tag == "gt":
		return "must be greater than " + e.Param()
	case tag == "gte":
		return "must be at least " + e.Param()
	case tag == "lte":
		return "must be at most " + e.Param()
	case tag == "oneof":
		return "must be " + ChoiceList(strings.Fields(e.Param()))
	case tag == "min" && text:
		return "must not be empty"
	case tag == "min":
		return "needs at least " + e.Param()
	case text:
		return "must have at most " + e.Param() + " characters"
	}
	return "takes at most " + e.Param()
}
