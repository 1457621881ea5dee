package format

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
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
	return slices.ContainsFunc(r.media[:], func(a attachment) bool { return a.list != nil })
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
	attached := func(name string, class media.Class) member[row] {
		return member[row]{name, func(r *row, v json.RawMessage) error {
			to := &r.media[class]
			if to.member != "" {
				return fmt.Errorf("%s and %s are both given; use one of them", to.member, name)
			}
			to.member = name
			return decodeReferences(v, &to.list)
		}}
	}
	return []member[row]{
		{"text", text},
		{"texts", text},
		field("role", decodeString, func(r *row) *string { return &r.role }),
		field("timestamp", decodeMilliseconds, func(r *row) **float64 { return &r.at }),
		field("delay", decodeMilliseconds, func(r *row) **float64 { return &r.delay }),
		field("output_length", decodeTokens, func(r *row) *bench.Tokens { return &r.output }),
		field("extra", decodeObject, func(r *row) *json.RawMessage { return &r.extra }),
		attached("image", media.ClassImage),
		attached("images", media.ClassImage),
		attached("audio", media.ClassAudio),
		attached("audios", media.ClassAudio),
		attached("video", media.ClassVideo),
		attached("videos", media.ClassVideo),
		field("image_uuids", decodeStrings, func(r *row) *[]string { return &r.uuids }),
	}
}

// rowReader decodes turns and finds their media. It is safe for concurrent use.
type rowReader struct {
	object *object[row]
	media  *attacher
}

// read decodes a turn and returns its problems.
func (d *rowReader) read(raw []byte) (r row, t bench.Turn, all source.Problems) {
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
		return labelled{}, fmt.Errorf("must be a string, {name, contents}, or a list of either, not %s", file.Clip(string(v)))
	}
	var out labelled
	var errs []error
	err := eachMember(v, func(name string, v json.RawMessage) {
		var err error
		switch name {
		case "name":
			if json.Unmarshal(v, &out.name) != nil {
				err = fmt.Errorf("name: must be a string, not %s", file.Clip(string(v)))
			}
		case "contents":
			if err = decodeStrings(v, &out.texts); err != nil {
				err = fmt.Errorf("contents: %w", err)
			}
		default:
			err = fmt.Errorf("unknown member %q; accepted: name, contents", file.Clip(name))
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

// decodeStrings accepts a list of strings. Neither it nor a string may be empty.
func decodeStrings(v json.RawMessage, to *[]string) error {
	var items []json.RawMessage
	if err := json.Unmarshal(v, &items); err != nil || len(items) == 0 {
		return fmt.Errorf("must be a list of strings, not %s", file.Clip(string(v)))
	}
	*to = make([]string, len(items))
	for i, item := range items {
		if err := decodeString(item, &(*to)[i]); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
	}
	return nil
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
