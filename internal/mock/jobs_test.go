package mock

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/api/jobs"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// call performs a request without a body and returns status and body.
func (r *rig) call(method, path string) string {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.base+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	resp, err := r.client.Do(req)
	a := r.read(resp, err)
	if a.err != nil {
		r.t.Fatal(a.err)
	}
	return http.StatusText(a.status) + " " + a.body
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// textJobs is a server whose answers are five tokens: 100 ms to the first, 10 ms
// from each to the next.
func textJobs(t *testing.T, o options.Options) *rig {
	t.Helper()
	o.TTFT, o.ITL = random.ConstDelay(100*time.Millisecond), random.ConstDelay(10*time.Millisecond)
	return newRig(t, o)
}

const (
	tokensJob = `{"input":{"messages":[{"role":"user","content":"Hi"}],"sampling_params":{"max_tokens":5},"stream":true}}`
)

// id returns the id in an answer.
func id(t *testing.T, body string) string {
	t.Helper()
	_, rest, ok := strings.Cut(body, `"id":"`)
	id, _, ok2 := strings.Cut(rest, `"`)
	if !ok || !ok2 {
		t.Fatalf("no id in %s", body)
	}
	return id
}

func TestRunpodStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := textJobs(t, options.Options{Jobs: options.JobOptions{Workers: 1, ColdStart: random.ConstDelay(time.Second), Output: options.OutputTokens}})
		job := id(t, r.post("/v2/EP/run", tokensJob).body)
		second := id(t, r.post("/v2/EP/run", tokensJob).body)
		status := func(id string) string { return strings.ReplaceAll(r.call("GET", "/v2/EP/status/"+id), id, "ID") }
		same(t, "at once", status(job), `OK {"id":"ID","status":"IN_QUEUE"}`)
		time.Sleep(1050 * time.Millisecond)
		same(t, "after the cold start", status(job), `OK {"delayTime":1000,"id":"ID","status":"IN_PROGRESS"}`)
		same(t, "behind it", status(second), `OK {"id":"ID","status":"IN_QUEUE"}`)
		time.Sleep(100 * time.Millisecond)
		same(t, "done", status(job), `OK {"delayTime":1000,"executionTime":140,"workerId":"mock-0","id":"ID","status":"COMPLETED",`+
			`"output":[{"choices":[{"tokens":["A miller who counts only"]}],"usage":{"input":1,"output":5}}]}`)
		time.Sleep(130 * time.Millisecond)
		if got := status(second); !strings.Contains(got, `"delayTime":1140,"executionTime":140`) {
			t.Errorf("the second job: %s", got)
		}
		same(t, "health", r.call("GET", "/v2/EP/health"), `OK {"jobs":{"completed":2,"failed":0,"inProgress":0,"inQueue":0,"retried":0},`+
			`"workers":{"idle":1,"initializing":0,"ready":1,"running":0,"throttled":0,"unhealthy":0}}`)
		time.Sleep(31 * time.Minute)
		same(t, "expired", status(job), `Not Found {"error":"job not found"}`)
	})
}

func TestRunpodStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := textJobs(t, options.Options{Jobs: options.JobOptions{Output: options.OutputTokens}})
		job := id(t, r.post("/v2/EP/run", tokensJob).body)
		stream := func() string { return r.call("GET", "/v2/EP/stream/"+job) }
		same(t, "at once", stream(), `OK {"status":"IN_PROGRESS","stream":[]}`)
		time.Sleep(135 * time.Millisecond)
		same(t, "one and three tokens", stream(), `OK {"status":"IN_PROGRESS","stream":[`+
			`{"metrics":{},"output":{"choices":[{"tokens":["A"]}],"usage":{"input":1,"output":1}}},`+
			`{"metrics":{},"output":{"choices":[{"tokens":[" miller who counts"]}],"usage":{"input":1,"output":4}}}]}`)
		time.Sleep(time.Second)
		same(t, "the last", stream(), `OK {"status":"COMPLETED","stream":[`+
			`{"metrics":{},"output":{"choices":[{"tokens":[" only"]}],"usage":{"input":1,"output":5}}}]}`)
		same(t, "nothing more", stream(), `OK {"status":"COMPLETED","stream":[]}`)
	})
}

// The text of a stream is complete for every size of its pieces.
func TestRunpodFragments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := textJobs(t, options.Options{})
		job := id(t, r.post("/v2/EP/run", strings.Replace(tokensJob, "5", "20", 1)).body)
		time.Sleep(time.Second)
		got := r.call("GET", "/v2/EP/stream/"+job)
		if n := strings.Count(got, `"output":"`); n != 4 { // 1, 3, 9 and 7 tokens
			t.Errorf("%d items, want 4: %s", n, got)
		}
		if !strings.Contains(got, `data: [DONE]\n\n"}]}`) {
			t.Errorf("the stream does not end: %s", got)
		}
	})
}

func TestRunsync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := textJobs(t, options.Options{Jobs: options.JobOptions{Workers: 1}})
		const body = `{"input":{"openai_route":"/v1/chat/completions","openai_input":{"model":"m","max_tokens":2,"messages":[{"role":"user","content":"Hi"}]}}}`
		a := r.post("/v2/EP/runsync", body)
		if a.at != 110*time.Millisecond || !strings.Contains(a.body, `"message":{"role":"assistant","content":"A miller"}`) {
			t.Errorf("at %v: %s", a.at, a.body)
		}
		a = r.post("/v2/EP/runsync?wait=1000", strings.Replace(body, `"max_tokens":2`, `"max_tokens":200`, 1))
		if a.at != 1110*time.Millisecond || !strings.Contains(a.body, `"status":"IN_PROGRESS"`) {
			t.Errorf("at %v: %s", a.at, a.body)
		}
	})
}

func TestRunpodCancelAndRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails, err := options.ParseFault("job:fail,first=1")
		if err != nil {
			t.Fatal(err)
		}
		r := textJobs(t, options.Options{Faults: []options.Fault{fails}, Jobs: options.JobOptions{Workers: 1}})
		first, second := id(t, r.post("/v2/EP/run", tokensJob).body), id(t, r.post("/v2/EP/run", tokensJob).body)
		third := id(t, r.post("/v2/EP/run", tokensJob).body)
		time.Sleep(80 * time.Millisecond) // half of 140 ms
		if got := r.call("GET", "/v2/EP/status/"+first); !strings.Contains(got, `"status":"FAILED","error":"{\"error_type\"`) {
			t.Errorf("the first job: %s", got)
		}
		if got := r.call("POST", "/v2/EP/cancel/"+second); !strings.Contains(got, `"status":"CANCELLED"`) {
			t.Errorf("cancel: %s", got)
		}
		if got := r.call("POST", "/v2/EP/retry/"+first); !strings.Contains(got, `"status":"IN_QUEUE"`) {
			t.Errorf("retry: %s", got)
		}
		same(t, "retry of a job that runs", r.call("POST", "/v2/EP/retry/"+third), `Bad Request {"error":"only a job that failed or timed out can be retried"}`)
		same(t, "purge", r.call("POST", "/v2/EP/purge-queue"), `OK {"removed":1,"status":"completed"}`)
		time.Sleep(time.Second)
		if got := r.call("GET", "/v2/EP/status/"+third); !strings.Contains(got, `"delayTime":80,"executionTime":140`) {
			t.Errorf("the third job got the place of the second late: %s", got)
		}
		same(t, "purged", r.call("GET", "/v2/EP/status/"+first), `Not Found {"error":"job not found"}`)
		same(t, "nobody's", r.call("POST", "/v2/EP/cancel/x"), `Not Found {"error":"job not found"}`)
	})
}

func TestRunpodRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := textJobs(t, options.Options{MaxModelLen: 50})
		for _, tt := range []struct{ body, want string }{
			{`{}`, `{"error":"input is required"}`},
			{`{"input":{}}`, `{"error":"input needs messages, a prompt or a route"}`},
			{`{"input":{"route":"/x","body":{}}}`, `{"error":"route is \"/x\", accepted: /v1/chat/completions and /v1/completions"}`},
			{`{"input":{"prompt":"x","sampling_params":{"max_tokens":0}}}`, `{"error":"max_tokens must be at least 1, got 0."}`},
		} {
			if a := r.post("/v2/EP/run", tt.body); a.status != 400 || a.body != tt.want {
				t.Errorf("%s: %d %s, want %s", tt.body, a.status, a.body, tt.want)
			}
		}
		a := r.post("/v2/EP/runsync", `{"input":{"prompt":"x","sampling_params":{"max_tokens":60}}}`)
		if !strings.Contains(a.body, `"status":"COMPLETED","output":[{"error":"vLLM returned HTTP 400: {\"error\":{\"message\":\"This model's maximum context`) {
			t.Errorf("a prompt that is too long: %s", a.body)
		}
	})
}

// The OpenAI routes of any endpoint are served below its path.
func TestRunpodOpenAIRoutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := textJobs(t, options.Options{APIKey: "k"})
		a := r.post("/v2/any-id/openai/v1/chat/completions", `{"model":"m","max_tokens":2,"messages":[{"role":"user","content":"Hi"}]}`, "Authorization", "Bearer k")
		if a.status != 200 || !strings.Contains(a.body, `"content":"A miller"`) {
			t.Errorf("%d %s", a.status, a.body)
		}
		if a := r.post("/v2/any-id/run", tokensJob); a.status != 401 {
			t.Errorf("without a key: %d", a.status)
		}
	})
}

func TestVideos(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{})
		a := r.post("/v1/videos", `{"prompt":"a cat","model":"m","seconds":8,"size":"720x1280"}`)
		video := id(t, a.body)
		now := func() string {
			body := strings.ReplaceAll(r.call("GET", "/v1/videos/"+video), video, "ID")
			return strings.ReplaceAll(body, `"created_at":946684800,`, "")
		}
		same(t, "at once", now(), `OK {"id":"ID","object":"video","status":"in_progress","progress":0,"model":"m","size":"720x1280","seconds":"8"}`)
		time.Sleep(time.Second)
		same(t, "in the middle", now(), `OK {"id":"ID","object":"video","status":"in_progress","progress":50,"model":"m","size":"720x1280","seconds":"8"}`)
		if got := r.call("GET", "/v1/videos/"+video+"/content"); !strings.HasPrefix(got, "Conflict ") {
			t.Errorf("content before it is done: %.100s", got)
		}
		time.Sleep(time.Second)
		same(t, "done", now(), `OK {"id":"ID","object":"video","status":"completed","progress":100,"model":"m","size":"720x1280","seconds":"8",`+
			`"completed_at":946684802,"inference_time_s":2,"peak_memory_mb":21846}`)
		if got := r.get("/v1/videos/" + video + "/content"); len(got.body) != jobs.VideoSize || got.header.Get("Content-Type") != "video/mp4" {
			t.Errorf("content: %d bytes of %s", len(got.body), got.header.Get("Content-Type"))
		}
		same(t, "delete", strings.ReplaceAll(r.call("DELETE", "/v1/videos/"+video), video, "ID"), `OK {"id":"ID","object":"video.deleted","deleted":true}`)
		if got := r.call("GET", "/v1/videos/"+video); !strings.HasPrefix(got, "Not Found ") {
			t.Errorf("deleted: %s", got)
		}
	})
}

func TestVideoForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{})
		const body = "--b\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\na dog\r\n" +
			"--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n" +
			"--b\r\nContent-Disposition: form-data; name=\"input_reference\"; filename=\"image.png\"\r\nContent-Type: image/png\r\n\r\nPNG\r\n--b--\r\n"
		a := r.post("/v1/videos", body, "Content-Type", "multipart/form-data; boundary=b")
		if a.status != 200 || !strings.Contains(a.body, `"model":"m"`) {
			t.Errorf("%d %s", a.status, a.body)
		}
		if record := r.lastTruth(); record.PromptTokens != 2+api.MediaTokens {
			t.Errorf("truth = %+v", record)
		}
		if a := r.post("/v1/videos", body[:60], "Content-Type", "multipart/form-data; boundary=b"); a.status != 400 {
			t.Errorf("half a form: %d %s", a.status, a.body)
		}
		if a := r.post("/v1/videos", `{"model":"m"}`); a.status != 400 || !strings.Contains(a.body, `"param":"prompt"`) {
			t.Errorf("no prompt: %d %s", a.status, a.body)
		}
	})
}

func TestJobFaults(t *testing.T) {
	for _, tt := range []struct{ fault, want string }{
		{"job:fail", `"status":"failed","progress":0,"model":"m","size":"1280x720","seconds":"4","error":{"code":"internal_error"`},
		{"job:time_out", `"error":{"code":"timeout"`},
		{"job:never_finish", `"status":"in_progress","progress":0`},
		{"job:stuck_progress", `"status":"in_progress","progress":42`},
		{"job:expire", `Not Found`},
	} {
		t.Run(tt.fault, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, err := options.ParseFault(tt.fault)
				if err != nil {
					t.Fatal(err)
				}
				r := newRig(t, options.Options{Faults: []options.Fault{f}})
				video := id(t, r.post("/v1/videos", `{"prompt":"a","model":"m"}`).body)
				time.Sleep(3 * time.Second)
				if got := r.call("GET", "/v1/videos/"+video); !strings.Contains(got, tt.want) {
					t.Errorf("%s, want %s", got, tt.want)
				}
				if record := r.server.Truth(); len(record) != 1 || record[0].Outcome != api.OutcomeFault+tt.fault {
					t.Errorf("truth = %+v", record)
				}
			})
		})
	}
	if _, err := options.ParseFault("job:explode"); err == nil || !strings.Contains(err.Error(), "job wants one of fail, time_out") {
		t.Errorf("ParseFault(job:explode): %v", err)
	}
}
