package openai

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/codec"
	"aiperfd/internal/engine/endpoint/polling"
)

// VideoGeneration is OpenAI's API for videos, as SGLang serves it too (OpenAI API
// reference, "Create video").
func VideoGeneration() codec.Kind {
	return codec.Kind{
		Name: "video_generation",
		Path: "/v1/videos", Title: "Video Generation Metrics",
		Caps:   bench.Caps{TokenizesInput: true, Images: true, ProducesVideo: true, Jobs: true},
		Encode: encodeVideo, Adapt: adaptVideo,
		Decode: polling.Decode(&answer.Grammar{Dialect: newVideo}, newVideoJob),
		Job:    &polling.Job{Poller: func() polling.Poller { return polling.PollerFunc(nextVideo) }, Cancel: cancelVideo, Pause: pauseVideo},
	}
}

// pauseVideo is AIPerf's interval.
func pauseVideo(_, _ time.Duration) time.Duration { return 100 * time.Millisecond }

func cancelVideo(id string) polling.Call {
	return polling.Call{Method: http.MethodDelete, Path: url.PathEscape(id), Now: true}
}

// videoState reads the status of a video.
func videoState(v *fastjson.Value) polling.State {
	switch strings.ToLower(string(answer.Str(v))) {
	case "queued", "pending":
		return polling.Queued
	case "in_progress", "processing", "running":
		return polling.Running
	case "completed", "succeeded":
		return polling.Done
	case "failed", "error", "expired":
		return polling.Failed
	case "cancelled", "canceled":
		return polling.Cancelled
	}
	return polling.Unknown
}

// nextVideo returns the next step after an answer.
func nextVideo(t *polling.Tracker, v *fastjson.Value) polling.Step {
	s := polling.Step{State: videoState(v.Get("status"))}
	if !t.Identify(v, s.State) {
		return s
	}
	if progress := v.Get("progress"); progress != nil {
		s.News = string(progress.MarshalTo(nil))
	}
	switch {
	case s.State == polling.Done && t.Settings.Download && t.ID != "":
		s.Call = &polling.Call{Method: http.MethodGet, Path: url.PathEscape(t.ID) + "/content", Now: true, Binary: true}
	case s.State.Over(), s.State == polling.Unknown && len(answer.Str(v.Get("status"))) == 0:
	default:
		s.Call = &polling.Call{Method: http.MethodGet, Path: url.PathEscape(t.ID)}
	}
	return s
}

// videoJobDialect reads answers about a video.
type videoJobDialect struct{ *polling.Decoder }

func newVideoJob(j *polling.Decoder) polling.Dialect { return videoJobDialect{j} }

func (d videoJobDialect) JobAnswer(v *fastjson.Value) {
	state := videoState(v.Get("status"))
	if state == polling.Unknown && len(answer.Str(v.Get("status"))) > 0 && d.State == polling.Unknown {
		state = polling.Running // an unknown state
	}
	d.Identify(v)
	d.StateIs(state)
	d.FailedWith(v.Get("error"))
	d.Times.Value("inference_time_s", v.Get("inference_time_s"), time.Second)
	if memory := v.Get("peak_memory_mb"); memory != nil && memory.Type() == fastjson.TypeNumber {
		d.Job.PeakMemory = max(0, memory.GetFloat64())
	}
}

// JobDone records the video as content: its time is that of the answer that reports
// it as done, its size is known if it was downloaded.
func (d videoJobDialect) JobDone() {
	d.At, d.Read = d.Now, d.Poll
	d.Item(bench.Video, d.Fetched)
}

// videoDialect reads a video that is the answer to the request. There are no
// documents inside the answers about a job.
type videoDialect struct{ *answer.Builder }

func newVideo(b *answer.Builder) answer.Dialect { return videoDialect{b} }

func (d videoDialect) Reset() {}

func (d videoDialect) Document(*answer.Document) bool { return false }

func (d videoDialect) Binary(resp *bench.Response) {
	size := 0
	for _, p := range resp.Pieces {
		size += int(p.Size)
	}
	d.Item(bench.Video, size)
}

// videoFields returns the members of a body, in order, without the first image.
func videoFields(r *codec.Request) ([]codec.Field, error) {
	if len(r.Turn.Images) > 1 {
		return nil, fmt.Errorf("a request for a video takes one image, not %d", len(r.Turn.Images))
	}
	return codec.MergeExtra([]codec.Field{codec.TextField("prompt", codec.JoinTexts(r)), codec.ModelField(r)}, r)
}

// encodeVideo writes the body as JSON.
func encodeVideo(dst []byte, r *codec.Request) ([]byte, error) {
	fields, err := videoFields(r)
	if err != nil {
		return dst, err
	}
	for i := range r.Turn.Images {
		fields = codec.SetField(fields, "input_reference", codec.AppendMediaURL(nil, &r.Turn.Images[i]))
	}
	return codec.AppendObject(dst, fields), nil
}

// adaptVideo makes bodies forms, unless JSON is configured: OpenAI takes forms,
// other servers both or JSON alone.
func adaptVideo(k *codec.Kind, s *codec.Settings) {
	if !s.Job.JSON {
		k.ContentType, k.Encode = codec.FormType, encodeVideoForm
	}
}

// encodeVideoForm writes the body as a form, the image last.
func encodeVideoForm(dst []byte, r *codec.Request) ([]byte, error) {
	fields, err := videoFields(r)
	if err != nil {
		return dst, err
	}
	f := codec.Form{Dst: dst}
	f.Fields(fields)
	for i := range r.Turn.Images {
		m := &r.Turn.Images[i]
		if m.URL != "" {
			f.Text("input_reference", m.URL)
			continue
		}
		filename, mime, err := codec.ImageFile("image", m)
		if err != nil {
			return dst, err
		}
		f.File("input_reference", filename, mime, m.Data)
	}
	return f.End()
}
