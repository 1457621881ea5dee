package format

import (
	"slices"

	"aiperfd/internal/engine/bench"
)

// partNames are the names of texts that identify the part of a text in a ranking or
// comparing request. Any other name is a label, which is not sent.
func partNames() []string {
	return []string{"query", "queries", "passages", "passage", "documents", "document", "text_1", "text_2"}
}

// labelled is one {name, contents} object.
type labelled struct {
	name  string // empty = none was given
	texts []string
}

// setTexts sets the texts of a record; those with a part name become named texts.
func (r *row) setTexts(all []labelled) {
	for _, l := range all {
		if slices.Contains(partNames(), l.name) {
			r.named = append(r.named, bench.NamedTexts{Name: l.name, Texts: l.texts})
		} else {
			r.texts = append(r.texts, l.texts...)
		}
	}
}
