package endpoint

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/runpod"
)

func jobKind(t testing.TB, name string, s *Settings) Kind {
	t.Helper()
	k, ok := Lookup(name)
	if !ok {
		t.Fatalf("Lookup(%q) found nothing", name)
	}
	if k.Adapt != nil {
		k.Adapt(&k, s)
	}
	return k
}

func TestEncodeRunpod(t *testing.T) {
	hi := bench.Turn{Texts: []string{"Hi"}, MaxTokens: 7}
	mode := func(input string, streaming bool, extra string) *Settings {
		s := &Settings{Streaming: streaming, StreamUsage: true, Job: JobSettings{Input: input, Timeout: time.Hour}}
		if streaming {
			s.Job.Mode = runpod.ModeStream
		}
		if extra != "" {
			s.Extra = fields(t, extra)
		}
		return s
	}
	for _, tt := range []struct {
		name string
		req  Request
		want string
	}{
		{
			"minimal", Request{Turn: user("Hi"), Settings: mode("", false, "")},
			`{"input":{"messages":[{"role":"user","content":"Hi"}]}}`,
		},
		{
			"messages", Request{System: "S", Turn: hi, Settings: mode(runpod.InputMessages, true, `{"temperature":0.7}`)},
			`{"input":{"messages":[{"role":"system","content":"S"},{"role":"user","content":"Hi"}],"sampling_params":{"max_tokens":7,"temperature":0.7},"stream":true}}`,
		},
		{
			"prompt", Request{System: "S", Turn: hi, Settings: mode(runpod.InputPrompt, false, `{"apply_chat_template":true}`)},
			`{"input":{"prompt":"S Hi","sampling_params":{"max_tokens":7},"apply_chat_template":true}}`,
		},
		{
			"openai", Request{Turn: hi, Settings: mode(runpod.InputOpenAI, true, `{"temperature":0.7,"sampling_params":{"a":1}}`)},
			`{"input":{"openai_route":"/v1/chat/completions","openai_input":{"model":"M","messages":[{"role":"user","content":"Hi"}],"stream":true,` +
				`"max_completion_tokens":7,"stream_options":{"include_usage":true},"temperature":0.7,"sampling_params":{"a":1}}}}`,
		},
		{
			"route", Request{Turn: hi, Settings: mode(runpod.InputRoute, false, `{"stop":["x"]}`)},
			`{"input":{"route":"/v1/completions","method":"POST","body":{"model":"M","prompt":"Hi","stream":false,"max_tokens":7,"stop":["x"]}}}`,
		},
		{
			"everything that users may add has its place",
			Request{Turn: bench.Turn{Texts: []string{"Hi"}, MaxTokens: 7, ExtraBody: []byte(`{"top_p":0.5,"input":{"sampling_params":{"seed":18446744073709551615}}}`)}, Settings: mode("", false,
				`{"webhook":"https://w","policy":{"ttl":1000,"executionTimeout":2000},"s3Config":{"bucketName":"b"},"max_batch_size":8,"min_batch_size":2,`+
					`"batch_size_growth_factor":2,"use_openai_format":true,"guided_options_request":{"guided_choice":["a"]},`+
					`"input":{"extra":null,"sampling_params":{"top_k":5}},"sampling_params":{"max_tokens":3},"top_p":0.9}`)},
			`{"input":{"messages":[{"role":"user","content":"Hi"}],"sampling_params":{"max_tokens":3,"top_p":0.5,"top_k":5,"seed":18446744073709551615},` +
				`"max_batch_size":8,"min_batch_size":2,"batch_size_growth_factor":2,"use_openai_format":true,"guided_options_request":{"guided_choice":["a"]},"extra":null},` +
				`"webhook":"https://w","policy":{"ttl":1000,"executionTimeout":2000},"s3Config":{"bucketName":"b"}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := jobKind(t, "runpod", tt.req.Settings)
			tt.req.Model = "M"
			got, err := k.Body([]byte("before "), &tt.req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("before "+tt.want, string(got)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEncodeRunpodErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    Settings
		turn bench.Turn
		want string
	}{
		{"sampling_params is a text", Settings{Extra: fields(t, `{"sampling_params":"x"}`)}, user("a"), `sampling_params is "x"; it must be an object`},
		{"input is a list", Settings{Extra: fields(t, `{"input":[1]}`)}, user("a"), `input is [1]; it must be an object`},
		{"an image in a prompt", Settings{Job: JobSettings{Input: runpod.InputPrompt}}, bench.Turn{Images: []bench.Media{{URL: "http://x"}}}, "runpod input prompt takes text only"},
		{"too large", Settings{Job: JobSettings{Mode: runpod.ModeAsync}}, user(strings.Repeat("x", largestRun)), "Runpod takes at most 10485760 on /run"},
		{"too large to wait for", Settings{}, user(strings.Repeat("x", largestRunNow)), "Runpod takes at most 20971520 on /runsync"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, _ := Lookup("runpod")
			if got, err := k.Body(nil, &Request{Turn: tt.turn, Settings: &tt.s}); err == nil || !strings.Contains(err.Error(), tt.want) || len(got) > 0 {
				t.Errorf("error = %v, %d bytes; want %s", err, len(got), tt.want)
			}
		})
	}
}

func TestEncodeVideo(t *testing.T) {
	turn := bench.Turn{Texts: []string{"a cat"}, Images: []bench.Media{{MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}}}
	s := &Settings{Extra: fields(t, `{"size":"720x1280","seconds":"8","fps":24,"negative_prompt":null}`)}
	r := &Request{Model: "M", Turn: turn, Settings: s}
	k := jobKind(t, "video_generation", s)
	if k.ContentType != "multipart/form-data; boundary="+formBoundary {
		t.Errorf("content type = %q", k.ContentType)
	}
	const part = "--" + formBoundary + "\r\nContent-Disposition: form-data; name="
	want := part + "\"prompt\"\r\n\r\na cat\r\n" + part + "\"model\"\r\n\r\nM\r\n" + part + "\"size\"\r\n\r\n720x1280\r\n" +
		part + "\"seconds\"\r\n\r\n8\r\n" + part + "\"fps\"\r\n\r\n24\r\n" +
		part + "\"input_reference\"; filename=\"image.png\"\r\nContent-Type: image/png\r\n\r\n\x89PNG\r\n\x1a\n\r\n--" + formBoundary + "--\r\n"
	got, err := k.Body(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("form (-want +got):\n%s", diff)
	}
	s.Job.JSON = true
	k = jobKind(t, "video_generation", s)
	if got, err = k.Body(nil, r); err != nil || k.ContentType != "" {
		t.Fatal(err, k.ContentType)
	}
	if diff := cmp.Diff(`{"prompt":"a cat","model":"M","size":"720x1280","seconds":"8","fps":24,"negative_prompt":null,"input_reference":"data:image/png;base64,iVBORw0KGgo="}`, string(got)); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
	r.Turn.Images = append(r.Turn.Images, turn.Images[0])
	if _, err := k.Body(nil, r); err == nil || !strings.Contains(err.Error(), "takes one image, not 2") {
		t.Errorf("two images: %v", err)
	}
}

// The paths of requests and of the polls that follow them.
func TestJobURLs(t *testing.T) {
	for _, tt := range []struct {
		kind, mode, base, path, submit, poll string
		timeout                              time.Duration
	}{
		{"runpod", "", "https://api.runpod.ai/v2/EID", "", "https://api.runpod.ai/v2/EID/runsync?wait=300000", "https://api.runpod.ai/v2/EID/status/j%2F1", time.Hour},
		{"runpod", "", "http://h/v2/EID?key=a%2Fb", "", "http://h/v2/EID/runsync?key=a%2Fb&wait=5000", "http://h/v2/EID/status/j%2F1?key=a%2Fb", 5 * time.Second},
		{"runpod", runpod.ModeAsync, "http://h/v2/EID/run", "", "http://h/v2/EID/run", "http://h/v2/EID/status/j%2F1", time.Hour},
		{"runpod", runpod.ModeAsync, "http://h/a%2Fb", "/x/run", "http://h/a%2Fb/x/run", "http://h/a%2Fb/x/status/j%2F1", time.Hour},
		{"video_generation", "", "http://h/v1", "", "http://h/v1/videos", "http://h/v1/videos/j%2F1", time.Hour},
		{"video_generation", "", "http://h?a=1&b=2", "", "http://h/v1/videos?a=1&b=2", "http://h/v1/videos/j%2F1?a=1&b=2", time.Hour},
	} {
		t.Run(tt.submit, func(t *testing.T) {
			s := &Settings{Job: JobSettings{Mode: tt.mode, Timeout: tt.timeout}}
			k := jobKind(t, tt.kind, s)
			var path *string
			if tt.path != "" {
				path = &tt.path
			}
			submit, err := JoinURL(tt.base, k, false, path, "m")
			if err != nil || submit != tt.submit {
				t.Fatalf("submit to %s, %v; want %s", submit, err, tt.submit)
			}
			u, err := url.Parse(submit)
			if err != nil {
				t.Fatal(err)
			}
			tracker := k.Track(s)
			c, more, _ := tracker.Take(jsonAnswer(`{"id":"j/1","status":"IN_PROGRESS"}`), 0)
			if got := k.URL(c, u).String(); !more || got != tt.poll {
				t.Errorf("poll %s, %v; want %s", got, more, tt.poll)
			}
			if c, ok := tracker.Cancel(); !ok || !strings.Contains(k.URL(c, u).String(), "j%2F1") {
				t.Errorf("cancel = %+v, %v", c, ok)
			}
		})
	}
}

// Answer is an answer to a poll that came at 1 s.
func jsonAnswer(body string) *bench.Response {
	return &bench.Response{Status: 200, Framing: bench.FramingJSON, Body: []byte(body), BodyAt: time.Second, EndAt: time.Second}
}

// An id that cannot be part of a path is not polled.
func TestHostileIDs(t *testing.T) {
	for _, id := range []string{`""`, `".."`, `"."`, `7`, `null`, `"` + strings.Repeat("x", longestJobID+1) + `"`} {
		for _, kind := range []string{"runpod", "video_generation"} {
			s := &Settings{Job: JobSettings{Mode: runpod.ModeAsync, Timeout: time.Hour}}
			k := jobKind(t, kind, s)
			tracker := k.Track(s)
			if c, more, _ := tracker.Take(jsonAnswer(`{"id":`+id+`,"status":"IN_PROGRESS"}`), 0); more {
				t.Errorf("%s with id %.20s: asks %+v", kind, id, c)
			}
			if _, ok := tracker.Cancel(); ok {
				t.Errorf("%s with id %.20s can be cancelled", kind, id)
			}
		}
	}
}

// Answers without news are not kept: polling for hours costs no memory.
func TestRepeatedAnswersAreNotKept(t *testing.T) {
	s := &Settings{Job: JobSettings{Mode: runpod.ModeAsync, Timeout: time.Hour}}
	k := jobKind(t, "runpod", s)
	tracker := k.Track(s)
	tracker.Take(jsonAnswer(`{"id":"j","status":"IN_QUEUE"}`), 0)
	for range 1000 {
		if _, more, _ := tracker.Take(jsonAnswer(`{"id":"j","status":"IN_PROGRESS","delayTime":5}`), 0); !more {
			t.Fatal("no more polls of a job that goes on")
		}
	}
	if n := tracker.Response().Events.Len(); n != 2 || tracker.Polls() != 1000 {
		t.Errorf("%d answers are kept of %d", n, tracker.Polls())
	}
}

func TestDecodeVideo(t *testing.T) {
	s := &Settings{Job: JobSettings{Timeout: time.Hour, Download: true}}
	k := jobKind(t, "video_generation", s)
	tracker := k.Track(s)
	at := func(d time.Duration, body string) *bench.Response {
		r := jsonAnswer(body)
		r.BodyAt, r.EndAt = d, d
		return r
	}
	tracker.Take(at(time.Second, `{"id":"v","object":"video","status":"queued","progress":0,"model":"sora"}`), 0)
	tracker.Take(at(2*time.Second, `{"id":"v","status":"processing","progress":10}`), 0)
	tracker.Take(at(3*time.Second, `{"id":"v","status":"processing","progress":60}`), 0)
	c, more, _ := tracker.Take(at(4*time.Second, `{"id":"v","status":"completed","progress":100,"inference_time_s":1.5,"peak_memory_mb":40960.5}`), 0)
	if !more || !c.Now || c.Path != "v/content" {
		t.Fatalf("call = %+v, %v", c, more)
	}
	video := &bench.Response{Status: 200, Framing: bench.FramingBinary, BodyAt: 6 * time.Second, EndAt: 6 * time.Second}
	if _, more, _ := tracker.Take(video, 12345); more {
		t.Fatal("more calls after the video was fetched")
	}
	want := bench.Answer{
		Chunks:      []bench.Chunk{{At: 4 * time.Second, Kind: bench.Video, Bytes: 12345, Read: 3}},
		ServerTimes: map[string]time.Duration{"inference_time_s": 1500 * time.Millisecond},
		Job:         &bench.Job{Started: 2 * time.Second, Fetched: 6 * time.Second, PeakMemory: 40960.5},
		ResponseID:  "v", Model: "sora",
	}
	if diff := cmp.Diff(want, k.Decode(tracker.Response(), false)); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if _, ok := tracker.Cancel(); ok {
		t.Error("a video that is done can be cancelled")
	}
}

// Answers to the submission that need no polls.
func TestDecodeVideoAtOnce(t *testing.T) {
	s := &Settings{Job: JobSettings{Timeout: time.Hour}}
	k := jobKind(t, "video_generation", s)
	for _, tt := range []struct {
		name  string
		resp  *bench.Response
		whole bool
		class bench.Class
	}{
		{"a finished object", jsonAnswer(`{"id":"v","status":"completed"}`), false, ""},
		{"the video itself", &bench.Response{
			Status: 200, Framing: bench.FramingBinary, BodyAt: time.Second, EndAt: time.Second,
			Pieces: []bench.Piece{{At: 1, Size: 100}, {At: 2, Size: 23}},
		}, true, ""},
		{"a page", &bench.Response{Status: 200, Framing: bench.FramingHTML, Body: []byte("<title>x</title>"), BodyAt: 1}, true, bench.UnexpectedContent},
		{"nothing", &bench.Response{Status: 204}, true, bench.EmptyResponse},
		{"no JSON", jsonAnswer(`{"id":`), true, bench.MalformedResponse},
		{"another object", jsonAnswer(`{"data":[]}`), false, bench.MalformedResponse},
		{"refused", &bench.Response{Status: 400, Framing: bench.FramingJSON, Body: []byte(`{"error":{"message":"no"}}`)}, true, bench.BadRequest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tracker := k.Track(s)
			_, more, whole := tracker.Take(tt.resp, 0)
			if more || whole != tt.whole {
				t.Fatalf("more = %v, whole = %v", more, whole)
			}
			resp := tracker.Response()
			if whole {
				resp = tt.resp
			}
			a := k.Decode(resp, false)
			if tt.resp.Framing == bench.FramingBinary && a.Chunks[0].Bytes != 123 {
				t.Errorf("%d bytes, want 123", a.Chunks[0].Bytes)
			}
			if tt.class == "" && (a.Failure != nil || len(a.Chunks) != 1 || a.Chunks[0].At != time.Second) {
				t.Errorf("answer = %+v, %v", a, a.Failure)
			}
			if tt.class != "" && (a.Failure == nil || a.Failure.Class != tt.class) {
				t.Errorf("failure = %v, want %s", a.Failure, tt.class)
			}
		})
	}
}

// A hostile server that puts out more than anybody can keep is left.
func TestJobIsBounded(t *testing.T) {
	s := &Settings{Streaming: true, Job: JobSettings{Mode: runpod.ModeStream, Timeout: time.Hour}}
	k := jobKind(t, "runpod", s)
	tracker := k.Track(s)
	tracker.Limit = 1 << 20
	tracker.Take(jsonAnswer(`{"id":"j","status":"IN_PROGRESS"}`), 0)
	resp := jsonAnswer(`{"status":"COMPLETED","stream":[{"output":"` + strings.Repeat("x", 128<<10) + `"}]}`)
	for n := 0; ; n++ {
		if _, more, _ := tracker.Take(resp, 0); !more {
			break
		}
		if n > 10 {
			t.Fatal("all of it is kept")
		}
	}
	if f := tracker.Response().Failure; f == nil || f.Class != bench.EventTooLarge || f.Step != bench.StepPoll {
		t.Errorf("failure = %v", f)
	}
}

// FuzzRunpod gives the answers of a job line by line; nothing may break, and what
// is returned as an answer must be consistent.
func FuzzRunpod(f *testing.F) {
	f.Add("{\"id\":\"j\",\"status\":\"IN_QUEUE\"}\n{\"status\":\"IN_PROGRESS\",\"stream\":[{\"output\":\"data: {\\\"choices\\\":[{\\\"delta\\\":{\\\"content\\\":\\\"a\\\"}}]}\\n\\n\"}]}\n{\"status\":\"COMPLETED\",\"stream\":[]}", true)
	f.Add("{\"id\":\"j\",\"status\":\"COMPLETED\",\"output\":[{\"choices\":[{\"tokens\":[\"a\"]}],\"usage\":{\"input\":1,\"output\":1}},{\"text\":[\"b\"],\"input_tokens\":1}],\"delayTime\":1e300}", false)
	f.Add("{\"id\":\"j\",\"status\":\"IN_QUEUE\"}\n[]\n[{\"output\":{\"error\":\"vLLM returned HTTP 400: {}\"}}]\n{\"status\":\"FAILED\",\"error\":\"{\\\"error_message\\\":\\\"x\\\"}\"}", true)
	f.Fuzz(func(t *testing.T, text string, streaming bool) { fuzzJob(t, "runpod", text, streaming) })
}

// FuzzVideo is FuzzRunpod for videos.
func FuzzVideo(f *testing.F) {
	f.Add("{\"id\":\"v\",\"status\":\"queued\",\"progress\":0}\n{\"status\":\"completed\",\"inference_time_s\":-1,\"peak_memory_mb\":1e308}")
	f.Add("{\"id\":\"v\",\"status\":\"failed\",\"error\":{\"code\":\"x\",\"message\":\"y\"}}")
	f.Fuzz(func(t *testing.T, text string) { fuzzJob(t, "video_generation", text, false) })
}

func fuzzJob(t *testing.T, kind, text string, streaming bool) {
	t.Helper()
	s := &Settings{Streaming: streaming, Job: JobSettings{Mode: runpod.ModeAsync, Timeout: time.Hour, Download: true}}
	if streaming {
		s.Job.Mode = runpod.ModeStream
	}
	k := jobKind(t, kind, s)
	tracker := k.Track(s)
	submit := &url.URL{Scheme: "http", Host: "h", Path: "/v2/E/run"}
	for i, line := range strings.Split(text, "\n") {
		r := jsonAnswer(line)
		r.BodyAt = time.Duration(i+1) * time.Millisecond
		c, more, _ := tracker.Take(r, bench.Bytes(len(line)))
		if !more {
			break
		}
		if u := k.URL(c, submit); u.Host != "h" || strings.Contains(u.EscapedPath(), "/../") || !strings.HasPrefix(u.EscapedPath(), "/v2/E/") {
			t.Fatalf("call goes to %s", u)
		}
	}
	a := k.Decode(tracker.Response(), streaming)
	if a.Failure == nil && len(a.Chunks) == 0 && a.Usage == nil {
		t.Errorf("neither a failure nor an answer: %+v", a)
	}
	for i := range a.Chunks {
		if i > 0 && a.Chunks[i].At < a.Chunks[i-1].At {
			t.Errorf("chunk %d is earlier than the one before it", i)
		}
	}
	for name, took := range a.ServerTimes {
		if took < 0 {
			t.Errorf("%s = %v", name, took)
		}
	}
}

// A worker that repeats its last answer is polled once more at once, then no faster than
// any other job.
func TestRunpodTerminalAnswersThatGoOn(t *testing.T) {
	s := &Settings{Streaming: true, Job: JobSettings{Mode: runpod.ModeStream}}
	k := jobKind(t, "runpod", s)
	tracker := k.Track(s)
	var got []bool
	for _, text := range []string{
		`{"id":"j","status":"IN_QUEUE"}`, `{"status":"IN_PROGRESS","stream":[{"output":"a"}]}`,
		`{"status":"COMPLETED","stream":[{"output":"b"}]}`, `{"status":"COMPLETED","stream":[{"output":"b"}]}`, `{"status":"COMPLETED","stream":[{"output":"b"}]}`,
	} {
		c, more, _ := tracker.Take(jsonAnswer(text), 0)
		if !more {
			t.Fatalf("nothing follows %s", text)
		}
		got = append(got, c.Now)
	}
	if want := []bool{false, false, true, false, false}; !slices.Equal(got, want) {
		t.Errorf("polled at once: %v, want %v", got, want)
	}
}
