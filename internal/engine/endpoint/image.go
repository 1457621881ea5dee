package endpoint

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// imageGeneration is OpenAI's API that makes images, as SGLang and others serve
// it too.
func imageGeneration() Kind {
	return Kind{
		Name: "image_generation", Path: "/v1/images/generations", Title: "Image Generation Metrics",
		Caps:   bench.Caps{Streams: true, TokenizesInput: true, ProducesImages: true},
		Encode: encodeImageGeneration, Decode: decodeWith(images()),
	}
}

// imageEdit makes images from images. A request is a form. An image at an
// address goes into the field url, which SGLang knows and OpenAI does not.
func imageEdit() Kind {
	return Kind{
		Name: "image_edit", Path: "/v1/images/edits", Title: "Image Edit Metrics",
		ContentType: formType, Reserved: reservedInEdits(),
		Caps:   bench.Caps{Streams: true, TokenizesInput: true, Images: true, ProducesImages: true},
		Encode: encodeImageEdit, Decode: decodeWith(images()),
	}
}

func images() *grammar { return &grammar{dialect: newImages, end: endTerminal} }

// reservedInEdits are the fields of an edit that the turn decides.
func reservedInEdits() []string { return []string{"prompt", "image", "image[]", "url", "mask"} }

// encodeImageGeneration writes a body for POST /v1/images/generations (OpenAI API
// reference, "Create image").
func encodeImageGeneration(dst []byte, r *Request) ([]byte, error) {
	fields := []Field{modelField(r), textField("prompt", joinTexts(r)), numberField("n", 1)}
	fields = appendFormat(fields, r)
	if r.Settings.Streaming {
		fields = append(fields, trueField(fieldStream))
	}
	fields, err := mergeExtra(fields, r)
	if err != nil {
		return dst, err
	}
	return appendObject(dst, fields), nil
}

// appendFormat asks for images in the answer, not at an address. OpenAI's own
// models send them anyway and refuse the field; who needs it adds it as an extra
// input.
func appendFormat(fields []Field, r *Request) []Field {
	model := cmp.Or(r.Turn.Model, r.Model)
	if strings.HasPrefix(model, "gpt-image") || strings.HasPrefix(model, "chatgpt-image") {
		return fields
	}
	return append(fields, textField("response_format", "b64_json"))
}

// encodeImageEdit writes a form for POST /v1/images/edits (OpenAI API reference,
// "Create image edit"): the fields, then the images.
func encodeImageEdit(dst []byte, r *Request) ([]byte, error) {
	fields := appendFormat([]Field{textField("prompt", joinTexts(r)), modelField(r)}, r)
	fields = append(fields, numberField("n", 1))
	if r.Settings.Streaming {
		fields = append(fields, trueField(fieldStream))
	}
	fields, err := mergeExtra(fields, r, reservedInEdits()...)
	if err != nil {
		return dst, err
	}
	size := 1 << 10 // for what is around the files
	for i := range r.Turn.Images {
		size += 256 + len(r.Turn.Images[i].Data)
	}
	f := form{dst: slices.Grow(dst, size)}
	f.fields(fields)
	if err := f.images(r.Turn.Images); err != nil {
		return dst, err
	}
	return f.end()
}

// images adds the images of an edit, the mask last.
func (f *form) images(media []bench.Media) error {
	const mask = "mask"
	files := 0
	for i := range media {
		if m := &media[i]; m.Name != mask && m.URL == "" {
			files++
		}
	}
	name, count := "image", 0
	if files > 1 {
		name = "image[]"
	}
	for i := range media {
		switch m := &media[i]; {
		case m.Name == mask:
		case m.URL != "":
			f.text("url", m.URL)
			count++
		default:
			filename, mime, err := imageFile("image", m)
			if err != nil {
				return err
			}
			f.file(name, filename, mime, m.Data)
			count++
		}
	}
	if count == 0 {
		return errors.New("an edit takes at least one image, the turn has none")
	}
	for i := range media {
		m := &media[i]
		if m.Name != mask {
			continue
		}
		if m.URL != "" {
			return errors.New("the mask of an edit is sent as a file, the turn has its address")
		}
		filename, mime, err := imageFile(mask, m)
		if err != nil {
			return err
		}
		f.file(mask, filename, mime, m.Data)
	}
	return nil
}

// imageDialect reads answers with a list of images, or events with an image or a
// preview of one.
type imageDialect struct{ openAIDialect }

func newImages(b *builder) dialect { return imageDialect{openAIDialect{b}} }

func (d imageDialect) document(doc *document) bool {
	d.openAIDialect.document(doc)
	v := doc.value
	d.times.value("inference_time_s", v.Get("inference_time_s"), time.Second)
	if data := v.Get("data"); data != nil && data.Type() == fastjson.TypeArray {
		d.answered, d.terminal = true, true
		for _, item := range data.GetArray() {
			d.image(item, bench.Image)
		}
		return true
	}
	_, what, _ := strings.Cut(doc.kind(), ".")
	switch {
	case what == "partial_image" || what == "" && v.Get("partial_image_index") != nil:
		d.image(v, bench.ImagePartial)
	case what == "completed" || what == "" && imageSize(v) > 0:
		d.answered, d.terminal = true, true
		d.image(v, bench.Image)
	}
	return true
}

// image records an image.
func (d imageDialect) image(v *fastjson.Value, kind bench.ChunkKind) {
	if size := imageSize(v); size > 0 {
		d.answered = true
		d.item(kind, size)
	}
}

// imageSize returns the length of the base64 of an image, or else of its URL; 0 =
// there is no image.
func imageSize(v *fastjson.Value) int {
	if size := len(str(v.Get("b64_json"))); size > 0 {
		return size
	}
	return len(str(v.Get("url")))
}
