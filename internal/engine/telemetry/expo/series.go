package expo

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// Label is a label of a series.
type Label struct{ Name, Value string }

var errSeries = errors.New("the series is malformed")

// ParseSeries returns the name and the labels of a series, the labels in the order of their names. It
// fails if a label stands twice.
func ParseSeries(series []byte) (name string, labels []Label, err error) {
	text := string(series)
	name, rest, found := strings.Cut(text, "{")
	name = strings.TrimSpace(name)
	if !found {
		return name, nil, nil
	}
	for rest = skip(rest); !strings.HasPrefix(rest, "}"); {
		var label Label
		if label.Name, rest, err = labelName(rest); err != nil {
			return "", nil, err
		}
		if rest = strings.TrimLeft(rest, " \t"); !strings.HasPrefix(rest, "=") {
			if name != "" || label.Name == "" {
				return "", nil, errSeries
			}
			name = label.Name // {"the name", label="value"}
		} else {
			if label.Value, rest, err = labelValue(strings.TrimLeft(rest[1:], " \t")); err != nil {
				return "", nil, err
			}
			labels = append(labels, label)
		}
		switch rest = strings.TrimLeft(rest, " \t"); {
		case strings.HasPrefix(rest, ","):
			rest = skip(rest[1:])
		case !strings.HasPrefix(rest, "}"):
			return "", nil, errSeries
		}
	}
	if name == "" || strings.TrimSpace(rest) != "}" {
		return "", nil, errSeries
	}
	slices.SortFunc(labels, func(a, b Label) int { return cmp.Compare(a.Name, b.Name) })
	for i := 1; i < len(labels); i++ {
		if labels[i].Name == labels[i-1].Name {
			return "", nil, errSeries
		}
	}
	return name, labels, nil
}

func skip(text string) string { return strings.TrimLeft(text, " \t") }

// labelName reads the name of a label, which may be quoted.
func labelName(text string) (name, rest string, err error) {
	if strings.HasPrefix(text, `"`) {
		return labelValue(text)
	}
	end := 0
	for end < len(text) && text[end] != ':' && nameByte(text[end], end == 0) {
		end++
	}
	if end == 0 {
		return "", "", errSeries
	}
	return text[:end], text[end:], nil
}

// labelValue reads a text in quotation marks.
func labelValue(text string) (value, rest string, err error) {
	if !strings.HasPrefix(text, `"`) {
		return "", "", errSeries
	}
	end := quoted([]byte(text))
	if end < 0 {
		return "", "", errSeries
	}
	return Unescape(text[1:end-1], true), text[end:], nil
}

// Unescape replaces the escapes of a description or, with quotes, of the value of a label.
func Unescape(text string, quotes bool) string {
	if !strings.Contains(text, `\`) {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		i++
		switch c := text[i]; {
		case c == 'n':
			out.WriteByte('\n')
		case c == '\\' || c == '"' && quotes:
			out.WriteByte(c)
		default:
			out.WriteByte('\\')
			out.WriteByte(c)
		}
	}
	return strings.ToValidUTF8(out.String(), "\uFFFD")
}
