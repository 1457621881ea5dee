package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/eventlog"
	"aiperfd/internal/engine/redact"
)

// emptySum and helloSum are SHA-256 of nothing and of "hello".
const (
	emptySum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	helloSum = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
)

func TestPayload(t *testing.T) {
	form := strings.Join([]string{
		"--b", `Content-Disposition: form-data; name="file"; filename="audio.wav"`, "Content-Type: audio/wav", "", "hello",
		"--b", `Content-Disposition: form-data; name="model"`, "", "m <é> \"x\"",
		"--b", `Content-Disposition: form-data; name="binary"`, "", "hello", "--b--", "",
	}, "\r\n")
	const formType = "multipart/form-data; boundary=b"
	for _, tt := range []struct{ name, contentType, body, want string }{
		{"JSON", "application/json", `{"a": "<b>"}`, `{"a": "<b>"}`},
		{"JSON without a type", "", `[1]`, `[1]`},
		{"form", formType, form, `{"content_type":"multipart/form-data; boundary=b","parts":[` +
			`{"name":"file","filename":"audio.wav","content_type":"audio/wav","size":5,"sha256":"` + helloSum + `"},` +
			`{"name":"model","value":"m <é> \"x\""},{"name":"binary","value":"hello"}]}`},
		{"a field that is no text", formType, strings.Replace(form, "m <é> \"x\"", "\xff", 1), `{"content_type":"multipart/form-data; boundary=b","parts":[` +
			`{"name":"file","filename":"audio.wav","content_type":"audio/wav","size":5,"sha256":"` + helloSum + `"},` +
			`{"name":"model","size":1,"sha256":"a8100ae6aa1940d0b663bb31cd466142ebbdbd5187131b92d93818987832eb89"},{"name":"binary","value":"hello"}]}`},
		{"a broken form", formType, "hello", `{"content_type":"multipart/form-data; boundary=b","size":5,"sha256":"` + helloSum + `"}`},
		{"bytes", "application/octet-stream", "hello", `{"content_type":"application/octet-stream","size":5,"sha256":"` + helloSum + `"}`},
		{"nothing", "", "", `{"size":0,"sha256":"` + emptySum + `"}`},
	} {
		if got := string(Payload(tt.contentType, []byte(tt.body))); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// TestRawOfForm: a line about a form and an audio clip is small and holds no bytes of
// either.
func TestRawOfForm(t *testing.T) {
	sound := bytes.Repeat([]byte{0, 0xff}, 1<<20)
	body := slicesOf("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\n", string(sound), "\r\n--b--\r\n")
	resp := &bench.Response{
		Status: 200, Framing: bench.FramingBinary, Header: http.Header{"Content-Type": {"audio/wav"}},
		Pieces: []bench.Piece{{At: 5, Size: 44, Read: 1}, {At: 9, Size: 100, Read: 2}},
	}
	raw := NewRaw(&bench.Record{}, http.Header{"Content-Type": {"multipart/form-data; boundary=b"}}, body, resp)
	var out bytes.Buffer
	w := NewRecordWriter(&out, testOptions())
	if err := w.WriteRaw(raw); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	var line struct {
		Payload   struct{ Parts []map[string]any }
		Responses json.RawMessage
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || out.Len() > 2000 {
		t.Fatalf("a line of %d bytes: %v", out.Len(), err)
	}
	if p := line.Payload.Parts; len(p) != 1 || p[0]["size"] != float64(2<<20) {
		t.Errorf("parts = %v", p)
	}
	const want = `[{"perf_ns":5,"bytes":44,"content_type":"audio/wav"},{"perf_ns":9,"bytes":100,"content_type":"audio/wav"}]`
	if string(line.Responses) != want {
		t.Errorf("responses = %s\nwant %s", line.Responses, want)
	}
}

func slicesOf(parts ...string) []byte { return []byte(strings.Join(parts, "")) }

// TestRawOfStreamedSecret: a secret that was sent in pieces is in no line, whether the
// server declared a stream or not.
func TestRawOfStreamedSecret(t *testing.T) {
	const secret = "secret-value"
	var streamed bench.Response
	text := ""
	for i := range len(secret) {
		data := fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%q}}]}`, secret[i:i+1])
		streamed.Events.Append(eventlog.Event{Name: "message", Data: []byte(data)})
		text += "data: " + data + "\n\n"
	}
	streamed.Status = 200
	for name, resp := range map[string]*bench.Response{"stream": &streamed, "body": {Status: 200, Body: []byte(text)}} {
		var out bytes.Buffer
		o := testOptions()
		o.Secrets = redact.NewSet("Bearer " + secret)
		w := NewRecordWriter(&out, o)
		if err := errors.Join(w.WriteRaw(NewRaw(&bench.Record{}, http.Header{}, nil, resp)), w.Flush()); err != nil {
			t.Fatal(err)
		}
		for word, want := range map[string]int{`content\":`: len(secret), `\":\"` + redact.Placeholder + `\"`: len(secret)} {
			if got := strings.Count(out.String(), word); got != want {
				t.Errorf("%s: %s %d times, want %d: %s", name, word, got, want, out.String())
			}
		}
	}
}
