package respond

import (
	"net/url"
	"slices"
)

// StrictQuery rejects unknown parameters, those without a value, and those that are given
// more than once unless they are repeatable.
func StrictQuery(q url.Values, known []string, repeatable ...string) error {
	for name, values := range q {
		if !slices.Contains(known, name) {
			return Fail(ErrParameter, "Unknown parameter %q", name)
		}
		if len(values) > 1 && !slices.Contains(repeatable, name) {
			return Fail(ErrParameter, "Parameter %q is given more than once", name)
		}
		if slices.Contains(values, "") {
			return Fail(ErrParameter, "Parameter %q has no value", name)
		}
	}
	return nil
}

// BoolParameter returns a parameter that is true, false or absent.
func BoolParameter(q url.Values, name string) (bool, error) {
	switch q.Get(name) {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, Fail(ErrParameter, "Parameter %q must be true or false", name)
}
