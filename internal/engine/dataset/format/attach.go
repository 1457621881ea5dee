package format

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"slices"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/media"
)

// reference is one image, audio clip or video as a record gives it: a URL, a data
// URI, base64, or the path of a file.
type reference struct {
	name string // label; empty = none
	text string
	uuid string // key in the server's cache; empty = none. The text may be empty then
}

// attachment is the value of a media member of a record.
type attachment struct {
	member string // image or images and so on, as the record spells it; empty = not given
	list   []reference
}

// decodeReferences accepts what [decodeTexts] does.
func decodeReferences(v json.RawMessage, to *[]reference) error {
	all, err := decodeTexts(v)
	for _, l := range all {
		for _, text := range l.texts {
			*to = append(*to, reference{name: l.name, text: text})
		}
	}
	return err
}

// isFile reports whether m, which r was resolved to, has to be read from a file.
func (r *reference) isFile(m *bench.Media) bool { return r.text != "" && m.URL == "" && m.Data == nil }

// attacher turns references into media. It is safe for concurrent use.
type attacher struct {
	open func(name string) (io.ReadCloser, error) // nil = no files may be read
}

func newAttacher(open func(name string) (io.ReadCloser, error)) *attacher { return &attacher{open} }

// attach returns the media of a member of a record. The types of files are known, but
// they are not read yet.
func (a *attacher) attach(c media.Class, list []reference) ([]bench.Media, error) {
	if list == nil {
		return nil, nil
	}
	out := make([]bench.Media, len(list))
	for i, r := range list {
		m, err := bench.Media{}, error(nil)
		if r.text != "" {
			m, err = a.one(c, r.text)
		}
		if err != nil {
			if len(list) > 1 {
				err = fmt.Errorf("item %d: %w", i, err)
			}
			return nil, err
		}
		m.Name, m.UUID = r.name, r.uuid
		out[i] = m
	}
	return out, nil
}

// whole returns a copy of the media of a member with the contents of its files.
func (a *attacher) whole(c media.Class, list []reference, attached []bench.Media) ([]bench.Media, error) {
	out := slices.Clone(attached)
	for i := range out {
		if !list[i].isFile(&out[i]) {
			continue
		}
		data, err := file.ReadAll(a.open, list[i].text)
		if err != nil {
			return nil, fmt.Errorf("file %q: %w", file.Clip(list[i].text), pathless(err))
		}
		if kind, ok := c.Detect(data); !ok {
			return nil, wrongClass(fmt.Sprintf("file %q", file.Clip(list[i].text)), c, kind)
		}
		out[i].Data = data
	}
	return out, nil
}

func (a *attacher) one(c media.Class, text string) (bench.Media, error) {
	scheme, rest, _ := strings.Cut(text, ":")
	switch strings.ToLower(scheme) {
	case "http", "https":
		if u, err := url.Parse(text); err != nil || u.Host == "" {
			return bench.Media{}, fmt.Errorf("%s is not a URL that a server can fetch", file.Clip(text))
		}
		return bench.Media{URL: text}, nil
	case "data":
		return a.dataURI(c, rest)
	}
	if c == media.ClassAudio {
		if format, body, ok := strings.Cut(text, ","); ok && isFormat(format) {
			return a.pair(format, body)
		}
	}
	const least = 64 // bytes of an image or clip; a shorter text is a path
	if data, err := base64.StdEncoding.DecodeString(text); err == nil && len(data) >= least {
		if kind, ok := c.Detect(data); ok {
			return bench.Media{MIME: kind, Data: data}, nil
		}
	}
	return a.file(c, text)
}

// dataURI reads the part after "data:" (RFC 2397). The media type is detected from
// the bytes; if it is unknown, the type in the URI counts.
func (a *attacher) dataURI(c media.Class, rest string) (bench.Media, error) {
	head, body, ok := strings.Cut(rest, ",")
	declared, coded := strings.CutSuffix(head, ";base64")
	if !ok || !coded {
		return bench.Media{}, errors.New("a data URI must be data:TYPE;base64,DATA")
	}
	data, err := decodeBase64(body)
	if err != nil {
		return bench.Media{}, err
	}
	kind, ok := c.Detect(data)
	if !ok {
		declared, _, _ = strings.Cut(strings.ToLower(declared), ";")
		class := map[media.Class]string{media.ClassImage: "image/", media.ClassAudio: "audio/", media.ClassVideo: "video/"}[c]
		if !strings.HasPrefix(declared, class) || kind != "application/octet-stream" {
			return bench.Media{}, wrongClass("the data URI", c, kind)
		}
		kind = declared
	}
	return bench.Media{MIME: kind, Data: data}, nil
}

// pair reads AIPerf's form of audio, "wav,<base64>".
func (a *attacher) pair(format, body string) (bench.Media, error) {
	data, err := decodeBase64(body)
	if err != nil {
		return bench.Media{}, err
	}
	kind, ok := media.ClassAudio.Detect(data)
	if !ok {
		kind = "audio/" + strings.ToLower(format)
	}
	return bench.Media{MIME: kind, Data: data}, nil
}

// isFormat reports whether s can be the name of a format of audio.
func isFormat(s string) bool {
	const longest = 8
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') {
			return false
		}
	}
	return s != "" && len(s) <= longest
}

func decodeBase64(body string) ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(body)
	if err != nil {
		return nil, fmt.Errorf("%s is not base64: %w", file.Clip(body), err)
	}
	if len(data) == 0 {
		return nil, errors.New("must not be empty")
	}
	return data, nil
}

// file detects the type of a local file.
func (a *attacher) file(c media.Class, name string) (bench.Media, error) {
	shown := file.Clip(name)
	if a.open == nil {
		return bench.Media{}, fmt.Errorf("%q is neither a URL, a data URI nor base64-encoded %s, and reading files is not allowed here", shown, c)
	}
	const head = 4 << 10
	data, err := file.ReadHead(a.open, name, head)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return bench.Media{}, fmt.Errorf("%q is neither a URL, a data URI, base64-encoded %s (%s) nor a file", shown, c, c.Accepted())
	case err != nil:
		return bench.Media{}, fmt.Errorf("file %q: %w", shown, pathless(err))
	}
	kind, ok := c.Detect(data)
	if !ok {
		return bench.Media{}, wrongClass(fmt.Sprintf("file %q", shown), c, kind)
	}
	return bench.Media{MIME: kind}, nil
}

// pathless removes the path from an error whose message already has it.
func pathless(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

func wrongClass(what string, c media.Class, kind string) error {
	return fmt.Errorf("%s holds %s; accepted for %s: %s", what, kind, c, c.Accepted())
}
