package config

import (
	"strconv"
	"strings"

	"aiperfd/internal/engine/redact"
)

// object reads the options whose value is an object: headers, extra inputs and
// objectives. Later names win over earlier ones and over those of a file.
func (b *builder) object(occ *occurrence, path string) {
	into := b.find(path)
	if into == nil || into.shape != object {
		into = objectNode()
	}
	for _, value := range occ.values {
		var ok bool
		switch {
		case path == "slos":
			ok = b.objectives(occ, value, into)
		case strings.HasPrefix(strings.TrimSpace(value), "{"):
			ok = b.jsonObject(occ, value, into)
		case path == "endpoint.headers":
			ok = b.header(occ, value, into)
		case path == "endpoint.urlParams":
			ok = b.param(occ, value, into)
		default:
			ok = b.extra(occ, value, into)
		}
		if !ok {
			return
		}
	}
	b.set(path, occ, into)
	b.mark(into, occ)
}

// mark gives the members that an option brought their place; those of a file
// keep theirs.
func (b *builder) mark(n *node, occ *occurrence) {
	for i := range n.members {
		m := &n.members[i]
		if m.value.line == 0 {
			m.place = place{ptr: n.ptr + "/" + escapePointer(m.name), flag: occ.spelling, order: occ.order + 1}
			m.value.place = m.place
		}
		b.mark(m.value, occ)
	}
	for i, item := range n.items {
		if item.line == 0 {
			item.place = place{ptr: n.ptr + "/" + strconv.Itoa(i), flag: occ.spelling, order: occ.order + 1}
		}
		b.mark(item, occ)
	}
}

// put sets a member by its exact name.
func put(into *node, name string, value *node) {
	for i := range into.members {
		if into.members[i].name == name {
			into.members[i].value = value
			return
		}
	}
	into.members = append(into.members, member{name: name, value: value})
}

func (b *builder) jsonObject(occ *occurrence, value string, into *node) bool {
	var r report
	n, err := parseJSON([]byte(value), &r)
	if err != nil || n.shape != object || len(r.problems) > 0 {
		b.fail(occ, CodeWrongType, "must be a JSON object with unique names")
		return false
	}
	n.walk(func(below *node) {
		below.place = place{}
		for i := range below.members {
			below.members[i].place = place{}
		}
	})
	for _, m := range n.members {
		if !b.template(occ, m.name, m.value) {
			put(into, m.name, m.value)
		}
	}
	return true
}

// template takes the two extra inputs that configure the endpoint type template,
// as in AIPerf, and are no part of a body; false = it is another one.
func (b *builder) template(occ *occurrence, name string, value *node) bool {
	field := map[string]string{"payload_template": "body", "response_field": "responseField"}[name]
	if occ.option.path != "endpoint.extra" || field == "" {
		return false
	}
	b.set("endpoint.template."+field, occ, value)
	return true
}

// header reads Name:Value; the first colon divides, commas do not.
func (b *builder) header(occ *occurrence, value string, into *node) bool {
	name, text, ok := strings.Cut(value, ":")
	if !ok || strings.TrimSpace(name) == "" {
		b.fail(occ, CodeWrongType, "a header must be Name:Value")
		return false
	}
	put(into, strings.TrimSpace(name), textNode(strings.TrimSpace(text)))
	return true
}

// param reads name=value; what is behind the first = is the value.
func (b *builder) param(occ *occurrence, value string, into *node) bool {
	name, text, ok := strings.Cut(value, "=")
	if !ok || name == "" {
		b.fail(occ, CodeWrongType, "a URL parameter must be name=value or a JSON object")
		return false
	}
	put(into, name, textNode(text))
	return true
}

// extra reads name:value pieces. A comma divides only where another name:
// follows; dots in a name lead into objects.
func (b *builder) extra(occ *occurrence, value string, into *node) bool {
	for _, piece := range pieces(value) {
		name, raw, ok := strings.Cut(piece, ":")
		name = strings.TrimSpace(name)
		if !ok || name == "" {
			hint := ""
			if key, value, assigned := strings.Cut(piece, "="); assigned && isName(key) {
				hint = "; did you mean " + key + ":" + clip(redact.Text(value)) + "?"
				if redact.SensitiveName(key) {
					hint = "; did you mean " + key + ":…?"
				}
			}
			b.fail(occ, CodeWrongType, "an extra input must be name:value or a JSON object"+hint)
			return false
		}
		if b.template(occ, name, textNode(strings.TrimSpace(raw))) {
			continue
		}
		into := into
		parts := strings.Split(name, ".")
		for _, part := range parts[:len(parts)-1] {
			child, found := into.named(part)
			if !found || child.shape != object {
				child = objectNode()
				put(into, part, child)
			}
			into = child
		}
		put(into, parts[len(parts)-1], typed(strings.TrimSpace(raw)))
	}
	return true
}

// pieces splits at commas that are followed by "name:". Names are words with
// dots and dashes.
func pieces(value string) []string {
	var out []string
	for part := range strings.SplitSeq(value, ",") {
		name, _, colon := strings.Cut(part, ":")
		if len(out) > 0 && !(colon && isName(strings.TrimSpace(name))) {
			out[len(out)-1] += "," + part
			continue
		}
		out = append(out, part)
	}
	return out
}

func isName(s string) bool {
	for i := range len(s) {
		if !isAlnum(s[i]) && strings.IndexByte("_-.", s[i]) < 0 {
			return false
		}
	}
	return s != ""
}

// typed gives a plain value its type: true, false, null and none in any case,
// numbers without leading zeros, else text.
func typed(raw string) *node {
	switch lower := strings.ToLower(raw); lower {
	case "true", "false":
		return &node{shape: boolean, scalar: lower}
	case "none", "null":
		return &node{shape: null}
	}
	if jsonNumber(raw) && !strings.ContainsAny(raw, "eE") {
		return &node{shape: number, scalar: raw}
	}
	return textNode(raw)
}

// objectives reads "tag:number tag:number".
func (b *builder) objectives(occ *occurrence, value string, into *node) bool {
	pairs := strings.Fields(value)
	for _, pair := range pairs {
		tag, limit, ok := strings.Cut(pair, ":")
		if !ok || tag == "" || !jsonNumber(limit) {
			b.fail(occ, CodeWrongType, `expected one quoted string, e.g. "time_to_first_token:500 inter_token_latency:50"`)
			return false
		}
		put(into, tag, &node{shape: number, scalar: limit})
	}
	if len(pairs) == 0 {
		b.fail(occ, CodeRequired, `expected one quoted string, e.g. "time_to_first_token:500"`)
	}
	return len(pairs) > 0
}
