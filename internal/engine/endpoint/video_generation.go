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
		Caps:   Caps{TokenizesInput: true, Images: true, ProducesVideo: true},
		Encode: encodeVideo, Adapt: adaptVideo,
		Decode: decodeJob(&jobReader{
			grammar: &grammar{read: readNothing, binary: readVideoBytes}, read: readVideo, finish: finishVideo,
		}),
		Job: &Job{next: nextVideo, cancel: cancelVideo, pause: pauseVideo},
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
	case s.state == jobDone && t.settings.Job.Download && t.id != "":
		s.call = &Call{Method: http.MethodGet, path: url.PathEscape(t.id) + "/content", Now: true, Binary: true}
	case s.state.over(), s.state == jobUnknown && len(str(v.Get("status"))) == 0:
	default:
		s.call = &Call{Method: http.MethodGet, path: url.PathEscape(t.id)}
	}
	return s
}

// readVideo takes one answer about a video.
func readVideo(j *jobDecoder, v *fastjson.Value) {
	state := videoState(v.Get("status"))
	if state == jobUnknown && len(str(v.Get("status"))) > 0 && j.state == jobUnknown {
		state = jobRunning // a state that nobody has heard of
	}
	keepFirst(&j.a.ResponseID, v.Get("id"))
	keepFirst(&j.a.Model, v.Get("model"))
	j.stateIs(state)
	if d := errorDetail(v.Get("error"), j.status); d.message != "" {
		j.why = d
	}
	j.tookValue("inference_time_s", v.Get("inference_time_s"), time.Second)
	if memory := v.Get("peak_memory_mb"); memory != nil && memory.Type() == fastjson.TypeNumber {
		j.job.PeakMemory = max(0, memory.GetFloat64())
	}
}

// finishVideo makes the video the content: its time is that of the answer that says
// it is done, its size is known if it was downloaded.
func finishVideo(j *jobDecoder) {
	j.at, j.read = j.now, j.poll
	j.item(bench.Video, j.size)
}

// readNothing is the grammar of answers that hold no documents.
func readNothing(*decoder, *document) bool { return false }

// readVideoBytes takes a video that came as the answer to the request.
func readVideoBytes(d *decoder, resp *bench.Response) {
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
