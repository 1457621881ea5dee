// Package media implements OpenAI's APIs for images and audio.
package media

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/api/text"
	"aiperfd/internal/mock/random"
)

// images is POST /v1/images/generations and /v1/images/edits. Images are small and of
// one colour, which depends on the request. The first one is ready after the time of a
// first token; in a stream every preview, and then the image, takes the time of another
// token.
type images struct{ edits bool }

// imageRequest has the parameters of a request for images.
type imageRequest struct {
	width, height int
	partials      int  // previews of each image of a stream
	url           bool // the answer contains URLs, not images
}

// NewImages returns the protocol of POST /v1/images/generations, or with edits of
// POST /v1/images/edits.
func NewImages(edits bool) *api.Protocol {
	p := images{edits}
	return &api.Protocol{
		Read: p.read, Document: p.document,
		Script: &api.Script{ContentType: api.EventStream, Content: p.content, Fail: text.FailStream},
	}
}

func (p images) read(m *api.Model, r *http.Request, body []byte) (*api.Request, *api.Error) {
	q, size, format := &api.Request{}, "", ""
	job, hash := &imageRequest{width: maxSide, height: maxSide}, uint32(0)
	var text string
	var refusal *api.Error
	if p.edits {
		f := api.ReadForm(r, body)
		text, q.Model, q.Stream, q.N = f.Need("prompt"), f.Text("model"), f.Boolean("stream"), f.Integer("n", 1, 10, 1)
		size, format, job.partials = f.Text("size"), f.Text("response_format"), f.Integer("partial_images", 0, 3, 0)
		hash = originals(f, job)
		refusal = f.Err
	} else {
		refusal = m.ParseJSON(body, func(f *api.Fields) {
			if text = f.Text("prompt"); text == "" {
				f.Fail("prompt", "string")
			}
			q.Model, q.Stream = f.Text("model"), f.Flag("stream")
			q.N, job.partials = f.Within("n", 1, 10, 1), f.Within("partial_images", 0, 3, 0)
			size, format = f.Text("size"), f.Text("response_format")
		})
	}
	if refusal == nil {
		refusal = job.shape(size, format)
	}
	if refusal == nil {
		refusal = m.CheckRequest(q)
	}
	q.Prompts = []api.Prompt{{Tokens: m.Options.Tokenizer.Count(text), Hash: random.Hash(hash, []byte(text))}}
	q.Payload = job
	if q.NoOutput = !q.Stream; q.Stream {
		q.Length = job.partials + 1
	}
	return q, refusal
}

// originals checks the images of an edit, which determine the size of the answer, and
// returns their hash.
func originals(f *api.Form, job *imageRequest) (hash uint32) {
	if url := f.Text("url"); url != "" {
		return random.Hash(0, []byte(url))
	}
	for _, data := range f.NeedFiles("image", "image[]") {
		width, height, ok := imageSize(data)
		if !ok {
			f.Fail("image", "Invalid image file: PNG, JPEG, GIF and WebP are accepted.")
			return 0
		}
		if width > 0 {
			job.width, job.height = min(width, maxSide), min(height, maxSide)
		}
		hash = random.Hash(hash, data)
	}
	return hash
}

// shape reads size and format of the answer.
func (j *imageRequest) shape(size, format string) *api.Error {
	if size != "" && size != "auto" {
		w, h, _ := strings.Cut(size, "x")
		width, err1 := strconv.Atoi(w)
		height, err2 := strconv.Atoi(h)
		if err1 != nil || err2 != nil || width < 1 || height < 1 {
			return api.BadRequest("size", "size must be auto or WIDTHxHEIGHT, got "+api.Shorten(size)+".")
		}
		j.width, j.height = min(width, maxSide), min(height, maxSide)
	}
	switch format {
	case "", "b64_json":
	case "url":
		j.url = true
	default:
		return api.BadRequest("response_format", "response_format must be b64_json or url, got "+api.Shorten(format)+".")
	}
	return nil
}

func (j *imageRequest) size() string { return fmt.Sprintf("%dx%d", j.width, j.height) }

// imageOf returns the image of a choice; stage counts down to 0, the finished image.
func imageOf(x *api.Answer, c *api.Choice, stage int) Image {
	job := api.PayloadOf[*imageRequest](x)
	hash := x.Request.Prompts[0].Hash + uint32(c.Index)
	return Image{hash: hash, Width: job.width, Height: job.height, stage: stage}
}

// imageItem is an image of an answer: its URL, or the file itself.
type imageItem struct {
	URL    string `json:"url,omitempty"`
	Base64 []byte `json:"b64_json,omitempty"`
}

// imageUsage is the usage of some images of an answer.
type imageUsage struct {
	Input   int               `json:"input_tokens"`
	Details imageUsageDetails `json:"input_tokens_details"`
	Output  int               `json:"output_tokens"`
	Total   int               `json:"total_tokens"`
}

type imageUsageDetails struct {
	Image int `json:"image_tokens"`
	Text  int `json:"text_tokens"`
}

func (p images) usage(x *api.Answer, count int) *imageUsage {
	text, given, made := x.Request.Prompts[0].Tokens, 0, count*api.MediaTokens
	if p.edits {
		given = api.MediaTokens
	}
	return &imageUsage{text + given, imageUsageDetails{given, text}, made, text + given + made}
}

func (p images) document(dst []byte, x *api.Answer) ([]byte, string) {
	job := api.PayloadOf[*imageRequest](x)
	data := make([]imageItem, len(x.Choices))
	for i := range x.Choices {
		if one := imageOf(x, &x.Choices[i], 0); job.url {
			data[i].URL = address(x, one)
		} else {
			data[i].Base64 = one.PNG()
		}
	}
	return api.AppendJSON(dst, struct {
		Created    int64       `json:"created"`
		Data       []imageItem `json:"data"`
		Background string      `json:"background"`
		Format     string      `json:"output_format"`
		Quality    string      `json:"quality"`
		Size       string      `json:"size"`
		Usage      *imageUsage `json:"usage"`
	}{x.Created(), data, "opaque", "png", "low", job.size(), p.usage(x, len(data))}), api.JSON
}

// address returns the URL of an image on this server.
func address(x *api.Answer, p Image) string {
	scheme := "http"
	if x.HTTP.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + x.HTTP.Host + x.Options.Prefix + "/mock/files/" + p.name()
}

// imageEvent is a preview or an image of a stream.
type imageEvent struct {
	Type       string      `json:"type"`
	Base64     []byte      `json:"b64_json"`
	Partial    *int        `json:"partial_image_index,omitempty"`
	Created    int64       `json:"created_at"`
	Size       string      `json:"size"`
	Quality    string      `json:"quality"`
	Background string      `json:"background"`
	Format     string      `json:"output_format"`
	Usage      *imageUsage `json:"usage,omitempty"`
}

// content adds previews and images.
func (p images) content(e *api.Events, c *api.Choice, from, to int, _ bool) {
	prefix := "image_generation."
	if p.edits {
		prefix = "image_edit."
	}
	for i := from; i < to; i++ {
		event := imageEvent{
			Type: prefix + "partial_image", Base64: imageOf(e.Answer, c, c.Total-1-i).PNG(), Created: e.Answer.Created(),
			Size: api.PayloadOf[*imageRequest](e.Answer).size(), Quality: "low", Background: "opaque", Format: "png",
		}
		if i < c.Total-1 {
			event.Partial = &i
		} else {
			event.Type, event.Usage = prefix+"completed", p.usage(e.Answer, 1)
		}
		e.JSON("event: "+event.Type+e.EOL+"data: ", event, true)
	}
}

// maxSide is the longest side of an image, in pixels.
const maxSide = 64

// Image is a square of one colour. Its name contains all its properties, so images need
// not be stored.
type Image struct {
	hash          uint32 // determines the colour
	Width, Height int
	stage         int // 0 = finished; previews of larger stages are paler
}

func (p Image) name() string { return fmt.Sprintf("%08x-%dx%d.png", p.hash, p.Width, p.Height) }

// PNG returns the image as a PNG file.
func (p Image) PNG() []byte {
	pale := func(shift int) uint8 {
		level := random.Mix(uint64(p.hash), 0) >> shift & 0xff
		for range p.stage {
			level = (level + 0xff) / 2
		}
		return uint8(level)
	}
	colour := color.NRGBA{R: pale(0), G: pale(8), B: pale(16), A: 0xff}
	var b bytes.Buffer
	// Writing to a buffer cannot fail, and the size is positive.
	_ = png.Encode(&b, image.NewPaletted(image.Rect(0, 0, p.Width, p.Height), color.Palette{colour}))
	return b.Bytes()
}

// imageSize returns the size of a PNG or JPEG file, 0 for other images; ok is false if
// the file is not an image.
func imageSize(data []byte) (width, height int, ok bool) {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		c, err := png.DecodeConfig(bytes.NewReader(data))
		return c.Width, c.Height, err == nil
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		c, err := jpeg.DecodeConfig(bytes.NewReader(data))
		return c.Width, c.Height, err == nil
	case bytes.HasPrefix(data, []byte("GIF8")):
		return 0, 0, true
	}
	return 0, 0, len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP"
}

// ServeFile serves the images whose URLs answers contain.
func ServeFile(_ *api.Model, w http.ResponseWriter, r *http.Request) {
	var p Image
	name := chi.URLParam(r, "id")
	n, err := fmt.Sscanf(name, "%08x-%dx%d.png", &p.hash, &p.Width, &p.Height)
	if err != nil || n != 3 || p.name() != name || min(p.Width, p.Height) < 1 || max(p.Width, p.Height) > maxSide {
		api.Respond(w, http.StatusNotFound, []byte(`{"detail":"Not Found"}`)) // the client has disconnected
		return
	}
	data := p.PNG()
	w.Header().Set("Content-Type", "image/png")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data) // as above
}
