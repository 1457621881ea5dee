package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-playground/validator/v10"

	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/suggest"
)

// rules checks a value against its field's validate tag, as the validator
// library reads it (gt, gte, lt, lte, min, max, oneof), or against its choices.
func (f field) rules(n *tree.Node, v reflect.Value) {
	if f.tag.Get("choices") != "" {
		f.choice(n, v)
		return
	}
	rule := f.tag.Get("validate")
	if rule == "" {
		return
	}
	if choices, ok := strings.CutPrefix(rule, "oneof="); ok {
		canonical(v, strings.Fields(choices))
	}
	err := f.validate.Var(v.Interface(), rule)
	var broken validator.ValidationErrors
	if !errors.As(err, &broken) {
		return
	}
	f.failed[f.path] = true
	for _, e := range broken {
		if e.Tag() == "oneof" && isUnsupportedValue(f.path, v.String()) {
			f.failValue(n, CodeUnsupported, "not supported by aiperfd yet; use "+ChoiceList(strings.Fields(e.Param())))
			continue
		}
		code := CodeOutOfRange
		if e.Tag() == "oneof" {
			code = CodeBadEnum
		}
		hint := ""
		if code == CodeBadEnum {
			hint = suggest.DidYouMean(v.String(), strings.Fields(e.Param()))
		}
		f.failValue(n, code, requirement(e, v.Kind())+hint)
	}
}

// canonical replaces a choice by its own spelling: AIPerf compares choices
// without regard to case, and takes - for _.
func canonical(v reflect.Value, choices []string) {
	for _, c := range choices {
		if suggest.Fold(c) == suggest.Fold(v.String()) && len(c) == len(v.String()) {
			v.SetString(c)
		}
	}
}

// requirement returns the text of a rule: what it accepts.
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

// isUnsupportedValue reports whether a choice of AIPerf is not supported here.
func isUnsupportedValue(path, value string) bool {
	return slices.ContainsFunc(UnsupportedValues(Generic(path)), func(name string) bool {
		family, isFamily := strings.CutSuffix(name, "*")
		return suggest.Fold(name) == suggest.Fold(value) || isFamily && strings.HasPrefix(suggest.Fold(value), suggest.Fold(family))
	})
}

// UnsupportedValues lists the choices of AIPerf that the field at a generic path does
// not have; one that ends in * stands for all that begin so.
func UnsupportedValues(path string) []string {
	var names string
	switch path {
	case "benchmark.endpoint.type":
		names = "solido_rag"
	case "benchmark.datasets.*.type":
		names = "public"
	case "benchmark.datasets.*.format":
		names = "multi_turn random_pool mooncake_trace bailian_trace burst_gpt_trace baseten_trace" +
			" inputs_json sagemaker_data_capture dag_jsonl weka_trace tracelab speed_bench_*"
	case "benchmark.datasets.*.audio.format":
		names = "mp3"
	case "benchmark.phases.*.type":
		names = "user_centric fixed_schedule agentic_replay"
	}
	return strings.Fields(names)
}

// Generic replaces the indexes in a canonical path by *.
func Generic(path string) string {
	parts := strings.Split(path, ".")
	for i, p := range parts {
		if p != "" && p[0] >= '0' && p[0] <= '9' {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, ".")
}
