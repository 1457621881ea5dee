package dataset

import (
	"encoding/json"
	"fmt"
	"slices"

	"aiperfd/internal/engine/bench"
)

// partNames are the names of texts that say which part a text plays in a request
// that ranks or compares. Any other name is a label, which is not sent.
func partNames() []string {
	return []string{"query", "queries", "passages", "passage", "documents", "document", "text_1", "text_2"}
}

// labelled is what one {name, contents} object holds.
type labelled struct {
	name  string // empty = none was given
	texts []string
}

// setTexts keeps the texts of a record: those with a part to play apart.
func (r *row) setTexts(all []labelled) {
	for _, l := range all {
		if slices.Contains(partNames(), l.name) {
			r.named = append(r.named, bench.NamedTexts{Name: l.name, Texts: l.texts})
		} else {
			r.texts = append(r.texts, l.texts...)
		}
	}
}

// decodeLabel accepts the name of a text, which may be empty.
func decodeLabel(v json.RawMessage) (string, error) {
	var label string
	if err := json.Unmarshal(v, &label); err != nil {
		return "", fmt.Errorf("name: must be a string, not %s", clip(string(v)))
	}
	return label, nil
}
