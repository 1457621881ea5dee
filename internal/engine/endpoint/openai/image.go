package openai

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/codec"
)

// ImageGeneration is OpenAI's API that makes images, as SGLang and others serve
// it too.
func ImageGeneration() codec.Kind {
	return codec.Kind{
		Name: "image_generation", Path: "/v1/images/generations", Title: "Image Generation Metrics",
		Caps:   bench.Caps{Streams: true, TokenizesInput: true, ProducesImages: true},
		Encode: encodeImageGeneration, Decode: answer.Decode(images()),
	}
}

// ImageEdit makes images from images. A request is a form. The URL of an
// image goes into the field url, which SGLang knows and OpenAI does not.
func ImageEdit() codec.Kind {
	return codec.Kind{
		Name: "image_edit", Path: "/v1/images/edits", Title: "Image Edit Metrics",
		ContentType: codec.FormType, Reserved: reservedInEdits(),
		Caps:   bench.Caps{Streams: true, TokenizesInput: true, Images: true, Needs: bench.Needs{Images: true}, ProducesImages: true},
		Encode: encodeImageEdit, Decode: answer.Decode(images()),
	}
}

func images() *answer.Grammar { return &answer.Grammar{Dialect: newImages, End: answer.EndTerminal} }

// reservedInEdits are the fields of an edit that the turn decides.
func reservedInEdits() []string { return []string{"prompt", "image", "image[]", "url", "mask"} }

// encodeImageGeneration writes a body for POST /v1/images/generations (OpenAI API
// reference, "Create image").
func encodeImageGeneration(dst []byte, r *codec.Request) ([]byte, error) {
	fields := []codec.Field{codec.ModelField(r), codec.TextField("prompt", codec.JoinTexts(r)), codec.NumberField("n", 1)}
	fields = appendFormat(fields, r)
	if r.Settings.Streaming {
		fields = append(fields, codec.TrueField(codec.FieldStream))
	}
	return codec.AppendMerged(dst, fields, r)
}

// appendFormat requests images in the answer, not their URLs. OpenAI's own
// models send them anyway and refuse the field; who needs it adds it as an extra
// input.
func appendFormat(fields []codec.Field, r *codec.Request) []codec.Field {
	model := codec.ModelOf(r)
	if strings.HasPrefix(model, "gpt-image") || strings.HasPrefix(model, "chatgpt-image") {
		return fields
	}
	return append(fields, codec.TextField("response_format", "b64_json"))
}

// encodeImageEdit writes a form for POST /v1/images/edits (OpenAI API reference,
// "Create image edit"): the fields, then the images.
func encodeImageEdit(dst []byte, r *codec.Request) ([]byte, error) {
	fields := appendFormat([]codec.Field{codec.TextField("prompt", codec.JoinTexts(r)), codec.ModelField(r)}, r)
	fields = append(fields, codec.NumberField("n", 1))
	if r.Settings.Streaming {
		fields = append(fields, codec.TrueField(codec.FieldStream))
	}
	fields, err := codec.MergeExtra(fields, r, reservedInEdits()...)
	if err != nil {
		return dst, err
	}
	size := 1 << 10 // for the text around the files
	for i := range r.Turn.Images {
		size += 256 + len(r.Turn.Images[i].Data)
	}
	f := codec.Form{Dst: slices.Grow(dst, size)}
	f.Fields(fields)
	if err := addImages(&f, r.Turn.Images); err != nil {
		return dst, err
	}
	return f.End()
}

// addImages adds the images of an edit, the mask last.
func addImages(f *codec.Form, media []bench.Media) error {
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
			f.Text("url", m.URL)
			count++
		default:
			filename, mime, err := codec.ImageFile("image", m)
			if err != nil {
				return err
			}
			f.File(name, filename, mime, m.Data)
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
		filename, mime, err := codec.ImageFile(mask, m)
		if err != nil {
			return err
		}
		f.File(mask, filename, mime, m.Data)
	}
	return nil
}

// imageDialect reads answers with a list of images, or events with an image or a
// preview of one.
type imageDialect struct{ Dialect }

func newImages(b *answer.Builder) answer.Dialect { return imageDialect{Dialect{b}} }

func (d imageDialect) Document(doc *answer.Document) bool {
	d.Dialect.Document(doc)
	v := doc.Value
	d.Times.Value("inference_time_s", v.Get("inference_time_s"), time.Second)
	if data := v.Get("data"); data != nil && data.Type() == fastjson.TypeArray {
		d.Answered, d.Terminal = true, true
		for _, item := range data.GetArray() {
			d.image(item, bench.Image)
		}
		return true
	}
	_, what, _ := strings.Cut(doc.Kind(), ".")
	switch {
	case what == "partial_image" || what == "" && v.Get("partial_image_index") != nil:
		d.image(v, bench.ImagePartial)
	case what == "completed" || what == "" && ImageSize(v) > 0:
		d.Answered, d.Terminal = true, true
		d.image(v, bench.Image)
	}
	return true
}

// image records an image.
func (d imageDialect) image(v *fastjson.Value, kind bench.ChunkKind) {
	if size := ImageSize(v); size > 0 {
		d.Answered = true
		d.Item(kind, size)
	}
}

// ImageSize returns the length of the base64 of an image, or else of its URL; 0 =
// there is no image.
func ImageSize(v *fastjson.Value) int {
	if size := len(answer.Str(v.Get("b64_json"))); size > 0 {
		return size
	}
	return len(answer.Str(v.Get("url")))
}
