package media

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/fault"
	"aiperfd/internal/mock/jobs"
	"aiperfd/internal/mock/jsonappend"
	"aiperfd/internal/mock/seed"
)

// Videos is OpenAI's API for videos: POST /v1/videos.
type Videos struct{ queue *jobs.Queue }

var _ api.JobProtocol = (*Videos)(nil)

// NewVideos returns the API for videos whose jobs wait in queue.
func NewVideos(queue *jobs.Queue) *Videos { return &Videos{queue} }

// Reasons implements api.Protocol.
func (*Videos) Reasons() bool { return false }

// Script implements api.Protocol.
func (*Videos) Script() *api.Script { return nil }

// Jobs implements api.JobProtocol.
func (v *Videos) Jobs() *jobs.Queue { return v.queue }

// Refusal implements api.Protocol.
func (*Videos) Refusal(dst []byte, e *apierror.Error) []byte { return apierror.Append(dst, e) }

// Wait implements api.JobProtocol.
func (*Videos) Wait(*http.Request) time.Duration { return 0 }

// videoJob is the state of a video.
type videoJob struct {
	model, size, seconds string
	stuck                bool
	hash                 uint32 // of the request
}

// videoOf returns the video of a job.
func videoOf(j *jobs.Job) *videoJob {
	v, _ := j.Payload.(*videoJob)
	return v
}

// videoRequest is a request for a video.
type videoRequest struct{ prompt, model, size, seconds, reference string }

// Read parses a form or a JSON object.
func (*Videos) Read(m *api.Model, r *http.Request, body []byte) (*api.Request, *apierror.Error) {
	v := &videoRequest{}
	var refusal *apierror.Error
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		refusal = v.readForm(api.ReadForm(r, body))
	} else {
		refusal = m.ParseJSON(body, v.readJSON)
	}
	if refusal == nil && v.prompt == "" {
		refusal = apierror.BadRequest("prompt", "Input should be a valid string: prompt")
	}
	p := api.Prompt{Tokens: m.Options.Tokenizer.Count(v.prompt), Hash: seed.Hash(0, []byte(v.prompt))}
	if v.reference != "" {
		p.Tokens += api.MediaTokens
		p.Hash = seed.Hash(p.Hash, []byte(v.reference))
	}
	q := &api.Request{Model: v.model, N: 1, NoOutput: true, Prompts: []api.Prompt{p}}
	if refusal == nil {
		refusal = m.CheckRequest(q)
	}
	q.Payload = &videoJob{model: q.Model, size: cmp.Or(v.size, "1280x720"), seconds: cmp.Or(v.seconds, "4"), hash: p.Hash}
	return q, refusal
}

func (v *videoRequest) fields() map[string]*string {
	return map[string]*string{
		"prompt": &v.prompt, "model": &v.model, "size": &v.size, "seconds": &v.seconds, "input_reference": &v.reference,
	}
}

func (v *videoRequest) readJSON(f *api.Fields) {
	for name, to := range v.fields() {
		value, ok := f.Get(name)
		switch {
		case !ok:
		case name == "seconds" && value.Type() == fastjson.TypeNumber:
			*to = string(value.MarshalTo(nil))
		default:
			*to = f.Text(name)
		}
	}
}

func (v *videoRequest) readForm(f *api.Form) *apierror.Error {
	for name, to := range v.fields() {
		*to = f.Text(name)
	}
	for _, file := range f.Files {
		if file.Name == "input_reference" {
			v.reference = string(file.Data)
		}
	}
	return f.Err
}

// Plan draws how long the video takes.
func (*Videos) Plan(x *api.Answer, j *jobs.Job) {
	video, _ := x.Request.Payload.(*videoJob)
	j.Payload, j.Needs = video, x.Options.Jobs.Time.Draw(x.Rand)
	video.stuck = x.JobFault == fault.JobStuckProgress
}

// Document implements api.Protocol.
func (v *Videos) Document(dst []byte, x *api.Answer) ([]byte, string) {
	j, _ := x.Request.Payload.(*jobs.Job)
	now := x.Now()
	v.queue.See(j, now, func(s jobs.State) { dst = appendVideo(dst, j, s, now) })
	return dst, "application/json"
}

// stuckAt is the progress, in percent, at which a stuck video stops.
const stuckAt = 42

// appendVideo appends the object of a video.
func appendVideo(dst []byte, j *jobs.Job, s jobs.State, now int64) []byte {
	video, progress := videoOf(j), 0
	switch {
	case s == jobs.Done:
		progress = 100
	case video.stuck && s == jobs.Running:
		progress = stuckAt
	case s == jobs.Running && j.Needs != jobs.Never:
		progress = int(100 * (now - j.Started) / max(1, int64(j.Needs)))
	}
	status := [...]string{"queued", "in_progress", "completed", "failed", "cancelled", "failed"}[s]
	dst = fmt.Appendf(dst, `{"id":"%s","object":"video","created_at":%d,"status":"%s","progress":%d,"model":`,
		j.ID, j.Submitted/int64(time.Second), status, progress)
	dst = jsonappend.String(dst, video.model)
	dst = jsonappend.String(append(dst, `,"size":`...), video.size)
	dst = jsonappend.String(append(dst, `,"seconds":`...), video.seconds)
	switch s {
	case jobs.Done:
		dst = fmt.Appendf(dst, `,"completed_at":%d,"inference_time_s":%s,"peak_memory_mb":%d`, j.Ended/int64(time.Second),
			strconv.FormatFloat((time.Duration(j.Ended-j.Started)).Seconds(), 'f', -1, 64), 20_000+video.hash%4096)
	case jobs.Failed:
		dst = append(dst, `,"error":{"code":"internal_error","message":"The engine died while the video was being made."}`...)
	case jobs.TimedOut:
		dst = append(dst, `,"error":{"code":"timeout","message":"The video took too long."}`...)
	case jobs.Queued, jobs.Running, jobs.Cancelled:
	}
	return append(dst, '}')
}

// Serve handles GET /v1/videos/{id}.
func (v *Videos) Serve(m *api.Model, w http.ResponseWriter, r *http.Request) {
	now := m.Now()
	var body []byte
	if !v.queue.Look(chi.URLParam(r, "id"), now, func(j *jobs.Job, state jobs.State) { body = appendVideo(nil, j, state, now) }) {
		noVideo(w, r)
		return
	}
	_ = apierror.WriteJSON(w, http.StatusOK, body)
}

func noVideo(w http.ResponseWriter, r *http.Request) {
	status := http.StatusNotFound
	_ = apierror.WriteJSON(w, status, apierror.Append(nil,
		apierror.New(status, fmt.Sprintf("Video with id %q not found.", chi.URLParam(r, "id")), "")))
}

// ServeDelete handles DELETE /v1/videos/{id}, which also cancels the work.
func (v *Videos) ServeDelete(m *api.Model, w http.ResponseWriter, r *http.Request) {
	id := chi.URLParam(r, "id")
	if !v.queue.Remove(id, m.Now()) {
		noVideo(w, r)
		return
	}
	body := jsonappend.String([]byte(`{"id":`), id)
	_ = apierror.WriteJSON(w, http.StatusOK, append(body, `,"object":"video.deleted","deleted":true}`...))
}

// VideoSize is the length of every video, in bytes.
const VideoSize = 64 << 10

// ServeContent handles GET /v1/videos/{id}/content. The file has the beginning of an
// MP4 file, followed by noise.
func (v *Videos) ServeContent(m *api.Model, w http.ResponseWriter, r *http.Request) {
	state, hash := jobs.Queued, uint32(0)
	if !v.queue.Look(chi.URLParam(r, "id"), m.Now(), func(j *jobs.Job, now jobs.State) { state, hash = now, videoOf(j).hash }) {
		noVideo(w, r)
		return
	}
	if state != jobs.Done {
		status := http.StatusConflict
		_ = apierror.WriteJSON(w, status, apierror.Append(nil, apierror.New(status, "The video is not ready.", "")))
		return
	}
	var video strings.Builder
	video.Grow(VideoSize)
	video.WriteString("\x00\x00\x00\x14ftypisom\x00\x00\x02\x00mp41")
	for n := uint64(0); video.Len() < VideoSize; n++ {
		video.WriteByte(byte(seed.Mix(uint64(hash), n)))
	}
	w.Header().Set("Content-Type", "video/mp4")
	w.Header().Set("Content-Length", strconv.Itoa(video.Len()))
	_, _ = io.WriteString(w, video.String()) // the error is that of the connection
}
