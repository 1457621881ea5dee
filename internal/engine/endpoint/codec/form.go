package codec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"aiperfd/internal/engine/bench"
)

// boundary separates the parts of a form (RFC 7578). It is always the same, so
// that equal requests are equal bytes and the content type is known beforehand;
// a part in which it occurs cannot be sent.
const boundary = "aiperfd-form-5d0c9e3a7b41f286"

// FormType is the content type of every form.
const FormType = "multipart/form-data; boundary=" + boundary

// Form appends the parts of a form in the order of the calls.
type Form struct {
	Dst []byte
	err error // the first problem
}

func (f *Form) open(name string) {
	f.Dst = append(f.Dst, "--"+boundary+"\r\nContent-Disposition: form-data; name=\""...)
	f.Dst = append(f.Dst, partName(name)...)
	f.Dst = append(f.Dst, '"')
}

// partName escapes a name as browsers do (WHATWG HTML, "multipart/form-data"), and
// all control characters like line ends, because a header holds none.
func partName(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == 0x7f {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Text adds a field.
func (f *Form) Text(name, value string) {
	f.open(name)
	f.Dst = append(f.Dst, "\r\n\r\n"...)
	f.content(name, []byte(value))
}

// File adds a file.
func (f *Form) File(name, filename, mime string, data []byte) {
	f.open(name)
	f.Dst = append(f.Dst, "; filename=\""+partName(filename)+"\"\r\nContent-Type: "+mime+"\r\n\r\n"...)
	f.content(name, data)
}

func (f *Form) content(name string, data []byte) {
	if f.err == nil && bytes.Contains(data, []byte(boundary)) {
		f.err = fmt.Errorf("part %q of the form holds the text %q, which separates parts", name, boundary)
	}
	f.Dst = append(append(f.Dst, data...), "\r\n"...)
}

// Fields adds JSON values as fields: texts as they are, numbers, booleans and
// objects as JSON, the elements of lists as separate fields whose names end
// in []. A form knows no null; such a field is left out.
func (f *Form) Fields(fields []Field) {
	for _, x := range fields {
		if len(x.Value) == 0 || isNull(x.Value) {
			continue
		}
		var list []json.RawMessage
		if json.Unmarshal(x.Value, &list) != nil {
			f.Text(x.Name, formValue(x.Value))
			continue
		}
		name := strings.TrimSuffix(x.Name, "[]") + "[]"
		for _, v := range list {
			if !isNull(v) {
				f.Text(name, formValue(v))
			}
		}
	}
}

// formValue returns the form of a JSON value in a form body.
func formValue(v json.RawMessage) string {
	var text string
	if json.Unmarshal(v, &text) == nil {
		return text
	}
	return string(bytes.TrimSpace(v))
}

// End closes the form.
func (f *Form) End() ([]byte, error) {
	return append(f.Dst, "--"+boundary+"--\r\n"...), f.err
}

// AudioFile is how an audio clip goes into a form: the name of its file, and its type.
// Names of types that mean the same become one.
func AudioFile(m *bench.Media) (filename, mime string) {
	format := audioFormat(m.MIME)
	switch format {
	case "":
		format = "wav"
	case "mpga":
		format = "mp3"
	case "x-m4a", "mp4", "m4a":
		return "audio.m4a", "audio/mp4"
	case "opus":
		return "audio.opus", "audio/ogg"
	}
	mime = "audio/" + format
	if format == "mp3" {
		mime = "audio/mpeg"
	}
	return "audio." + format, mime
}

// ImageFile is how an image goes into a form. Its type is the one it claims, if
// that is one of images, else that of its first bytes; an error means neither.
func ImageFile(name string, m *bench.Media) (filename, mime string, err error) {
	mime = m.MIME
	if !strings.HasPrefix(mime, "image/") {
		if mime = http.DetectContentType(m.Data); !strings.HasPrefix(mime, "image/") {
			return "", "", fmt.Errorf("image of type %q: neither its type nor its first bytes are those of a PNG, JPEG, GIF, WebP or BMP", m.MIME)
		}
	}
	ext := strings.TrimPrefix(mime, "image/")
	if ext == "jpeg" {
		ext = "jpg"
	}
	return name + "." + ext, mime, nil
}
