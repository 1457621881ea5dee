package compare

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Query names the runs to compare, by id or alias.
type Query struct {
	IDs      []string
	Baseline int // index in IDs
}

// ParseQuery reads the parameters ids and baseline. Its error has all problems, in one
// line.
func ParseQuery(q url.Values) (Query, error) {
	var out Query
	if q.Get("ids") != "" {
		out.IDs = strings.Split(q.Get("ids"), ",")
	}
	var faults []string
	if n := len(out.IDs); n < 2 || n > MaxRuns {
		faults = append(faults, fmt.Sprintf("ids has %d runs, want 2 to %d, separated by commas", n, MaxRuns))
	}
	if slices.Contains(out.IDs, "") {
		faults = append(faults, "ids has an empty element")
	}
	if name := q.Get("baseline"); name != "" {
		if out.Baseline = slices.Index(out.IDs, name); out.Baseline < 0 {
			faults = append(faults, fmt.Sprintf("baseline is %q, want one of ids", name))
		}
	}
	if faults != nil {
		return Query{}, errors.New(strings.Join(faults, "; "))
	}
	return out, nil
}
