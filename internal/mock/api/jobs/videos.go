package jobs

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// Videos is OpenAI's API for videos: POST /v1/videos.
type Videos struct{ queue *Queue }

// NewVideos returns the API for videos whose jobs wait in queue.
func NewVideos(queue *Queue) *Videos { return &Videos{queue} }

// Submission returns the protocol of POST /v1/videos.
func (v *Videos) Submission() *Protocol {
	return &Protocol{Queue: v.queue, Plan: planVideo, Protocol: api.Protocol{
		Read: readVideo, Document: v.queue.document(newVideo),
	}}
}

// videoJob is the state of a video.
type videoJob struct {
	model, size, seconds string
	stuck                bool
	hash                 uint32 // of the request
}

// videoOf returns the video of a job.
func videoOf(j *Job) *videoJob {
	v, _ := j.Payload.(*videoJob)
	return v
}

// videoRequest is a request for a video.
type videoRequest struct{ prompt, model, size, seconds, reference string }

// readVideo parses a form or a JSON object.
func readVideo(m *api.Model, r *http.Request, body []byte) (*api.Request, *api.Error) {
	v := &videoRequest{}
	var refusal *api.Error
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		refusal = v.readForm(api.ReadForm(r, body))
	} else {
		refusal = m.ParseJSON(body, v.readJSON)
	}
	if refusal == nil && v.prompt == "" {
		refusal = api.BadRequest("prompt", "Input should be a valid string: prompt")
	}
	p := api.Prompt{Tokens: m.Options.Tokenizer.Count(v.prompt), Hash: random.Hash(0, []byte(v.prompt))}
	if v.reference != "" {
		p.Tokens += api.MediaTokens
		p.Hash = random.Hash(p.Hash, []byte(v.reference))
	}
	q := &api.Request{Model: v.model, N: 1, NoOutput: true, Prompts: []api.Prompt{p}}
	if refusal == nil {
		refusal = m.CheckRequest(q)
	}
	size, seconds := cmp.Or(v.size, "1280x720"), cmp.Or(v.seconds, "4")
	q.Payload = &videoJob{model: q.Model, size: size, seconds: seconds, hash: p.Hash}
	return q, refusal
}

func (v *videoRequest) fields() map[string]*string {
	return map[string]*string{
		"prompt": &v.prompt, "model": &v.model, "size": &v.size, "seconds": &v.seconds, "input_reference": &v.reference,
	}
}

func (v *videoRequest) readJSON(f *api.Fields) {
	for name, to := range v.fields() {
		if value, ok := f.Get(name); ok && name == "seconds" && value.Type() == fastjson.TypeNumber {
			*to = string(value.MarshalTo(nil))
		} else {
			*to = f.Text(name)
		}
	}
}

func (v *videoRequest) readForm(f *api.Form) *api.Error {
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

// planVideo draws how long the video takes.
func planVideo(x *api.Answer, j *Job) {
	video := api.PayloadOf[*videoJob](x)
	j.Payload, j.Needs = video, x.Options.Jobs.Time.Draw(x.Rand)
	video.stuck = x.JobFault == options.JobStuckProgress
}

// stuckAt is the progress, in percent, at which a stuck video stops.
const stuckAt = 42

// video is the object of a video.
type video struct {
	ID            string      `json:"id"`
	Object        string      `json:"object"`
	CreatedAt     int64       `json:"created_at"`
	Status        string      `json:"status"`
	Progress      int         `json:"progress"`
	Model         string      `json:"model"`
	Size          string      `json:"size"`
	Seconds       string      `json:"seconds"`
	CompletedAt   int64       `json:"completed_at,omitempty"`
	InferenceTime *float64    `json:"inference_time_s,omitempty"`
	PeakMemory    uint32      `json:"peak_memory_mb,omitempty"`
	Error         *videoError `json:"error,omitempty"`
}

type videoError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// newVideo returns the object of a video at a time.
func newVideo(j *Job, s State, now int64) any {
	own := videoOf(j)
	v := &video{
		ID: j.ID, Object: "video", CreatedAt: j.Submitted / int64(time.Second),
		Status: [...]string{"queued", "in_progress", "completed", "failed", "cancelled", "failed"}[s],
		Model:  own.model, Size: own.size, Seconds: own.seconds,
	}
	switch s {
	case Running:
		if own.stuck {
			v.Progress = stuckAt
		} else if j.Needs != Never {
			v.Progress = int(100 * (now - j.Started) / max(1, int64(j.Needs)))
		}
	case Done:
		took := time.Duration(j.Ended - j.Started).Seconds()
		v.Progress, v.CompletedAt = 100, j.Ended/int64(time.Second)
		v.InferenceTime, v.PeakMemory = &took, 20_000+own.hash%4096
	case Failed:
		v.Error = &videoError{"internal_error", "The engine died while the video was being made."}
	case TimedOut:
		v.Error = &videoError{"timeout", "The video took too long."}
	case Queued, Cancelled:
	}
	return v
}

// find calls see with the video that the path of a request names, or refuses the request.
func (v *Videos) find(
	m *api.Model, w http.ResponseWriter, r *http.Request, see func(j *Job, s State, now int64),
) (ok bool) {
	now := m.Now()
	if ok = v.queue.Look(chi.URLParam(r, "id"), now, func(j *Job, s State) { see(j, s, now) }); !ok {
		noVideo(w, r)
	}
	return ok
}

// Serve handles GET /v1/videos/{id}.
func (v *Videos) Serve(m *api.Model, w http.ResponseWriter, r *http.Request) {
	var body []byte
	if v.find(m, w, r, func(j *Job, s State, now int64) { body = api.AppendJSON(nil, newVideo(j, s, now)) }) {
		api.Respond(w, http.StatusOK, body)
	}
}

func noVideo(w http.ResponseWriter, r *http.Request) {
	text := fmt.Sprintf("Video with id %q not found.", chi.URLParam(r, "id"))
	api.Refuse(w, api.NewError(http.StatusNotFound, text, ""))
}

// ServeDelete handles DELETE /v1/videos/{id}, which also cancels the work.
func (v *Videos) ServeDelete(m *api.Model, w http.ResponseWriter, r *http.Request) {
	id := chi.URLParam(r, "id")
	if !v.queue.Remove(id, m.Now()) {
		noVideo(w, r)
		return
	}
	api.OK(w, struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Deleted bool   `json:"deleted"`
	}{id, "video.deleted", true})
}

// VideoSize is the length of every video, in bytes.
const VideoSize = 64 << 10

// ServeContent handles GET /v1/videos/{id}/content. The file has the beginning of an
// MP4 file, followed by noise.
func (v *Videos) ServeContent(m *api.Model, w http.ResponseWriter, r *http.Request) {
	state, hash := Queued, uint32(0)
	if !v.find(m, w, r, func(j *Job, s State, _ int64) { state, hash = s, videoOf(j).hash }) {
		return
	}
	if state != Done {
		api.Refuse(w, api.NewError(http.StatusConflict, "The video is not ready.", ""))
		return
	}
	file := append(make([]byte, 0, VideoSize), "\x00\x00\x00\x14ftypisom\x00\x00\x02\x00mp41"...)
	for n := uint64(0); len(file) < VideoSize; n++ {
		file = append(file, byte(random.Mix(uint64(hash), n)))
	}
	w.Header().Set("Content-Type", "video/mp4")
	w.Header().Set("Content-Length", strconv.Itoa(len(file)))
	_, _ = w.Write(file) // the error is that of the connection
}
