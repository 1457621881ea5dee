package mock

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jsonappend"
	"aiperfd/internal/mock/seed"
)

// imagesProtocol is POST /v1/images/generations and /v1/images/edits. Images are
// small and of one colour, which the request decides. The first one is there after
// the time of a first token; in a stream every preview, and then the image, takes
// the time of another token.
type imagesProtocol struct {
	edits   bool
	streams script
}

// painting is what is kept of a request for images.
type painting struct {
	width, height int
	partials      int  // previews of each image of a stream
	url           bool // images are named, not sent
}

var _ protocol = (*imagesProtocol)(nil)

func newImages(edits bool) *imagesProtocol {
	p := &imagesProtocol{edits: edits}
	p.streams = script{contentType: eventStream, content: p.content, fail: (*openAI)(nil).fail}
	return p
}

func (p *imagesProtocol) read(m *model, r *http.Request, body []byte) (*textRequest, *apierror.Error) {
	q, size, format := &textRequest{}, "", ""
	job, hash := &painting{width: maxSide, height: maxSide}, uint32(0)
	var said string
	var refusal *apierror.Error
	if p.edits {
		f := readForm(r, body)
		said, q.model, q.stream, q.n = f.need("prompt"), f.text("model"), f.boolean("stream"), f.integer("n", 1, 10, 1)
		size, format, job.partials = f.text("size"), f.text("response_format"), f.integer("partial_images", 0, 3, 0)
		hash = f.originals(job)
		refusal = f.err
	} else {
		refusal = m.parseJSON(body, func(f *fields) {
			if v := f.text("prompt"); v == "" {
				f.fail("prompt", "string")
			}
			said, q.model, q.stream = f.text("prompt"), f.text("model"), f.boolean("stream")
			q.n, job.partials = f.within("n", 1, 10, 1), f.within("partial_images", 0, 3, 0)
			size, format = f.text("size"), f.text("response_format")
		})
	}
	if refusal == nil {
		refusal = job.shape(size, format)
	}
	if refusal == nil {
		refusal = m.checkRequest(q)
	}
	q.prompts = []prompt{{tokens: m.opt.Tokenizer.Count(said), hash: seed.Hash(hash, []byte(said))}}
	q.payload = job
	if q.silent = !q.stream; q.stream {
		q.length = job.partials + 1
	}
	return q, refusal
}

// originals checks the images of an edit, which decide the size of the answer,
// and returns what stands for them.
func (f *formFields) originals(job *painting) (hash uint32) {
	if url := f.text("url"); url != "" {
		return seed.Hash(0, []byte(url))
	}
	for _, data := range f.needFiles("image", "image[]") {
		width, height, ok := pictureSize(data)
		if !ok {
			f.fail("image", "Invalid image file: PNG, JPEG, GIF and WebP are accepted.")
			return 0
		}
		if width > 0 {
			job.width, job.height = min(width, maxSide), min(height, maxSide)
		}
		hash = seed.Hash(hash, data)
	}
	return hash
}

// within returns a whole number of a range; other is for one that is not there.
func (f *fields) within(name string, low, high, other int) int {
	n, ok := f.integer(name)
	if !ok {
		return other
	}
	if (n < low || n > high) && f.err == nil {
		f.err = apierror.BadRequest(name, fmt.Sprintf("%s must be between %d and %d, got %d.", name, low, high, n))
	}
	return n
}

// shape reads size and format of the answer.
func (j *painting) shape(size, format string) *apierror.Error {
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

func (*imagesProtocol) reasons() bool { return false }

func (*imagesProtocol) refusal(dst []byte, e *apierror.Error) []byte { return apierror.Append(dst, e) }

func (p *imagesProtocol) script() *script { return &p.streams }

func paintingIn(x *answer) *painting {
	job, _ := x.q.payload.(*painting)
	return job
}

// picture returns the picture of a choice; stage counts down to 0, the finished one.
func (x *answer) picture(c *choice, stage int) picture {
	job := paintingIn(x)
	return picture{hash: x.q.prompts[0].hash + uint32(c.index), width: job.width, height: job.height, stage: stage}
}

func (p *imagesProtocol) document(dst []byte, x *answer) ([]byte, string) {
	dst = append(dst, `{"created":`...)
	dst = strconv.AppendInt(dst, x.truth.AcceptNs/1_000_000_000, 10)
	dst = append(dst, `,"data":[`...)
	for i := range x.choices {
		if i > 0 {
			dst = append(dst, ',')
		}
		one := x.picture(&x.choices[i], 0)
		if paintingIn(x).url {
			dst = append(jsonappend.String(append(dst, `{"url":`...), x.address(one)), '}')
			continue
		}
		dst = append(dst, `{"b64_json":"`...)
		dst = append(base64.StdEncoding.AppendEncode(dst, one.encode()), `"}`...)
	}
	job := paintingIn(x)
	dst = fmt.Appendf(dst, `],"background":"opaque","output_format":"png","quality":"low","size":"%dx%d",`, job.width, job.height)
	return append(p.appendUsage(dst, x, len(x.choices)), '}'), "application/json"
}

// address is where an image can be fetched from this server.
func (x *answer) address(p picture) string {
	scheme := "http"
	if x.r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + x.r.Host + x.opt.Prefix + "/mock/files/" + p.name()
}

// content adds previews and images.
func (p *imagesProtocol) content(e *events, c *choice, from, to int, _ bool) error {
	prefix := "image_generation"
	if p.edits {
		prefix = "image_edit"
	}
	job := paintingIn(e.x)
	for i := from; i < to; i++ {
		data := e.x.picture(c, c.total-1-i).encode()
		event := "completed"
		if i < c.total-1 {
			event = "partial_image"
		}
		e.b = fmt.Appendf(e.b, "event: %s.%s%sdata: {\"type\":\"%s.%s\",\"b64_json\":\"", prefix, event, e.eol, prefix, event)
		e.b = append(base64.StdEncoding.AppendEncode(e.b, data), '"')
		if i < c.total-1 {
			e.b = fmt.Appendf(e.b, `,"partial_image_index":%d`, i)
		}
		e.b = fmt.Appendf(e.b, `,"created_at":%d,"size":"%dx%d","quality":"low","background":"opaque","output_format":"png"`,
			e.x.truth.AcceptNs/1_000_000_000, job.width, job.height)
		if i == c.total-1 {
			e.b = p.appendUsage(append(e.b, ','), e.x, 1)
		}
		e.b = append(e.b, '}')
		if err := e.end(true); err != nil {
			return err
		}
	}
	return nil
}

// appendUsage appends the member "usage" for some pictures of an answer.
func (p *imagesProtocol) appendUsage(dst []byte, x *answer, count int) []byte {
	text, given, made := x.q.prompts[0].tokens, 0, count*mediaTokens
	if p.edits {
		given = mediaTokens
	}
	return fmt.Appendf(dst, `"usage":{"input_tokens":%d,"input_tokens_details":{"image_tokens":%d,"text_tokens":%d},"output_tokens":%d,"total_tokens":%d}`,
		text+given, given, text, made, text+given+made)
}
