package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// encoding is a way in which a server, or a program between, writes a text.
type encoding struct {
	name   string
	encode func(string) string
}

// encodings returns the encodings in which secrets must not come through.
func encodings() []encoding {
	each := func(format string) func(string) string {
		return func(s string) string {
			var out strings.Builder
			for i := range len(s) {
				fmt.Fprintf(&out, format, s[i])
			}
			return out.String()
		}
	}
	slashes := func(s string) string { return strings.ReplaceAll(quoted(s), "/", `\/`) }
	lines := func(s string, width int, end string) string {
		var out strings.Builder
		for i := 0; i < len(s); i += width {
			out.WriteString(s[i:min(len(s), i+width)] + end)
		}
		return out.String()
	}
	std := base64.StdEncoding.EncodeToString
	return []encoding{
		{"plain", func(s string) string { return s }},
		{"upper case", strings.ToUpper},
		{"lower case", strings.ToLower},
		{"JSON", quoted},
		{"JSON with escaped slashes", slashes},
		{"JSON in JSON", func(s string) string { return quoted(quoted(s)) }},
		{"JSON of code units", each(`\u%04x`)},
		{"bytes", each(`\x%02X`)},
		{"query", url.QueryEscape},
		{"path", url.PathEscape},
		{"query twice", func(s string) string { return url.QueryEscape(url.QueryEscape(s)) }},
		{"percent, lower case", each("%%%02x")},
		{"percent, upper case", each("%%%02X")},
		{"HTML", html.EscapeString},
		{"decimal entities", each("&#%d;")},
		{"hexadecimal entities", each("&#x%X;")},
		{"base64", func(s string) string { return std([]byte(s)) }},
		{"base64 for URLs", func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte("a" + s)) }},
		{"base64 in lines", func(s string) string { return lines(std([]byte("ab"+s)), 76, "\r\n") }},
		{"base64 in short lines", func(s string) string { return lines(std([]byte(s)), 24, "\n") }},
		{"hexadecimal", func(s string) string { return hex.EncodeToString([]byte(s)) }},
		{"hexadecimal, upper case", func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) }},
		{"lines", brokenWords},
		{"control characters", func(s string) string { return strewn(s, "\x00\b\x1b\x7f\u0080\u009b") }},
		{"format characters", func(s string) string { return strewn(s, "\u00ad\u061c\u180e\u200b\u202e\u2060\ufeff\U000e0041") }},
		{"fillers", func(s string) string { return strewn(s, "\u034f\u3164\ufe0f\ufffd") }},
	}
}

// strewn puts one of the marks behind every third character, in turns.
func strewn(s, marks string) string {
	var out strings.Builder
	each, n := []rune(marks), 0
	for i, r := range []rune(s) {
		out.WriteRune(r)
		if i%3 == 2 {
			out.WriteRune(each[n%len(each)])
			n++
		}
	}
	return out.String()
}

// brokenWords breaks every longer word, but no escape.
func brokenWords(s string) string {
	return regexp.MustCompile(`[A-Za-z]{6}`).ReplaceAllString(s, "$0\n")
}

// quoted returns a text as the inside of a JSON string.
func quoted(text string) string {
	b, _ := json.Marshal(text) //nolint:errchkjson // a text encodes
	return string(b[1 : len(b)-1])
}

// echo answers a request with a text.
type echo func(w http.ResponseWriter, text string)

// echoes are the places where servers repeat a request.
func echoes() []echo {
	body := func(status int, contentType, before, after string) echo {
		return func(w http.ResponseWriter, text string) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			io.WriteString(w, before+text+after)
		}
	}
	object := func(status int) echo {
		return func(w http.ResponseWriter, text string) {
			body(status, "application/json", `{"error":{"message":"refused: `+quoted(text)+`","code":400}}`, "")(w, "")
		}
	}
	return []echo{
		object(400), object(200), body(503, "text/plain", "", ""), body(200, "text/html", "<html>", "</html>"),
		func(w http.ResponseWriter, text string) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"error\":{\"message\":\"refused: %s\"}}\n\ndata: [DONE]\n\n", quoted(text))
		},
		func(w http.ResponseWriter, text string) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"id\":\"%[1]s\",\"model\":\"%[1]s\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%[1]s\"},\"finish_reason\":\"%[1]s\"}]}\n\ndata: [DONE]\n\n", quoted(text))
		},
		pieces,
		func(w http.ResponseWriter, text string) {
			w.Header().Set("Location", "/elsewhere?"+url.QueryEscape(text))
			w.Header().Set("X-Request-Id", url.QueryEscape(text))
			w.WriteHeader(http.StatusTemporaryRedirect)
			io.WriteString(w, text)
		},
		func(w http.ResponseWriter, text string) {
			w.Header().Set("Content-Type", "application/"+printable(text))
			io.WriteString(w, "{")
		},
	}
}

// pieces streams a text a few bytes at a time.
func pieces(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i, runes := 0, []rune(text); i < len(runes); i += 5 {
		fmt.Fprintf(w, "data: {\"id\":\"c-1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"}}]}\n\n", quoted(string(runes[i:min(len(runes), i+5)])))
	}
	io.WriteString(w, "data: {\"id\":\"c-1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}

// printable replaces line breaks, and drops what else a header cannot hold.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r' || r == '\n':
			return ' '
		case r < ' ':
			return -1
		}
		return r
	}, text)
}
