package flags

import (
	"strconv"
	"strings"
	"unicode"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/redact"
)

// layObject lays an option whose value is an object: headers, extra inputs and objectives. Later names win
// over earlier ones and over those of a file.
func layObject(b *overlay, occ *occurrence, path string) {
	into := b.find(path)
	if into == nil || into.Shape != tree.Object {
		into = tree.ObjectNode()
	}
	for _, value := range occ.values {
		var ok bool
		switch {
		case path == "slos":
			ok = layObjectives(b, occ, value, into)
		case strings.HasPrefix(strings.TrimSpace(value), "{"):
			ok = layJSON(b, occ, value, into)
		case path == "endpoint.headers":
			ok = layHeader(b, occ, value, into)
		case path == "otel.customResourceAttributes", path == "dataset.filters":
			ok = layAttributes(b, occ, value, into, "=")
		case path == "mlflow.tags":
			ok = layAttributes(b, occ, value, into, ":")
		case path == "endpoint.urlParams":
			ok = layParam(b, occ, value, into)
		default:
			ok = layExtra(b, occ, value, into)
		}
		if !ok {
			return
		}
	}
	b.set(path, occ, into)
	markPlaces(into, occ)
}

// markPlaces gives the members that an option brought their place; those of a file
// keep theirs.
func markPlaces(n *tree.Node, occ *occurrence) {
	for i := range n.Members {
		m := &n.Members[i]
		if m.Value.Line == 0 {
			m.Place = tree.Place{Pointer: n.Pointer + "/" + tree.EscapePointer(m.Name), Flag: occ.spelling, Order: occ.order + 1}
			m.Value.Place = m.Place
		}
		markPlaces(m.Value, occ)
	}
	for i, item := range n.Items {
		if item.Line == 0 {
			item.Place = tree.Place{Pointer: n.Pointer + "/" + strconv.Itoa(i), Flag: occ.spelling, Order: occ.order + 1}
		}
		markPlaces(item, occ)
	}
}

// put sets a member by its exact name.
func put(into *tree.Node, name string, value *tree.Node) {
	for i := range into.Members {
		if into.Members[i].Name == name {
			into.Members[i].Value = value
			return
		}
	}
	into.Members = append(into.Members, tree.Member{Name: name, Value: value})
}

// layJSON reads an object in JSON.
func layJSON(b *overlay, occ *occurrence, value string, into *tree.Node) bool {
	n, duplicates, err := tree.ParseJSON([]byte(value))
	if err != nil || n.Shape != tree.Object || len(duplicates) > 0 {
		b.fail(occ, problem.CodeWrongType, "must be a JSON object with unique names")
		return false
	}
	n.Walk(func(below *tree.Node) {
		below.Place = tree.Place{}
		for i := range below.Members {
			below.Members[i].Place = tree.Place{}
		}
	})
	for _, m := range n.Members {
		if !layTemplate(b, occ, m.Name, m.Value) {
			put(into, m.Name, m.Value)
		}
	}
	return true
}

// layTemplate takes the two extra inputs that configure the endpoint type template,
// as in AIPerf, and are no part of a body; false = it is another one.
func layTemplate(b *overlay, occ *occurrence, name string, value *tree.Node) bool {
	field := map[string]string{"payload_template": "body", "response_field": "responseField"}[name]
	if occ.option.path != "endpoint.extra" || field == "" {
		return false
	}
	b.set("endpoint.template."+field, occ, value)
	return true
}

// layHeader reads Name:Value; the first colon divides, commas do not.
func layHeader(b *overlay, occ *occurrence, value string, into *tree.Node) bool {
	name, text, ok := strings.Cut(value, ":")
	if !ok || strings.TrimSpace(name) == "" {
		b.fail(occ, problem.CodeWrongType, "a header must be Name:Value")
		return false
	}
	put(into, strings.TrimSpace(name), tree.TextNode(strings.TrimSpace(text)))
	return true
}

// layParam reads name=value, divided at the first =.
func layParam(b *overlay, occ *occurrence, value string, into *tree.Node) bool {
	name, text, ok := strings.Cut(value, "=")
	if !ok || name == "" {
		b.fail(occ, problem.CodeWrongType, "a URL parameter must be name=value or a JSON object")
		return false
	}
	put(into, name, tree.TextNode(text))
	return true
}

// layAttributes reads pieces of a name and a value. A comma divides only before another name with its divider.
func layAttributes(b *overlay, occ *occurrence, value string, into *tree.Node, divider string) bool {
	for _, piece := range pieces(value, divider) {
		name, text, ok := strings.Cut(piece, divider)
		if name = strings.TrimSpace(name); !ok || name == "" {
			b.fail(occ, problem.CodeWrongType, "must be name"+divider+"value or a JSON object")
			return false
		}
		put(into, name, tree.TextNode(strings.TrimSpace(text)))
	}
	return true
}

// layExtra reads name:value pieces. A comma divides only before another name:
// follows; dots in a name lead into objects.
func layExtra(b *overlay, occ *occurrence, value string, into *tree.Node) bool {
	for _, piece := range pieces(value, ":") {
		name, raw, ok := strings.Cut(piece, ":")
		name = strings.TrimSpace(name)
		if !ok || name == "" {
			hint := ""
			if key, value, assigned := strings.Cut(piece, "="); assigned && isName(key) {
				hint = "; did you mean " + key + ":" + problem.Clip(redact.Text(value)) + "?"
				if redact.SensitiveName(key) {
					hint = "; did you mean " + key + ":…?"
				}
			}
			b.fail(occ, problem.CodeWrongType, "an extra input must be name:value or a JSON object"+hint)
			return false
		}
		if layTemplate(b, occ, name, tree.TextNode(strings.TrimSpace(raw))) {
			continue
		}
		into := into
		parts := strings.Split(name, ".")
		for _, part := range parts[:len(parts)-1] {
			child, found := into.Named(part)
			if !found || child.Shape != tree.Object {
				child = tree.ObjectNode()
				put(into, part, child)
			}
			into = child
		}
		put(into, parts[len(parts)-1], typed(strings.TrimSpace(raw)))
	}
	return true
}

// pieces splits at commas that are followed by a name and what divides it from its value. Names are words
// with dots and dashes.
func pieces(value, divider string) []string {
	var out []string
	for part := range strings.SplitSeq(value, ",") {
		name, _, divided := strings.Cut(part, divider)
		if len(out) > 0 && !(divided && isName(strings.TrimSpace(name))) {
			out[len(out)-1] += "," + part
			continue
		}
		out = append(out, part)
	}
	return out
}

func isName(s string) bool {
	for i := range len(s) {
		if !tree.IsAlnum(s[i]) && strings.IndexByte("_-.", s[i]) < 0 {
			return false
		}
	}
	return s != ""
}

// typed gives a plain value its type: true, false, null and none in any case,
// numbers without leading zeros, else text.
func typed(raw string) *tree.Node {
	switch lower := strings.ToLower(raw); lower {
	case "true", "false":
		return &tree.Node{Shape: tree.Boolean, Scalar: lower}
	case "none", "null":
		return &tree.Node{Shape: tree.Null}
	}
	if tree.IsNumber(raw) && !strings.ContainsAny(raw, "eE") {
		return &tree.Node{Shape: tree.Number, Scalar: raw}
	}
	return tree.TextNode(raw)
}

// layObjectives reads "tag:number tag:number".
func layObjectives(b *overlay, occ *occurrence, value string, into *tree.Node) bool {
	pairs := strings.Fields(value)
	for _, pair := range pairs {
		tag, limit, ok := strings.Cut(pair, ":")
		if number := strings.TrimRightFunc(limit, unicode.IsLetter); ok && tag != "" && number != limit && tree.IsNumber(number) {
			b.fail(occ, problem.CodeWrongType, problem.Clip(pair)+": the limit is a number without a unit, in the unit of the metric (latencies in milliseconds)")
			return false
		}
		if !ok || tag == "" || !tree.IsNumber(limit) {
			b.fail(occ, problem.CodeWrongType, `expected one quoted string, e.g. "time_to_first_token:500 inter_token_latency:50"`)
			return false
		}
		put(into, tag, &tree.Node{Shape: tree.Number, Scalar: limit})
	}
	if len(pairs) == 0 {
		b.fail(occ, problem.CodeRequired, `expected one quoted string, e.g. "time_to_first_token:500"`)
	}
	return len(pairs) > 0
}
