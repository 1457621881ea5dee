package schema

import (
	"reflect"

	"aiperfd/internal/engine/config/secret"
)

// Default returns the default of the field at a canonical path. It panics if the table has none of
// this type, which is a mistake in the program.
func Default[T any](path string) T {
	value, ok := FieldAt(path).Value.(T)
	if !ok {
		panic("the table of fields has no such default: " + path)
	}
	return value
}

// Fill gives the members of the struct that p points to their defaults, and those of the structs in
// it, unless they have a value. Optional sections, the elements of lists and distributions are left
// alone: what they are depends on other fields.
func Fill(p any, path string) { fill(reflect.ValueOf(p).Elem(), path) }

func fill(v reflect.Value, path string) {
	for field, value := range v.Fields() {
		name := FieldName(field)
		if name == "" || !value.IsZero() && value.Kind() != reflect.Struct {
			continue
		}
		at := Join(path, name)
		if _, varies := reflect.TypeAssert[Distribution](value); varies {
			continue
		}
		if fallback := FieldAt(at).Value; fallback != nil {
			assign(value, fallback)
		} else if value.Kind() == reflect.Struct {
			fill(value, at)
		}
	}
}

// assign sets a zero value to a default.
func assign(v reflect.Value, fallback any) {
	urls, isURLs := reflect.TypeAssert[*[]secret.URL](v.Addr())
	if texts, ok := fallback.([]string); ok && isURLs {
		for _, text := range texts {
			*urls = append(*urls, secret.NewURL(text))
		}
		return
	}
	from := reflect.ValueOf(fallback)
	if v.Kind() == reflect.Slice {
		v.Set(reflect.AppendSlice(reflect.Zero(v.Type()), from)) // the table keeps its own
		return
	}
	v.Set(from.Convert(v.Type()))
}
