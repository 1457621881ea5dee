package config

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/suggest"
)

// shownValue returns how a value may be shown, as text and as JSON; both are
// empty for lists, objects, null, and for what came from outside of the document
// or sits under a sensitive name.
func shownValue(n *node) (string, any) {
	if n.shape == null || n.shape >= list || len(n.secrets) > 0 || redact.SensitiveName(strings.TrimLeft(label(n.place), "-")) {
		return "", nil
	}
	switch n.shape {
	case number:
		return n.scalar, json.Number(n.scalar)
	case boolean:
		return n.scalar, n.scalar == "true"
	}
	shown := clip(redact.Text(redact.URL(n.scalar)))
	if n.flag != "" && !strings.ContainsAny(shown, " \t\n") && shown != "" {
		return shown, shown
	}
	return strconv.Quote(shown), shown
}

// parseSeconds reads "30s", "5 min", "2h" and "inf".
func parseSeconds(s string) (Seconds, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	switch s {
	case "inf", "+inf", "infinity":
		return Seconds(math.Inf(1)), true
	}
	end := strings.LastIndexAny(s, "0123456789.") + 1
	f, err := strconv.ParseFloat(s[:end], 64)
	if err != nil || math.IsInf(f, 0) {
		return 0, false
	}
	switch strings.TrimSpace(s[end:]) {
	case "", "s", "sec", "second", "seconds":
	case "m", "min", "minute", "minutes":
		f *= 60
	case "h", "hr", "hour", "hours":
		f *= 3600
	default:
		return 0, false
	}
	return Seconds(f), true
}

// seconds reads a length of time; only a grace period may be infinite.
func (l *loader) seconds(n *node, p *Seconds, path string) bool {
	s, ok := Seconds(0), false
	switch n.shape {
	case number:
		var f float64
		if f, ok = l.float(n, path); !ok {
			return false
		}
		s = Seconds(f)
	case text:
		s, ok = parseSeconds(n.scalar)
	}
	const want = "a number of seconds, or a string such as \"30s\" or \"5 min\""
	if !ok {
		return l.wrongType(n, path, want)
	}
	if math.IsInf(float64(s), 0) && !strings.HasSuffix(path, ".gracePeriod") {
		l.failed[path] = true
		l.failValue(n, CodeOutOfRange, "must be finite")
		return false
	}
	*p = s
	return true
}

// secretText reads a text that may be secret and is not a placeholder.
func (l *loader) secretText(n *node, path string) (string, bool) {
	if !n.isText() {
		l.failed[path] = true
		l.fail(n.place, CodeWrongType, "%s: must be a string", label(n.place))
		return "", false
	}
	if l.options.Stored {
		return strings.ReplaceAll(n.scalar, redact.Placeholder, "redacted"), true
	}
	if strings.Contains(n.scalar, redact.Placeholder) || strings.Contains(strings.ToLower(n.scalar), "%3credacted%3e") {
		l.failed[path] = true
		l.fail(n.place, CodeRedacted, "%s: contains a redaction placeholder; give the actual value", label(n.place))
		return "", false
	}
	l.doc.injected = append(l.doc.injected, n.secrets...)
	return n.scalar, true
}

func (l *loader) secret(n *node, p *Secret, path string) bool {
	s, ok := l.secretText(n, path)
	*p = NewSecret(s)
	return ok
}

// url reads a base URL; one without a scheme gets http.
func (l *loader) url(n *node, p *URL, path string) bool {
	raw, ok := l.secretText(n, path)
	if !ok {
		return false
	}
	if !schemed(raw) {
		raw = "http://" + raw
	}
	check := checkURL
	if path == endpointPath+".proxy" {
		check = checkProxy
	}
	if complaint := check(raw); complaint != "" {
		l.failed[path] = true
		l.failValue(n, CodeOutOfRange, complaint)
		return false
	}
	*p = NewURL(raw)
	return true
}

// headers reads request headers; names are kept as written.
func (l *loader) headers(n *node, p *map[string]Secret, path string) {
	if n.shape != object {
		l.wrongType(n, path, "an object with header names and values")
		return
	}
	*p = make(map[string]Secret, len(n.members))
	seen := make(map[string]bool)
	for _, m := range n.members {
		at := join(path, m.name)
		l.given[at] = m.value
		value, ok := l.secretText(m.value, at)
		name := textproto.CanonicalMIMEHeaderKey(m.name)
		switch {
		case !ok:
		case !validHeaderName(m.name):
			l.fail(m.place, CodeOutOfRange, "%q is not a header name", clip(m.name))
		case !validHeaderValue(value):
			l.fail(m.place, CodeOutOfRange, "%s: the value contains characters that are not allowed in a header", m.name)
		case seen[name]:
			l.fail(m.place, CodeConflict, "the header %s is given twice", m.name)
		case name == "Host" || name == "Content-Length" || name == "Transfer-Encoding" || name == "Connection":
			l.fail(m.place, CodeNotAllowed, "the header %s is set by the HTTP client", name)
		default:
			(*p)[m.name] = NewSecret(value)
		}
		seen[name] = true
	}
}

// validHeaderName reports whether s is a token (RFC 9110 section 5.6.2).
func validHeaderName(s string) bool {
	for i := range len(s) {
		if !isAlnum(s[i]) && strings.IndexByte("!#$%&'*+-.^_`|~", s[i]) < 0 {
			return false
		}
	}
	return s != ""
}

// validHeaderValue reports whether s can be a field value (RFC 9110 section 5.5).
func validHeaderValue(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) < 0
}

// objectBody reads members that are passed on as they are.
func (l *loader) objectBody(n *node, p *Object, path string) {
	if n.shape != object {
		l.wrongType(n, path, "an object")
		return
	}
	n.walk(func(below *node) {
		if below.shape == text && below.scalar == redact.Placeholder && !l.options.Stored {
			l.fail(below.place, CodeRedacted, "%s: contains a redaction placeholder; give the actual value", label(below.place))
		}
		l.doc.injected = append(l.doc.injected, below.secrets...)
	})
	*p = n.toObject()
}

func (n *node) toObject() Object {
	var o Object
	for _, m := range n.members {
		o.members = append(o.members, Member{Name: m.name, Value: m.value.json()}) // names are distinct
	}
	return o
}

// thresholds reads metric tags and their limits.
func (l *loader) thresholds(n *node, p *map[string]float64, path string) {
	if n.shape != object {
		l.wrongType(n, path, "an object with metric tags and numbers")
		return
	}
	for _, m := range n.members {
		name := ""
		if m.flag != "" {
			name = m.flag + ": "
		}
		tag := cmp.Or(objectiveAliases()[strings.ToLower(m.name)], m.name)
		at := join(path, tag)
		if l.given[at] != nil {
			l.fail(m.place, CodeConflict, "%sthe objective %s is given twice", name, tag)
			continue
		}
		l.given[at] = m.value
		if !l.knownMetric(tag) {
			known := append(slices.Sorted(maps.Keys(objectiveAliases())), l.options.MetricTags...)
			l.fail(m.place, CodeUnknownField, "%s%q is not a metric%s", name, clip(m.name), suggest.DidYouMean(m.name, known))
			continue
		}
		f, ok := l.float(m.value, at)
		if !ok {
			continue
		}
		if *p == nil {
			*p = make(map[string]float64)
		}
		(*p)[tag] = f
	}
}

// objectiveAliases are the usual short names of metrics that objectives may use.
func objectiveAliases() map[string]string {
	return map[string]string{
		"ttft": "time_to_first_token", "itl": "inter_token_latency", "tpot": "inter_token_latency",
		"e2e": "request_latency", "e2el": "request_latency", "latency": "request_latency",
		"ttst": "time_to_second_token", "ttfo": "time_to_first_output_token",
	}
}

func (l *loader) knownMetric(tag string) bool {
	if l.options.MetricTags == nil {
		return tag != ""
	}
	for _, known := range l.options.MetricTags {
		if tag == known {
			return true
		}
	}
	return false
}

// The limits of labels.
const (
	maxLabels     = 32
	maxLabelName  = 63
	maxLabelValue = 256
)

func (l *loader) labels(n *node, p *map[string]string, path string) {
	if n.shape != object {
		l.wrongType(n, path, "an object with string values")
		return
	}
	if len(n.members) > maxLabels {
		l.fail(n.place, CodeOutOfRange, "labels: at most %d are allowed; got %d", maxLabels, len(n.members))
	}
	*p = make(map[string]string, len(n.members))
	for _, m := range n.members {
		switch {
		case m.value.shape != text:
			l.wrongType(m.value, join(path, m.name), "a string")
		case m.name == "" || len(m.name) > maxLabelName:
			l.fail(m.place, CodeOutOfRange, "%q: a label name must have 1 to %d characters", clip(m.name), maxLabelName)
		case len(m.value.scalar) > maxLabelValue:
			l.fail(m.place, CodeOutOfRange, "%s: a label value can have at most %d characters", clip(m.name), maxLabelValue)
		default:
			(*p)[m.name] = m.value.scalar
		}
	}
}
