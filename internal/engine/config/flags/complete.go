package flags

import (
	"strings"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/schema"
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
	for _, o := range supportedOptions() {
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
	switch {
	case o.path == "profiling.type", o.path == "warmup.type": // not all types of phases
		return schema.ChoiceNames(known.Arrivals)
	case o.path == "recipe.name":
		return recipeNames()
	case o.path == "sweep.type": // of lists on the command line
		return []string{"grid", "zip"}
	case o.kind == optBool:
		return nil
	}
	return schema.ChoiceNames(known.Of(schema.FieldAt(fieldOf(o.path))))
}
