package endpoint

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// videoGeneration is OpenAI's API for videos, as SGLang serves it too (OpenAI API
// reference, "Create video").
func videoGeneration() Kind {
	return Kind{
		Name: "video_generation",
		Path: "/v1/videos", Title: "Video Generation Metrics",
		Caps:   bench.Caps{TokenizesInput: true, Images: true, ProducesVideo: true, Jobs: true},
		Encode: encodeVideo, Adapt: adaptVideo,
		Decode: decodeJob(&grammar{dialect: newVideo}, newVideoJob),
		Job:    &Job{poller: func() poller { return pollerFunc(nextVideo) }, cancel: cancelVideo, pause: pauseVideo},
	}
}

// pauseVideo is AIPerf's interval.
func pauseVideo(_, _ time.Duration) time.Duration { return 100 * time.Millisecond }

func cancelVideo(id string) Call {
	return Call{Method: http.MethodDelete, path: url.PathEscape(id), Now: true}
}

// videoState reads the status of a video.
func videoState(v *fastjson.Value) jobState {
	switch strings.ToLower(string(str(v))) {
	case "queued", "pending":
		return jobQueued
	case "in_progress", "processing", "running":
		return jobRunning
	case "completed", "succeeded":
		return jobDone
	case "failed", "error", "expired":
		return jobFailed
	case "cancelled", "canceled":
		return jobCancelled
	}
	return jobUnknown
}

// nextVideo says what follows an answer.
func nextVideo(t *Tracker, v *fastjson.Value) step {
	s := step{state: videoState(v.Get("status"))}
	if t.id == "" {
		id, ok := jobID(v)
		if !ok && !s.state.over() {
			return s
		}
		t.id = id
	}
	if progress := v.Get("progress"); progress != nil {
		s.news = string(progress.MarshalTo(nil))
	}
	switch {
	case s.state == jobDone && t.settings.Download && t.id != "":
		s.call = &Call{Method: http.MethodGet, path: url.PathEscape(t.id) + "/content", Now: true, Binary: true}
	case s.state.over(), s.state == jobUnknown && len(str(v.Get("status"))) == 0:
	default:
		s.call = &Call{Method: http.MethodGet, path: url.PathEscape(t.id)}
	}
	return s
}

// videoJobDialect reads answers about a video.
type videoJobDialect struct{ *jobDecoder }

func newVideoJob(j *jobDecoder) jobDialect { return videoJobDialect{j} }

func (d videoJobDialect) jobAnswer(v *fastjson.Value) {
	state := videoState(v.Get("status"))
	if state == jobUnknown && len(str(v.Get("status"))) > 0 && d.state == jobUnknown {
		state = jobRunning // an unknown state
	}
	d.identify(v)
	d.stateIs(state)
	d.failedWith(v.Get("error"))
	d.times.value("inference_time_s", v.Get("inference_time_s"), time.Second)
	if memory := v.Get("peak_memory_mb"); memory != nil && memory.Type() == fastjson.TypeNumber {
		d.job.PeakMemory = max(0, memory.GetFloat64())
	}
}

// jobDone records the video as content: its time is that of the answer that reports
// it as done, its size is known if it was downloaded.
func (d videoJobDialect) jobDone() {
	d.at, d.read = d.now, d.poll
	d.item(bench.Video, d.fetched)
}

// videoDialect reads a video that is the answer to the request. There are no
// documents inside the answers about a job.
type videoDialect struct{ *builder }

func newVideo(b *builder) dialect { return videoDialect{b} }

func (d videoDialect) reset() {}

func (d videoDialect) document(*document) bool { return false }

func (d videoDialect) binary(resp *bench.Response) {
	size := 0
	for _, p := range resp.Pieces {
		size += int(p.Size)
	}
	d.item(bench.Video, size)
}

// videoFields returns what a body says, in order, but for the image to begin
// with.
func videoFields(r *Request) ([]Field, error) {
	if len(r.Turn.Images) > 1 {
		return nil, fmt.Errorf("a request for a video takes one image, not %d", len(r.Turn.Images))
	}
	return mergeExtra([]Field{textField("prompt", joinTexts(r)), modelField(r)}, r)
}

// encodeVideo writes the body as JSON.
func encodeVideo(dst []byte, r *Request) ([]byte, error) {
	fields, err := videoFields(r)
	if err != nil {
		return dst, err
	}
	for i := range r.Turn.Images {
		fields = setField(fields, "input_reference", appendMediaURL(nil, &r.Turn.Images[i]))
	}
	return appendObject(dst, fields), nil
}

// adaptVideo makes bodies forms, unless JSON is asked for: OpenAI takes forms,
// other servers both or JSON alone.
func adaptVideo(k *Kind, s *Settings) {
	if !s.Job.JSON {
		k.ContentType, k.Encode = formType, encodeVideoForm
	}
}

// encodeVideoForm writes the body as a form, the image last.
func encodeVideoForm(dst []byte, r *Request) ([]byte, error) {
	fields, err := videoFields(r)
	if err != nil {
		return dst, err
	}
	f := form{dst: dst}
	f.fields(fields)
	for i := range r.Turn.Images {
		m := &r.Turn.Images[i]
		if m.URL != "" {
			f.text("input_reference", m.URL)
			continue
		}
		filename, mime, err := imageFile("image", m)
		if err != nil {
			return dst, err
		}
		f.file("input_reference", filename, mime, m.Data)
	}
	return f.end()
}
