package answer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxMessage is how much of an error text is kept, in bytes.
const maxMessage = 4 << 10

// maxPlainText is how much of an unstructured body becomes a message, in
// characters.
const maxPlainText = 300

// maxNesting bounds how deep an error is searched for in a body.
const maxNesting = 8

// Detail is the description of an error in a body.
type Detail struct{ Message, Kind, Code string }

// Describe finds the error message in a body of any shape that servers and
// gateways use. The message is never empty: without a better one it is the
// standard text of status.
func Describe(body []byte, status int) Detail {
	body = TrimSpace(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	var d Detail
	if v, ok := LooseJSON(body); ok {
		d = find(v, maxNesting)
	}
	if d.Message == "" {
		d.Message = PlainMessage(string(ToValidUTF8(body)))
	}
	if d.Message == "" {
		d.Message = cmp.Or(http.StatusText(status), fmt.Sprintf("HTTP status %d", status))
	}
	d.Message, d.Kind, d.Code = Clip(d.Message), Clip(d.Kind), Clip(d.Code)
	return d
}

// LooseJSON decodes body if it is JSON, numbers as they are written.
func LooseJSON(body []byte) (any, bool) {
	if len(body) == 0 {
		return nil, false
	}
	if !json.Valid(body) {
		var repaired bool
		if body, repaired = appendWithoutNaN(nil, body); !repaired {
			return nil, false
		}
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, false
	}
	return v, true
}

// find searches a decoded body for its message. Every level may be missing or
// of another type.
func find(v any, depth int) Detail {
	if depth == 0 {
		return Detail{}
	}
	switch v := v.(type) {
	case string:
		return Detail{Message: v}
	case []any:
		for _, item := range v {
			if d := find(item, depth-1); d.Message != "" {
				return d
			}
		}
	case map[string]any:
		return findInObject(v, depth)
	}
	return Detail{}
}

// findInObject tries the known shapes in order. Type and code come from where
// the message was, or else from the object around it.
func findInObject(o map[string]any, depth int) Detail {
	d := find(o["error"], depth-1)
	isError := o["object"] == "error" || o["type"] == "error"
	if d.Message == "" && isError {
		d.Message, _ = o["message"].(string)
	}
	if d.Message == "" {
		d = findDetail(o["detail"], depth-1)
	}
	for _, name := range []string{"message", "Message", "msg"} {
		if d.Message == "" {
			d.Message, _ = o[name].(string)
		}
	}
	for _, name := range []string{"errors", "message", "title", "response"} {
		if d.Message == "" {
			d = find(o[name], depth-1)
		}
	}
	kind := Text(o["error_type"])
	if t := Text(o["type"]); kind == "" && t != "error" {
		kind = t
	}
	d.Kind = cmp.Or(d.Kind, kind)
	d.Code = cmp.Or(d.Code, Text(o["code"]), Text(o["http_status_code"]))
	return d
}

// listsError reports whether data is a JSON list whose first member holds an
// error, as Gemini sends it.
func listsError(data []byte) bool {
	v, _ := LooseJSON(data)
	list, _ := v.([]any)
	if len(list) == 0 {
		return false
	}
	o, _ := list[0].(map[string]any)
	return find(o["error"], maxNesting).Message != ""
}

// findDetail reads FastAPI's detail: a text, an object, or a list of what is
// wrong where.
func findDetail(v any, depth int) Detail {
	list, ok := v.([]any)
	if !ok {
		return find(v, depth)
	}
	var lines []string
	for _, item := range list {
		d := find(item, depth)
		if d.Message == "" {
			continue
		}
		if o, ok := item.(map[string]any); ok {
			if where := location(o["loc"]); where != "" {
				d.Message = where + ": " + d.Message
			}
		}
		lines = append(lines, d.Message)
	}
	return Detail{Message: strings.Join(lines, "; ")}
}

func location(v any) string {
	list, _ := v.([]any)
	var steps []string
	for _, step := range list {
		if s := Text(step); s != "" {
			steps = append(steps, s)
		}
	}
	return strings.Join(steps, ".")
}

// Text returns a string or a number as text; anything else is "".
func Text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

var (
	titlePattern  = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)
	scriptPattern = regexp.MustCompile(`(?is)<(script|style)\b.*?</(script|style)>`)
	tagPattern    = regexp.MustCompile(`(?s)<[^>]*>`)
)

// PlainMessage makes a message of a body that is not JSON: the title of an HTML
// page, or the start of the text.
func PlainMessage(body string) string {
	if strings.HasPrefix(body, "<") {
		if title := titlePattern.FindStringSubmatch(body); title != nil {
			if s := collapse(html.UnescapeString(title[1])); s != "" {
				return s
			}
		}
		body = html.UnescapeString(tagPattern.ReplaceAllString(scriptPattern.ReplaceAllString(body, " "), " "))
	}
	return collapse(body)
}

// collapse joins the words of s with single spaces and cuts it.
func collapse(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	count := 0
	for i := range s {
		if count == maxPlainText {
			return s[:i]
		}
		count++
	}
	return s
}

// Clip cuts s to maxMessage bytes, between characters.
func Clip(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= maxMessage {
		return s
	}
	n := maxMessage
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
