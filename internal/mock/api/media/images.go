// Package media implements OpenAI's APIs for images, audio and videos.
package media

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/api/openai"
	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jsonappend"
	"aiperfd/internal/mock/seed"
)

// images is POST /v1/images/generations and /v1/images/edits. Images are small and of
// one colour, which depends on the request. The first one is ready after the time of a
// first token; in a stream every preview, and then the image, takes the time of another
// token.
type images struct {
	edits   bool
	streams api.Script
}

// imageRequest has the parameters of a request for images.
type imageRequest struct {
	width, height int
	partials      int  // previews of each image of a stream
	url           bool // the answer contains URLs, not images
}

var _ api.Protocol = (*images)(nil)

// NewImages returns the protocol of POST /v1/images/generations, or with edits of
// POST /v1/images/edits.
func NewImages(edits bool) *images {
	p := &images{edits: edits}
	p.streams = api.Script{ContentType: api.EventStream, Content: p.content, Fail: openai.FailStream}
	return p
}

func (p *images) Read(m *api.Model, r *http.Request, body []byte) (*api.Request, *apierror.Error) {
	q, size, format := &api.Request{}, "", ""
	job, hash := &imageRequest{width: maxSide, height: maxSide}, uint32(0)
	var text string
	var refusal *apierror.Error
	if p.edits {
		f := api.ReadForm(r, body)
		text, q.Model, q.Stream, q.N = f.Need("prompt"), f.Text("model"), f.Boolean("stream"), f.Integer("n", 1, 10, 1)
		size, format, job.partials = f.Text("size"), f.Text("response_format"), f.Integer("partial_images", 0, 3, 0)
		hash = originals(f, job)
		refusal = f.Err
	} else {
		refusal = m.ParseJSON(body, func(f *api.Fields) {
			if v := f.Text("prompt"); v == "" {
				f.Fail("prompt", "string")
			}
			text, q.Model, q.Stream = f.Text("prompt"), f.Text("model"), f.Boolean("stream")
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
	q.Prompts = []api.Prompt{{Tokens: m.Options.Tokenizer.Count(text), Hash: seed.Hash(hash, []byte(text))}}
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
		return seed.Hash(0, []byte(url))
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
		hash = seed.Hash(hash, data)
	}
	return hash
}

// shape reads size and format of the answer.
func (j *imageRequest) shape(size, format string) *apierror.Error {
	if size != "" && size != "auto" {
		w, h, _ := strings.Cut(size, "x")
		width, err1 := strconv.Atoi(w)
		height, err2 := strconv.Atoi(h)
		if err1 != nil || err2 != nil || width < 1 || height < 1 {
			return apierror.BadRequest("size", "size must be auto or WIDTHxHEIGHT, got "+size[:min(len(size), 100)]+".")
		}
		j.width, j.height = min(width, maxSide), min(height, maxSide)
	}
	switch format {
	case "", "b64_json":
	case "url":
		j.url = true
	default:
		return apierror.BadRequest("response_format", "response_format must be b64_json or url, got "+format[:min(len(format), 100)]+".")
	}
	return nil
}

func (*images) Reasons() bool { return false }

func (*images) Refusal(dst []byte, e *apierror.Error) []byte { return apierror.Append(dst, e) }

func (p *images) Script() *api.Script { return &p.streams }

func imageRequestOf(x *api.Answer) *imageRequest {
	job, _ := x.Request.Payload.(*imageRequest)
	return job
}

// imageOf returns the image of a choice; stage counts down to 0, the finished image.
func imageOf(x *api.Answer, c *api.Choice, stage int) Image {
	job := imageRequestOf(x)
	return Image{hash: x.Request.Prompts[0].Hash + uint32(c.Index), Width: job.width, Height: job.height, stage: stage}
}

func (p *images) Document(dst []byte, x *api.Answer) ([]byte, string) {
	dst = append(dst, `{"created":`...)
	dst = strconv.AppendInt(dst, x.Truth.AcceptNs/1_000_000_000, 10)
	dst = append(dst, `,"data":[`...)
	for i := range x.Choices {
		if i > 0 {
			dst = append(dst, ',')
		}
		one := imageOf(x, &x.Choices[i], 0)
		if imageRequestOf(x).url {
			dst = append(jsonappend.String(append(dst, `{"url":`...), address(x, one)), '}')
			continue
		}
		dst = append(dst, `{"b64_json":"`...)
		dst = append(base64.StdEncoding.AppendEncode(dst, one.PNG()), `"}`...)
	}
	job := imageRequestOf(x)
	dst = fmt.Appendf(dst, `],"background":"opaque","output_format":"png","quality":"low","size":"%dx%d",`, job.width, job.height)
	return append(p.appendUsage(dst, x, len(x.Choices)), '}'), "application/json"
}

// address returns the URL of an image on this server.
func address(x *api.Answer, p Image) string {
	scheme := "http"
	if x.HTTP.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + x.HTTP.Host + x.Options.Prefix + "/mock/files/" + p.name()
}

// content adds previews and images.
func (p *images) content(e *api.Events, c *api.Choice, from, to int, _ bool) error {
	prefix := "image_generation"
	if p.edits {
		prefix = "image_edit"
	}
	job := imageRequestOf(e.Answer)
	for i := from; i < to; i++ {
		data := imageOf(e.Answer, c, c.Total-1-i).PNG()
		event := "completed"
		if i < c.Total-1 {
			event = "partial_image"
		}
		e.B = fmt.Appendf(e.B, "event: %s.%s%sdata: {\"type\":\"%s.%s\",\"b64_json\":\"", prefix, event, e.EOL, prefix, event)
		e.B = append(base64.StdEncoding.AppendEncode(e.B, data), '"')
		if i < c.Total-1 {
			e.B = fmt.Appendf(e.B, `,"partial_image_index":%d`, i)
		}
		e.B = fmt.Appendf(e.B, `,"created_at":%d,"size":"%dx%d","quality":"low","background":"opaque","output_format":"png"`,
			e.Answer.Truth.AcceptNs/1_000_000_000, job.width, job.height)
		if i == c.Total-1 {
			e.B = p.appendUsage(append(e.B, ','), e.Answer, 1)
		}
		e.B = append(e.B, '}')
		if err := e.End(true); err != nil {
			return err
		}
	}
	return nil
}

// appendUsage appends the member "usage" for some images of an answer.
func (p *images) appendUsage(dst []byte, x *api.Answer, count int) []byte {
	text, given, made := x.Request.Prompts[0].Tokens, 0, count*api.MediaTokens
	if p.edits {
		given = api.MediaTokens
	}
	return fmt.Appendf(dst, `"usage":{"input_tokens":%d,"input_tokens_details":{"image_tokens":%d,"text_tokens":%d},"output_tokens":%d,"total_tokens":%d}`,
		text+given, given, text, made, text+given+made)
}
