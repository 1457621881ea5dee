package flags

import (
	"reflect"
	"strings"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/decode"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/study/recipe"
)

// Complete returns the completions of the word that a user is typing: the
// spellings of options with their meaning behind a tab, or the values that the
// option before takes. files = the word is the name of a file.
func Complete(known *config.Choices, before []string, word string) (words []string, files bool) {
	table := flagTable()
	if name, value, inline := strings.Cut(word, "="); inline && strings.HasPrefix(word, "-") {
		for _, c := range choices(table[name], known) {
			if strings.HasPrefix(c, value) {
				words = append(words, name+"="+c)
			}
		}
		return words, table[name].kind == optFile
	}
	if strings.HasPrefix(word, "-") || len(before) == 0 {
		return spellingsWith(known, word), false
	}
	o, ok := table[before[len(before)-1]]
	if !ok || o.kind == optBool {
		return spellingsWith(known, word), false
	}
	for _, c := range choices(o, known) {
		if strings.HasPrefix(c, word) {
			words = append(words, c)
		}
	}
	return words, o.kind == optFile
}

// spellingsWith lists the spellings that begin so.
func spellingsWith(known *config.Choices, word string) []string {
	var words []string
	for _, o := range options() {
		if o.status != supported {
			continue
		}
		for _, name := range o.spellings() {
			if strings.HasPrefix(name, word) {
				words = append(words, name+"\t"+known.Expand(o.help))
			}
		}
	}
	return words
}

// choices returns the closed list of values that an option takes; empty = it is
// not closed. They stand beside the field of the document that it sets.
func choices(o option, known *config.Choices) []string {
	root, path, _ := strings.Cut(o.path, ".")
	at := reflect.TypeFor[config.Benchmark]()
	switch o.path {
	case "profiling.type", "warmup.type": // not all types of phases
		return decode.ChoiceNames(known.Arrivals)
	case "recipe.name":
		return recipe.Names()
	case "sweep.type": // of lists on the command line
		return []string{"grid", "zip"}
	}
	switch root {
	case "sweep":
		at = reflect.TypeFor[sweep.Block]()
	case "multiRun":
		at = reflect.TypeFor[sweep.MultiRun]()
	case "dataset":
		at = reflect.TypeFor[config.Dataset]()
	case "profiling", "warmup":
		at = reflect.TypeFor[config.Phase]()
	default:
		path = o.path
	}
	var tag reflect.StructTag
	for name := range strings.SplitSeq(path, ".") {
		for at.Kind() == reflect.Pointer {
			at = at.Elem()
		}
		if at.Kind() != reflect.Struct {
			return nil
		}
		field, ok := structField(at, name)
		if !ok {
			return nil
		}
		at, tag = field.Type, field.Tag
	}
	if o.kind == optBool {
		return nil
	}
	return decode.ChoiceNames(known.Of(tag))
}

// structField finds the field of a struct by its name in documents.
func structField(t reflect.Type, name string) (reflect.StructField, bool) {
	for field := range t.Fields() {
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tag == name {
			return field, true
		}
	}
	return reflect.StructField{}, false
}
