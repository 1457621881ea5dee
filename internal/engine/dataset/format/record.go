package format

import (
	"encoding/json"
	"errors"
	"fmt"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/media"
)

// row is one decoded turn: a record of single_turn or random_pool, or an element of the
// turns of multi_turn.
type row struct {
	texts   []string
	named   []bench.NamedTexts // texts with a part name
	role    string
	session string   // empty = a separate conversation
	pool    string   // empty = that of the file
	delay   *float64 // milliseconds; nil = not given
	at      *float64 // milliseconds; nil = not given
	output  bench.Tokens
	extra   json.RawMessage
	media   [3]attachment // by class
	uuids   []string      // of the images
}

// hasMedia reports whether the record has images, audio or videos.
func (r *row) hasMedia() bool {
	return r.media[media.ClassImage].list != nil || r.media[media.ClassAudio].list != nil || r.media[media.ClassVideo].list != nil
}

// hasText reports whether the record has texts.
func (r *row) hasText() bool { return r.texts != nil || r.named != nil }

// rowMembers lists the members of a turn in the order of the documentation.
func rowMembers() []member[row] {
	text := func(r *row, v json.RawMessage) error {
		if r.hasText() {
			return errors.New("text and texts are both given; use one of them")
		}
		texts, err := decodeTexts(v)
		r.setTexts(texts)
		return err
	}
	attached := func(name string, class media.Class, doc string) member[row] {
		return member[row]{source.Field{Name: name, Type: "string, list of strings, or {name, contents}", Doc: doc}, func(r *row, v json.RawMessage) (err error) {
			if before := r.media[class].member; before != "" {
				return fmt.Errorf("%s and %s are both given; use one of them", before, name)
			}
			r.media[class].member = name
			r.media[class].list, err = decodeReferences(v)
			return err
		}}
	}
	const forms = "each a URL, a data URI, base64, or the path of a file, relative to the working directory or to the folder of the input file."
	return []member[row]{
		{source.Field{Name: "text", Type: "string, list of strings, or {name, contents}", Doc: "The prompt, or several for a batch."}, text},
		{source.Field{Name: "texts", Type: "as text, or a list of {name, contents}", Doc: "Alias of `text`. For endpoint types that rank or compare, the `name` of a text is its role: query and passages, or text_1 and text_2; other names are labels and are not sent."}, text},
		{source.Field{Name: "role", Type: "string", Doc: "Role of the message; default user."}, func(r *row, v json.RawMessage) error {
			return decodeString(v, &r.role)
		}},
		{source.Field{Name: "timestamp", Type: "number", Doc: "When the turn is sent in a phase of type fixed_schedule, in milliseconds of the dataset's own time. It excludes delay."}, func(r *row, v json.RawMessage) error {
			return decodeMilliseconds(v, &r.at)
		}},
		{source.Field{Name: "delay", Type: "number", Doc: "Milliseconds to wait after the response to the previous turn."}, func(r *row, v json.RawMessage) error {
			return decodeMilliseconds(v, &r.delay)
		}},
		{source.Field{Name: "output_length", Type: "integer", Doc: "Maximum output tokens, at least 1."}, func(r *row, v json.RawMessage) (err error) {
			r.output, err = decodeTokens(v)
			return err
		}},
		{source.Field{Name: "extra", Type: "object", Doc: "Merged into the request body."}, func(r *row, v json.RawMessage) (err error) {
			r.extra, err = decodeObject(v)
			return err
		}},
		attached("image", media.ClassImage, "Images (PNG, JPEG, GIF or WebP), "+forms),
		attached("images", media.ClassImage, "Alias of `image`."),
		attached("audio", media.ClassAudio, "Audio (WAV, MP3 and others), "+forms+" `wav,BASE64` is accepted too."),
		attached("audios", media.ClassAudio, "Alias of `audio`."),
		attached("video", media.ClassVideo, "Videos (MP4, WebM and others), "+forms),
		attached("videos", media.ClassVideo, "Alias of `video`."),
		{source.Field{Name: "image_uuids", Type: "list of strings", Doc: "Keys of the images in the server's cache, one for each image: `uuid` in vLLM's content parts. Without images, the keys alone are sent. Only for endpoint type chat."}, func(r *row, v json.RawMessage) (err error) {
			r.uuids, err = decodeStrings(v)
			return err
		}},
	}
}

// rowReader decodes turns and finds their media. It is safe for concurrent use.
type rowReader struct {
	object *object[row]
	media  *attacher
}

// read decodes a turn and returns its problems.
func (d *rowReader) read(raw []byte) (r row, t bench.Turn, all problems) {
	if all = d.object.decode(&r, raw); len(all) > 0 {
		return r, t, all
	}
	if problem := r.setUUIDs(); problem != "" {
		all = append(all, problem)
	}
	if !r.hasText() && !r.hasMedia() {
		all = append(all, "text is missing")
	}
	if r.delay != nil && r.at != nil {
		all = append(all, "delay: timestamp and delay are both given; use one of them")
	}
	t = bench.Turn{Texts: r.texts, Named: r.named, Role: r.role, MaxTokens: r.output, ExtraBody: r.extra}
	if r.delay != nil {
		t.Delay = source.Milliseconds(*r.delay, nil)
	}
	if r.at != nil {
		t.At, t.Timed = source.Milliseconds(*r.at, nil), true
	}
	for class, to := range mediaOf(&t) {
		list, err := d.media.attach(media.Class(class), r.media[class].list)
		if err != nil {
			all = append(all, r.media[class].member+": "+err.Error())
		}
		*to = list
	}
	return r, t, all
}

// mediaOf returns the media of a turn by class.
func mediaOf(t *bench.Turn) [3]*[]bench.Media {
	return [...]*[]bench.Media{media.ClassImage: &t.Images, media.ClassAudio: &t.Audios, media.ClassVideo: &t.Videos}
}

// hasFiles reports whether a turn of this record has media that have to be read from
// files.
func (r *row) hasFiles(t *bench.Turn) bool {
	for class, list := range mediaOf(t) {
		for i := range *list {
			if r.media[class].list[i].isFile(&(*list)[i]) {
				return true
			}
		}
	}
	return false
}

// finish reads the files that the media of a turn name.
func (a *attacher) finish(t *bench.Turn, refs *[3]attachment) error {
	for class, to := range mediaOf(t) {
		list, err := a.whole(media.Class(class), refs[class].list, *to)
		if err != nil {
			return fmt.Errorf("%s: %w", refs[class].member, err)
		}
		*to = list
	}
	return nil
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
