package export

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"unicode/utf8"

	"aiperfd/internal/engine/plainjson"
)

// maxPart is the longest field of a form that is shown as it is, in bytes.
const maxPart = 64 << 10

// digest stands for bytes that a JSON file cannot show.
type digest struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// formPart is a part of a form: a field with its value, or a file with its
// digest.
type formPart struct {
	Name        string  `json:"name"`
	Filename    string  `json:"filename,omitempty"`
	ContentType string  `json:"content_type,omitempty"`
	Value       *string `json:"value,omitempty"`
	*digest
}

// Payload returns a request body as a JSON value, for files that list bodies: JSON
// as it is, the parts of a form with what files hold replaced by size and SHA-256,
// and size and SHA-256 of anything else. The value may share memory with body.
func Payload(contentType string, body []byte) json.RawMessage {
	media, params, err := mime.ParseMediaType(contentType)
	if err == nil && media == "multipart/form-data" {
		if parts, err := formParts(body, params["boundary"]); err == nil && len(parts) > 0 {
			return described(struct {
				ContentType string     `json:"content_type"`
				Parts       []formPart `json:"parts"`
			}{contentType, parts})
		}
	} else if json.Valid(body) {
		return body
	}
	return described(struct {
		ContentType string `json:"content_type,omitempty"`
		digest
	}{contentType, digestOf(body)})
}

func formParts(body []byte, boundary string) ([]formPart, error) {
	r := multipart.NewReader(bytes.NewReader(body), boundary)
	parts := []formPart{}
	for {
		p, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return parts, nil
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(p)
		if err != nil {
			return nil, err
		}
		out := formPart{Name: p.FormName(), Filename: p.FileName(), ContentType: p.Header.Get("Content-Type")}
		if out.Filename == "" && len(content) <= maxPart && utf8.Valid(content) {
			value := string(content)
			out.Value = &value
		} else {
			d := digestOf(content)
			out.digest = &d
		}
		parts = append(parts, out)
	}
}

func digestOf(b []byte) digest {
	sum := sha256.Sum256(b)
	return digest{Size: int64(len(b)), SHA256: hex.EncodeToString(sum[:])}
}

// described is v, which is of a type of ours and cannot fail to become JSON.
func described(v any) json.RawMessage {
	out, err := plainjson.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return out
}
