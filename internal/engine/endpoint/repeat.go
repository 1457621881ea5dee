package endpoint

import (
	"bytes"
	"unicode/utf8"

	"aiperfd/internal/engine/bench"
)

// repeat is the shape of the last event that carried nothing but a piece of
// text. Servers send the same bytes around every token, so an event that starts
// and ends like it, and has plain string characters in between, means the same
// with another text: no need to parse it. The slices belong to the response.
type repeat struct {
	prefix, suffix []byte // up to the opening quote, and from the closing one
	choice         int    // position in textDecoder.choices
}

// repeated reads data as a repetition of the last shape, if it is one.
func (d *textDecoder) repeated(data []byte) bool {
	r := &d.last
	n := len(data) - len(r.prefix) - len(r.suffix)
	if r.prefix == nil || n <= 0 || !bytes.HasPrefix(data, r.prefix) || !bytes.HasSuffix(data, r.suffix) {
		return false
	}
	text := data[len(r.prefix) : len(r.prefix)+n]
	ascii := true
	for _, c := range text {
		if c < ' ' || c == '"' || c == '\\' {
			return false
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	if !ascii && !utf8.Valid(text) {
		return false
	}
	d.valid++
	d.size += len(data)
	d.credit.onChunk = false
	d.emit(&d.choices[r.choice], bench.Text, text)
	return true
}

// learn remembers the shape of data, an event that was just parsed, if all it
// did was to add text to a choice. before is the number of chunks before it.
func (d *textDecoder) learn(data []byte, before int) {
	d.last.prefix = nil
	if len(d.a.Chunks) != before+1 || d.credit.onChunk || d.json.repaired || d.json.invalidUTF8 {
		return
	}
	chunk := d.a.Chunks[before]
	i := 0
	for i < len(d.choices) && d.choices[i].index != int(chunk.Choice) {
		i++
	}
	if chunk.Kind != bench.Text || chunk.Tokens != 0 || d.choices[i].finish != "" {
		return
	}
	start := soleText(data)
	if start < 0 {
		return
	}
	// What stands there must be what was added, or it is not what was read.
	end := start + int(chunk.Bytes)
	added := d.choices[i].text[len(d.choices[i].text)-int(chunk.Bytes):]
	if end >= len(data) || data[end] != '"' || !bytes.Equal(data[start:end], added) {
		return
	}
	d.last = repeat{prefix: data[:start], suffix: data[end:], choice: i}
}

// soleText finds the one member of data that can hold the text, and returns
// where its string starts; -1 when that is not certain. Quotes inside strings
// are escaped and data with escapes is refused, so every match is a whole string.
func soleText(data []byte) int {
	if bytes.IndexByte(data, '\\') >= 0 || bytes.Contains(data, []byte(`"transcript"`)) {
		return -1
	}
	rest := -1
	for _, key := range []string{`"content"`, `"text"`} {
		i := bytes.Index(data, []byte(key))
		if i < 0 {
			continue
		}
		i += len(key)
		if rest >= 0 || bytes.Contains(data[i:], []byte(key)) {
			return -1
		}
		rest = i
	}
	if rest < 0 {
		return -1
	}
	tail := bytes.TrimLeft(data[rest:], ": ")
	if len(tail) == 0 || tail[0] != '"' {
		return -1
	}
	return len(data) - len(tail) + 1
}
