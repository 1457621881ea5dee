package api

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/token"
)

const (
	// schemaLean is the depth from which optional members are left out, and
	// schemaDepth that from which everything is null: schemas may refer to themselves.
	schemaLean  = 6
	schemaDepth = 24
	// schemaText is the size in bytes from which everything is null.
	schemaText = 64 << 10
)

// Conform generates a JSON text that conforms to a JSON schema. Types,
// properties, items, enum, const, bounds, common formats, references within the
// schema and alternatives are followed; patterns and conditions are not. A schema
// that is not valid JSON gives an empty object.
func (m *Model) Conform(schema []byte, random *rand.Rand) []byte {
	root, err := fastjson.ParseBytes(schema)
	if err != nil {
		return []byte("{}")
	}
	g := &generator{prose: m.prose.Pieces, root: root, random: random}
	return g.value(nil, root, 0)
}

// generator generates values of one schema.
type generator struct {
	prose  []token.Piece
	root   *fastjson.Value
	random *rand.Rand
}

func (g *generator) value(dst []byte, v *fastjson.Value, depth int) []byte {
	v = g.resolve(v, depth)
	if v == nil || depth > schemaDepth || len(dst) > schemaText {
		return append(dst, "null"...)
	}
	if c := v.Get("const"); c != nil {
		return c.MarshalTo(dst)
	}
	if list := v.GetArray("enum"); len(list) > 0 {
		return list[g.random.IntN(len(list))].MarshalTo(dst)
	}
	switch g.kind(v) {
	case "object":
		return g.object(dst, v, depth)
	case "array":
		return g.array(dst, v, depth)
	case "integer":
		return g.number(dst, v, true)
	case "number":
		return g.number(dst, v, false)
	case "boolean":
		return strconv.AppendBool(dst, g.random.IntN(2) == 0)
	case "null":
		return append(dst, "null"...)
	}
	return g.text(dst, v)
}

// resolve follows references and alternatives to a schema that is neither; nil = there
// is none.
func (g *generator) resolve(v *fastjson.Value, depth int) *fastjson.Value {
	for hops := 0; v != nil && v.Type() == fastjson.TypeObject && hops < schemaDepth; hops++ {
		if ref := string(v.GetStringBytes("$ref")); ref != "" {
			v = g.lookUp(ref)
			continue
		}
		next := v
		for _, name := range []string{"anyOf", "oneOf", "allOf"} {
			list := v.GetArray(name)
			if len(list) == 0 || v.Get("properties") != nil {
				continue
			}
			next = list[0]
			if name != "allOf" && depth < schemaLean {
				next = list[g.random.IntN(len(list))]
			}
			break
		}
		if next == v {
			return v
		}
		v = next
	}
	if v != nil && v.Get("$ref") != nil {
		return nil // a cycle of references
	}
	if v != nil && v.Type() != fastjson.TypeObject {
		return fastjson.MustParse("{}") // "true": anything goes
	}
	return v
}

// lookUp returns the schema at a reference such as #/a/b.
func (g *generator) lookUp(ref string) *fastjson.Value {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	v := g.root
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if name != "" {
			v = v.Get(strings.NewReplacer("~1", "/", "~0", "~").Replace(name))
		}
	}
	return v
}

// kind returns the type of the value.
func (g *generator) kind(v *fastjson.Value) string {
	t := v.Get("type")
	switch {
	case t != nil && t.Type() == fastjson.TypeString:
		return string(t.GetStringBytes())
	case t != nil && len(t.GetArray()) > 0:
		return string(t.GetArray()[0].GetStringBytes())
	case v.Get("properties") != nil:
		return "object"
	case v.Get("items") != nil:
		return "array"
	case v.Get("minimum") != nil || v.Get("maximum") != nil:
		return "number"
	}
	return "string"
}

func (g *generator) object(dst []byte, v *fastjson.Value, depth int) []byte {
	required := map[string]bool{}
	for _, name := range v.GetArray("required") {
		required[string(name.GetStringBytes())] = true
	}
	dst = append(dst, '{')
	first := true
	v.GetObject("properties").Visit(func(key []byte, member *fastjson.Value) {
		name := string(key)
		if !required[name] && (depth >= schemaLean || len(dst) > schemaText) {
			return
		}
		if !first {
			dst = append(dst, ", "...)
		}
		first = false
		dst = AppendString(dst, name)
		dst = append(dst, ": "...)
		dst = g.value(dst, member, depth+1)
	})
	return append(dst, '}')
}

func (g *generator) array(dst []byte, v *fastjson.Value, depth int) []byte {
	low := max(0, v.GetInt("minItems"))
	high := low + 2
	if m := v.Get("maxItems"); m != nil {
		high = min(high, m.GetInt())
	}
	n := max(low, high-g.random.IntN(2))
	if depth >= schemaLean {
		n = low
	}
	items := v.Get("items")
	if items == nil {
		items = fastjson.MustParse(`{"type":"string"}`)
	}
	dst = append(dst, '[')
	for i := range n {
		if len(dst) > schemaText {
			break
		}
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = g.value(dst, items, depth+1)
	}
	return append(dst, ']')
}

// number draws a number within the bounds, else from 0 to 100.
func (g *generator) number(dst []byte, v *fastjson.Value, whole bool) []byte {
	bound := func(name string) (float64, bool) {
		b := v.Get(name)
		if b == nil || b.Type() != fastjson.TypeNumber {
			return 0, false
		}
		return b.GetFloat64(), true
	}
	low, hasLow := bound("minimum")
	high, hasHigh := bound("maximum")
	grain := 0.01
	if whole {
		grain = 1
	}
	if m, ok := bound("multipleOf"); ok && m > 0 {
		grain = m
	}
	if x, ok := bound("exclusiveMinimum"); ok {
		low, hasLow = math.Floor(x/grain)*grain+grain, true
	}
	if x, ok := bound("exclusiveMaximum"); ok {
		high, hasHigh = math.Ceil(x/grain)*grain-grain, true
	}
	switch {
	case !hasLow && hasHigh:
		low = min(0, high-100*grain)
	case !hasHigh:
		high = low + 100
	}
	first, last := math.Ceil(low/grain), math.Floor(high/grain)
	if !(last >= first) || math.Abs(first) > 1<<50 || math.Abs(last) > 1<<50 {
		return strconv.AppendFloat(dst, low, 'f', -1, 64)
	}
	n := first + float64(g.random.Int64N(int64(last-first)+1))
	digits := -1
	if !whole && grain == 0.01 {
		digits = 2
	}
	return strconv.AppendFloat(dst, n*grain, 'f', digits, 64)
}

// text draws words, or a text of the format, within the bounds of length.
func (g *generator) text(dst []byte, v *fastjson.Value) []byte {
	text := g.format(string(v.GetStringBytes("format")))
	if text == "" {
		low, high := max(0, v.GetInt("minLength")), schemaText
		if m := v.Get("maxLength"); m != nil {
			high = min(high, max(0, m.GetInt()))
		}
		text = g.words(min(low, high), high)
	}
	return AppendString(dst, text)
}

// words draws a few words of at least low and at most high letters.
func (g *generator) words(low, high int) string {
	pieces := g.prose
	var b strings.Builder
	for wanted := 1 + g.random.IntN(3); wanted > 0 || b.Len() < low; wanted-- {
		word := strings.Trim(pieces[g.random.IntN(len(pieces))].Text, " .,;\n'")
		if word == "" {
			word = "x"
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	text := b.String()
	return text[:min(len(text), high)] // the prose is ASCII
}

// format returns a text of a common format; "" if the format is unknown.
func (g *generator) format(name string) string {
	day := time.Unix(1_700_000_000+int64(g.random.IntN(50_000_000)), 0).UTC()
	a, b := g.random.Uint64(), g.random.Uint64()
	switch name {
	case "date-time":
		return day.Format(time.RFC3339)
	case "date":
		return day.Format(time.DateOnly)
	case "time":
		return day.Format("15:04:05Z")
	case "email":
		return fmt.Sprintf("user%d@example.com", a%1000)
	case "uri", "url":
		return fmt.Sprintf("https://example.com/%d", a%1000)
	case "hostname":
		return fmt.Sprintf("host%d.example.com", a%1000)
	case "ipv4":
		return fmt.Sprintf("192.0.2.%d", a%255)
	case "ipv6":
		return fmt.Sprintf("2001:db8::%x", a%0xffff)
	case "uuid":
		return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x",
			uint32(a), uint16(a>>32), uint16(a>>48)&0xfff, uint16(b)&0xfff, b>>16)
	}
	return ""
}
