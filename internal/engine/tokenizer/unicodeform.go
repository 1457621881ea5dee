package tokenizer

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"aiperfd/internal/engine/tokenizer/pattern"
)

// The four normalization forms.
const (
	nfc  = norm.NFC
	nfd  = norm.NFD
	nfkc = norm.NFKC
	nfkd = norm.NFKD
)

// unicodeForm is one of the normalization forms of the reference: characters newer
// than its tables do not change, and do not block compositions.
type unicodeForm struct {
	form    norm.Form
	classes *pattern.Table
}

func (n unicodeForm) normalize(s string) (string, bool) {
	if n.form.QuickSpanString(s) == len(s) && !n.hasNewer(s) {
		return s, false
	}
	var b strings.Builder
	b.Grow(len(s))
	at := 0
	for i, r := range s {
		if r >= utf8.RuneSelf && n.classes.Of(r)&pattern.PropNewer != 0 {
			n.write(&b, s[at:i])
			b.WriteRune(r)
			at = i + utf8.RuneLen(r)
		}
	}
	n.write(&b, s[at:])
	return b.String(), false
}

func (n unicodeForm) hasNewer(s string) bool {
	for _, r := range s {
		if r >= utf8.RuneSelf && n.classes.Of(r)&pattern.PropNewer != 0 {
			return true
		}
	}
	return false
}

// maxMarks is how many combining marks in a row golang.org/x/text takes before
// it inserts U+034F (the Stream-Safe Text Format), which the reference never does.
const maxMarks = 30

func (n unicodeForm) write(b *strings.Builder, s string) {
	marks := 0
	for _, r := range s {
		if r < 0x300 {
			marks = 0
			continue
		}
		// Decompositions hold up to 18 characters; count them as marks.
		var buf [utf8.UTFMax]byte
		p := nfkd.Properties(buf[:utf8.EncodeRune(buf[:], r)])
		switch {
		case p.CCC() != 0 || p.LeadCCC() != 0 || p.TrailCCC() != 0:
			marks += max(1, utf8.RuneCount(p.Decomposition()))
		default:
			marks = 0
		}
		if marks >= maxMarks {
			n.writeSlow(b, s)
			return
		}
	}
	b.WriteString(n.form.String(s))
}

// ordered is a character and its canonical combining class.
type ordered struct {
	r   rune
	ccc uint8
}

// writeSlow normalizes without a limit on marks: decompose, sort marks stably
// by class, compose.
func (n unicodeForm) writeSlow(b *strings.Builder, s string) {
	decompose := nfd
	if n.form == nfkc || n.form == nfkd {
		decompose = nfkd
	}
	var all []ordered
	for _, r := range s {
		for _, d := range decompose.String(string(r)) {
			all = append(all, ordered{d, nfd.PropertiesString(string(d)).CCC()})
		}
	}
	for i := 0; i < len(all); i++ {
		j := i
		for j < len(all) && all[j].ccc != 0 {
			j++
		}
		slices.SortStableFunc(all[i:j], func(x, y ordered) int { return int(x.ccc) - int(y.ccc) })
		i = j
	}
	if n.form == nfc || n.form == nfkc {
		all = compose(all)
	}
	for _, o := range all {
		b.WriteRune(o.r)
	}
}

// compose is the canonical composition algorithm (Unicode Standard, section 3.11).
func compose(in []ordered) []ordered {
	out := in[:0]
	starter, lastCCC := -1, uint8(0)
	for _, cur := range in {
		// Not blocked: adjacent to the starter, or of a higher class than what stands between.
		if starter >= 0 && (starter == len(out)-1 || lastCCC < cur.ccc) {
			if r, ok := composePair(out[starter].r, cur.r); ok {
				out[starter].r = r
				continue
			}
		}
		lastCCC = cur.ccc
		if cur.ccc == 0 {
			starter = len(out)
		}
		out = append(out, cur)
	}
	return out
}

// composePair returns the primary composite of a and b.
func composePair(a, b rune) (rune, bool) {
	r, w := utf8.DecodeRuneInString(nfc.String(string(a) + string(b)))
	if w < len(nfc.String(string(a)+string(b))) || r == a {
		return 0, false
	}
	return r, true
}
