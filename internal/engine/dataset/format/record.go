package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/random"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/media"
)

// row is one decoded record of format single_turn.
type row struct {
	texts   []string
	named   []bench.NamedTexts // texts with a part name
	role    string
	session string   // empty = a separate conversation
	delay   *float64 // milliseconds; nil = not given
	output  int64    // 0 = not given
	extra   json.RawMessage
	media   [3]attachment // by class
	uuids   []string      // of the images
}

// hasMedia reports whether the record has images, audio or videos.
func (r *row) hasMedia() bool {
	return r.media[media.ClassImage].list != nil || r.media[media.ClassAudio].list != nil || r.media[media.ClassVideo].list != nil
}

// member is one row of the table of members a record may have.
type member struct {
	source.Field
	set func(*row, json.RawMessage) error // nil = known to AIPerf, refused by name here
}

// singleTurnMembers lists the members of a single_turn record in the order of
// the documentation.
func singleTurnMembers() []member {
	text := func(r *row, v json.RawMessage) error {
		if r.texts != nil || r.named != nil {
			return errors.New("text and texts are both given; use one of them")
		}
		texts, err := decodeTexts(v)
		r.setTexts(texts)
		return err
	}
	attached := func(name string, class media.Class, doc string) member {
		return member{source.Field{name, "string, list of strings, or {name, contents}", doc}, func(r *row, v json.RawMessage) (err error) {
			if before := r.media[class].member; before != "" {
				return fmt.Errorf("%s and %s are both given; use one of them", before, name)
			}
			r.media[class].member = name
			r.media[class].list, err = decodeReferences(v)
			return err
		}}
	}
	const forms = "each a URL, a data URI, base64, or the path of a file, relative to the working directory or to the folder of the input file."
	refused := func(name string) member {
		return member{Field: source.Field{Name: name, Doc: "Not supported; records with this member are rejected."}}
	}
	return []member{
		{source.Field{"text", "string, list of strings, or {name, contents}", "The prompt, or several for a batch."}, text},
		{source.Field{"texts", "as text, or a list of {name, contents}", "Alias of `text`. For endpoint types that rank or compare, the `name` of a text is its role: query and passages, or text_1 and text_2; other names are labels and are not sent."}, text},
		{source.Field{"role", "string", "Role of the message; default user."}, func(r *row, v json.RawMessage) error {
			return decodeString(v, &r.role)
		}},
		{source.Field{"session_id", "string", "Records with the same id form one conversation, in the order of the file."}, func(r *row, v json.RawMessage) error {
			return decodeString(v, &r.session)
		}},
		{source.Field{"delay", "number", "Milliseconds to wait after the response to the previous record; requires session_id."}, decodeDelay},
		{source.Field{"output_length", "integer", "Maximum output tokens, at least 1."}, decodeOutputLength},
		{source.Field{"extra", "object", "Merged into the request body."}, decodeExtra},
		{source.Field{"type", "string", "Name of the format, single_turn."}, func(_ *row, v json.RawMessage) error {
			var name string
			if err := decodeString(v, &name); err != nil {
				return err
			}
			if name != "single_turn" {
				return fmt.Errorf("%q: this file is read as single_turn", name)
			}
			return nil
		}},
		attached("image", media.ClassImage, "Images (PNG, JPEG, GIF or WebP), "+forms),
		attached("images", media.ClassImage, "Alias of `image`."),
		attached("audio", media.ClassAudio, "Audio (WAV, MP3 and others), "+forms+" `wav,BASE64` is accepted too."),
		attached("audios", media.ClassAudio, "Alias of `audio`."),
		attached("video", media.ClassVideo, "Videos (MP4, WebM and others), "+forms),
		attached("videos", media.ClassVideo, "Alias of `video`."),
		{source.Field{"image_uuids", "list of strings", "Keys of the images in the server's cache, one for each image: `uuid` in vLLM's content parts. Without images, the keys alone are sent. Only for endpoint type chat."}, func(r *row, v json.RawMessage) (err error) {
			r.uuids, err = decodeStrings(v)
			return err
		}},
		refused("timestamp"),
	}
}

// singleTurnDocs returns the table for the documentation.
func singleTurnDocs() []source.Field {
	var out []source.Field
	for _, m := range singleTurnMembers() {
		out = append(out, m.Field)
	}
	return out
}

// rowDecoder reads records; it may be used for one after the other.
type rowDecoder struct {
	members map[string]member
	names   []string
}

func newRowDecoder() *rowDecoder {
	d := &rowDecoder{members: map[string]member{}}
	for _, m := range singleTurnMembers() {
		d.members[m.Name] = m
		d.names = append(d.names, m.Name)
	}
	return d
}

// decode reads one record and returns all its problems. The row does not refer to raw.
func (d *rowDecoder) decode(raw []byte) (row, []string) {
	var r row
	var problems []string
	if !utf8.Valid(raw) {
		return r, []string{"the record is not valid UTF-8"}
	}
	seen := map[string]bool{}
	err := eachMember(raw, func(name string, v json.RawMessage) {
		if seen[name] {
			problems = append(problems, name+": given twice")
			return
		}
		seen[name] = true
		if problem := d.apply(&r, name, v); problem != "" {
			problems = append(problems, problem)
		}
	})
	if err != nil {
		return r, append(problems, err.Error())
	}
	if len(problems) > 0 {
		return r, problems
	}
	if problem := r.setUUIDs(); problem != "" {
		problems = append(problems, problem)
	}
	if r.texts == nil && r.named == nil && !r.hasMedia() {
		problems = append(problems, "text is missing")
	}
	if r.delay != nil && r.session == "" {
		problems = append(problems, "delay: needs a session_id, since a record of its own has no previous answer to wait after")
	}
	return r, problems
}

// apply sets one member and returns its problem; empty = none.
func (d *rowDecoder) apply(r *row, name string, v json.RawMessage) string {
	m, known := d.members[name]
	switch {
	case !known:
		text := fmt.Sprintf("unknown member %q", clip(name))
		if guess := file.Nearest(name, d.names); guess != "" {
			return fmt.Sprintf("%s; did you mean %q?", text, guess)
		}
		return text + "; accepted: " + strings.Join(d.accepted(), ", ")
	case string(v) == "null":
		return ""
	case m.set == nil && name == "timestamp":
		return "timestamp: not supported yet; requests of a file are sent by the phase's own schedule"
	case m.set == nil:
		return name + ": not supported yet"
	}
	if err := m.set(r, v); err != nil {
		return name + ": " + err.Error()
	}
	return ""
}

func (d *rowDecoder) accepted() []string {
	return slices.DeleteFunc(slices.Clone(d.names), func(n string) bool { return d.members[n].set == nil })
}

// eachMember calls do for the members of a JSON object in their order.
func eachMember(raw []byte, do func(name string, v json.RawMessage)) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	start, err := dec.Token()
	if err != nil {
		return syntaxError(err)
	}
	if start != json.Delim('{') {
		return errors.New("must be a JSON object, one on each line")
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return syntaxError(err)
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return syntaxError(err)
		}
		// Within an object the decoder accepts only strings as names.
		do(name.(string), v)
	}
	if _, err := dec.Token(); err != nil {
		return syntaxError(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("unexpected text after the JSON object")
	}
	return nil
}

func syntaxError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON object ends too early")
	}
	return fmt.Errorf("not valid JSON: %w", err)
}

// decodeTexts accepts a string, a {name, contents} object, or a list of either.
func decodeTexts(v json.RawMessage) ([]labelled, error) {
	if v[0] != '[' {
		one, err := decodeText(v)
		return []labelled{one}, err
	}
	var items []json.RawMessage
	if err := json.Unmarshal(v, &items); err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, errors.New("the list is empty")
	}
	texts := make([]labelled, len(items))
	for i, item := range items {
		var err error
		if texts[i], err = decodeText(item); err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
	}
	return texts, nil
}

// decodeText accepts one string or one {name, contents} object, whose contents
// are a list of strings.
func decodeText(v json.RawMessage) (labelled, error) {
	if v[0] == '"' {
		one := labelled{texts: make([]string, 1)}
		return one, decodeString(v, &one.texts[0])
	}
	if v[0] != '{' {
		return labelled{}, fmt.Errorf("must be a string, {name, contents}, or a list of either, not %s", clip(string(v)))
	}
	var out labelled
	var errs []error
	err := eachMember(v, func(name string, v json.RawMessage) {
		var err error
		switch name {
		case "name":
			out.name, err = decodeLabel(v)
		case "contents":
			out.texts, err = decodeContents(v)
		default:
			err = fmt.Errorf("unknown member %q; accepted: name, contents", clip(name))
		}
		errs = append(errs, err)
	})
	if err := errors.Join(append(errs, err)...); err != nil {
		return labelled{}, err
	}
	if out.texts == nil {
		return labelled{}, errors.New("contents is missing")
	}
	return out, nil
}

func decodeContents(v json.RawMessage) ([]string, error) {
	texts, err := decodeStrings(v)
	if err != nil {
		return nil, fmt.Errorf("contents: %w", err)
	}
	return texts, nil
}

// decodeStrings accepts a list of strings. Neither it nor a string may be empty.
func decodeStrings(v json.RawMessage) ([]string, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(v, &items); err != nil || len(items) == 0 {
		return nil, fmt.Errorf("must be a list of strings, not %s", clip(string(v)))
	}
	texts := make([]string, len(items))
	for i, item := range items {
		if err := decodeString(item, &texts[i]); err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
	}
	return texts, nil
}

// setUUIDs gives the images their keys and returns a problem, empty = none.
func (r *row) setUUIDs() string {
	images := &r.media[media.ClassImage]
	if images.list == nil && r.uuids != nil {
		*images = attachment{"image_uuids", make([]reference, len(r.uuids))}
	}
	if r.uuids != nil && len(r.uuids) != len(images.list) {
		return fmt.Sprintf("image_uuids: %d keys for %d images; there must be one for each", len(r.uuids), len(images.list))
	}
	for i, uuid := range r.uuids {
		images.list[i].uuid = uuid
	}
	return ""
}

// decodeString accepts a string that is not empty.
func decodeString(v json.RawMessage, to *string) error {
	if err := json.Unmarshal(v, to); err != nil {
		return fmt.Errorf("must be a string, not %s", clip(string(v)))
	}
	if *to == "" {
		return errors.New("must not be empty")
	}
	return nil
}

func decodeDelay(r *row, v json.RawMessage) error {
	var ms float64
	if err := json.Unmarshal(v, &ms); err != nil || ms < 0 {
		return fmt.Errorf("must be a number of milliseconds, not negative, not %s", clip(string(v)))
	}
	r.delay = &ms
	return nil
}

func decodeOutputLength(r *row, v json.RawMessage) error {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || n < 1 || n > random.MaxValue {
		return fmt.Errorf("must be a whole number of tokens from 1 to %g, not %s", random.MaxValue, clip(string(v)))
	}
	r.output = n
	return nil
}

func decodeExtra(r *row, v json.RawMessage) error {
	if v[0] != '{' {
		return fmt.Errorf("must be an object, not %s", clip(string(v)))
	}
	var b bytes.Buffer
	if err := json.Compact(&b, v); err != nil {
		return err
	}
	r.extra = b.Bytes()
	return nil
}

// clip shortens a text from a file for a message.
func clip(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
