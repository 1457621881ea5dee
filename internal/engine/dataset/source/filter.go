package source

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"aiperfd/internal/engine/dataset/file"
)

// filtered returns why a record is not used by the filters, empty = it is, and the problem of one that lacks a member.
func (o *Options) filtered(record []byte) (skip string, problem error) {
	if len(o.Filters) == 0 {
		return "", nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(record, &members) != nil {
		return "", nil // its decoder reports it
	}
	for _, name := range slices.Sorted(maps.Keys(o.Filters)) {
		value, ok := members[name]
		if !ok {
			return "", fmt.Errorf("there is no column %q to filter by; the columns are %s",
				file.Clip(name), strings.Join(slices.Sorted(maps.Keys(members)), ", "))
		}
		text := string(value)
		_ = json.Unmarshal(value, &text) // other values are compared as JSON has them
		if !strings.EqualFold(text, o.Filters[name]) {
			return fmt.Sprintf("whose %s is not %s", name, o.Filters[name]), nil
		}
	}
	return "", nil
}
