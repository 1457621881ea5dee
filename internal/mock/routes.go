package mock

import (
	"crypto/subtle"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/api/jobs"
	"aiperfd/internal/mock/api/media"
	"aiperfd/internal/mock/api/text"
	"aiperfd/internal/mock/api/vectors"
	"aiperfd/internal/mock/options"
)

// route is one row of the table of routes.
type route struct {
	method, pattern string
	guarded         bool // requires the API key, and readiness
	serve           handler
}

// routes is the table of routes, in the order of the documentation.
type routes []route

func (t *routes) add(method string, guarded bool, h handler, patterns []string) {
	for _, pattern := range patterns {
		*t = append(*t, route{method, pattern, guarded, h})
	}
}

// post adds guarded routes for POST, get adds such for GET, and open adds routes for everyone.
func (t *routes) post(h handler, patterns ...string) { t.add(http.MethodPost, true, h, patterns) }
func (t *routes) get(h handler, patterns ...string)  { t.add(http.MethodGet, true, h, patterns) }
func (t *routes) open(method string, h handler, patterns ...string) {
	t.add(method, false, h, patterns)
}

// run adds routes that run a model.
func (t *routes) run(p *api.Protocol, patterns ...string) { t.post(inference(p), patterns...) }

// newRoutes returns the routes of the server.
func newRoutes(s *Server) routes {
	const runpodSalt, videoSalt = 1, 2
	var t routes
	t.addTexts()
	t.addVectors()
	t.addMedia(jobs.NewVideos(newQueue(s, videoSalt)))
	t.addRunpod(jobs.NewRunpod(newQueue(s, runpodSalt)))
	t.addServer()
	return t
}

// newQueue returns a queue of jobs. The delays of its workers depend on salt.
func newQueue(s *Server, salt uint64) *jobs.Queue {
	rng := rand.New(rand.NewPCG(s.opt.Seed, salt))
	return jobs.NewQueue(s.opt.Jobs.Workers, s.now, func() time.Duration { return s.opt.Jobs.ColdStart.Draw(rng) })
}

// handler handles the requests of one route.
type handler func(*Server, http.ResponseWriter, *http.Request)

// about returns the handler of a route that responds with properties of the model.
func about(serve func(*api.Model, http.ResponseWriter, *http.Request)) handler {
	return func(s *Server, w http.ResponseWriter, r *http.Request) { serve(s.model, w, r) }
}

// command returns the handler of a route that changes the server and has no body.
func command(change func(*Server)) handler {
	return func(s *Server, w http.ResponseWriter, _ *http.Request) {
		change(s)
		w.WriteHeader(http.StatusOK)
	}
}

// addTexts adds the APIs for text: those of OpenAI and Anthropic, and the native ones of other
// servers.
func (t *routes) addTexts() {
	responses := text.NewResponses()
	t.run(text.NewChat(), "/v1/chat/completions")
	t.run(text.NewCompletions(), "/v1/completions")
	t.run(responses.Protocol(), "/v1/responses")
	t.get(about(responses.Serve), "/v1/responses/{id}")
	t.run(text.NewMessages(), "/v1/messages")
	t.post(about(text.ServeCountTokens), "/v1/messages/count_tokens")
	t.run(text.NewTGI(text.TGIAsked), "/")
	t.run(text.NewGenerate(), "/generate")
	t.run(text.NewTGI(text.TGIAlways), "/generate_stream")
	t.get(about(text.ServeTGIInfo), "/info")
	t.run(text.NewOllama(true), "/api/chat")
	t.run(text.NewOllama(false), "/api/generate")
	t.get(about(text.ServeOllamaModels), "/api/tags", "/api/ps")
	t.open(http.MethodGet, serveVersion, "/api/version")
	t.open(http.MethodGet, about(text.ServeTritonReady), "/v2/health/live", "/v2/health/ready", "/v2/models/{model}/ready")
	t.get(about(text.ServeTritonModel), "/v2/models/{model}")
	t.run(text.NewInvocations(false), "/invocations", "/endpoints/{name}/invocations")
	t.run(text.NewInvocations(true), "/invocations-response-stream", "/endpoints/{name}/invocations-response-stream")
	for _, model := range []string{"/v2/models/{model}", "/v2/models/{model}/versions/{version}"} {
		t.run(text.NewTriton(false), model+"/generate")
		t.run(text.NewTriton(true), model+"/generate_stream")
		t.run(text.NewInfer(), model+"/infer")
	}
}

// addVectors adds the APIs for vectors, scores and tokens.
func (t *routes) addVectors() {
	t.run(vectors.NewEmbeddings(), "/v1/embeddings")
	t.run(vectors.NewPooling(), "/pooling")
	t.run(vectors.NewScore(), "/score", "/v1/score")
	t.run(vectors.NewRerank(), "/rerank", "/v1/rerank", "/v2/rerank")
	t.run(vectors.NewClassify(), "/classify", "/v1/classify")
	t.run(vectors.NewTokenize(), "/tokenize", "/v1/tokenize")
	t.run(vectors.NewDetokenize(), "/detokenize", "/v1/detokenize")
	t.run(vectors.NewNIMRanking(), "/v1/ranking")
	t.run(vectors.NewInfer(), "/v1/infer")
	t.run(vectors.NewTEI(vectors.TEIVector), "/embed")
	t.run(vectors.NewTEI(vectors.TEIRows), "/embed_all")
	t.run(vectors.NewTEI(vectors.TEISparse), "/embed_sparse")
	t.run(vectors.NewTEIPredict(), "/predict")
	t.run(vectors.NewTEISimilarity(), "/similarity")
	t.run(vectors.NewTEIDecode(), "/decode")
	t.run(vectors.NewOllamaEmbed(false), "/api/embed")
	t.run(vectors.NewOllamaEmbed(true), "/api/embeddings")
}

// addMedia adds the APIs for audio, images and videos.
func (t *routes) addMedia(videos *jobs.Videos) {
	t.run(media.NewTranscription("transcribe", "transcription.chunk"), "/v1/audio/transcriptions")
	t.run(media.NewTranscription("translate", "translation.chunk"), "/v1/audio/translations")
	t.run(media.NewSpeech(), "/v1/audio/speech")
	t.run(media.NewImages(false), "/v1/images/generations")
	t.run(media.NewImages(true), "/v1/images/edits")
	t.open(http.MethodGet, about(media.ServeFile), "/mock/files/{id}")
	t.post(submits(videos.Submission()), "/v1/videos")
	t.get(about(videos.Serve), "/v1/videos/{id}")
	t.add(http.MethodDelete, true, about(videos.ServeDelete), []string{"/v1/videos/{id}"})
	t.get(about(videos.ServeContent), "/v1/videos/{id}/content")
}

// addRunpod adds the API of Runpod's job queue.
func (t *routes) addRunpod(p *jobs.Runpod) {
	t.post(submits(p.Submission()), "/v2/{endpoint}/run")
	t.post(submits(p.SyncSubmission()), "/v2/{endpoint}/runsync")
	for _, add := range []func(handler, ...string){t.get, t.post} {
		add(about(p.ServeStatus), "/v2/{endpoint}/status/{id}")
		add(about(p.ServeStream), "/v2/{endpoint}/stream/{id}")
	}
	t.post(about(p.ServeCancel), "/v2/{endpoint}/cancel/{id}")
	t.post(about(p.ServeRetry), "/v2/{endpoint}/retry/{id}")
	t.post(about(p.ServePurge), "/v2/{endpoint}/purge-queue")
	t.get(about(p.ServeHealth), "/v2/{endpoint}/health")
}

// addServer adds the routes for the state and the control of the server.
func (t *routes) addServer() {
	t.get(serveModels, "/v1/models")
	t.get(serveModel, "/v1/models/*")
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		t.open(method, about(api.ServeHealth), "/ping")
		t.open(method, serveFlushCache, "/flush_cache")
		t.open(method, serveCase, casePath, casePath+"/*")
	}
	t.open(http.MethodGet, about(api.ServeHealth), "/health")
	t.open(http.MethodGet, serveVersion, "/version")
	t.open(http.MethodGet, serveMetrics, "/metrics")
	t.open(http.MethodGet, serveSecondMetrics, "/prometheus/metrics")
	for _, of := range options.Choices("metrics") {
		t.open(http.MethodGet, pageOf(of), "/"+of+"/metrics")
	}
	t.open(http.MethodGet, serveGPUMetrics, "/dcgm/metrics")
	t.open(http.MethodGet, serveLoad, "/load")
	t.open(http.MethodGet, serveServerInfo, "/server_info")
	t.open(http.MethodPost, command(forgetPrefixes), "/reset_prefix_cache")
	t.open(http.MethodPost, command((*Server).startProfile), "/start_profile")
	t.open(http.MethodPost, command(func(s *Server) { s.profiling.Store(false) }), "/stop_profile")
	t.open(http.MethodPost, serveSleep, "/sleep")
	t.open(http.MethodPost, command(func(s *Server) { s.asleep.Store(0) }), "/wake_up")
	t.open(http.MethodGet, serveIsSleeping, "/is_sleeping")
	t.open(http.MethodGet, serveState, "/mock/state")
	t.open(http.MethodGet, serveCases, "/mock/cases")
	t.open(http.MethodGet, serveSummary, "/mock/summary")
	t.open(http.MethodGet, serveRequests, "/mock/requests")
}

// runpodPrefix is Runpod's prefix of the OpenAI routes of an endpoint.
const runpodPrefix = "/v2/{endpoint}/openai"

// newHandler serves the table at the root and under the prefix.
func newHandler(s *Server) http.Handler {
	r := chi.NewRouter()
	for _, row := range s.routes {
		if s.opt.NoModelsRoute && strings.HasPrefix(row.pattern, "/v1/models") {
			continue
		}
		h := wrap(s, row)
		r.Method(row.method, row.pattern, h)
		if s.opt.Prefix != "" {
			r.Method(row.method, s.opt.Prefix+row.pattern, h)
		}
		if strings.HasPrefix(row.pattern, "/v1/") {
			r.Method(row.method, runpodPrefix+row.pattern, h) // an endpoint's own OpenAI routes
		}
	}
	// The texts are FastAPI's. Write errors mean that the client has disconnected.
	r.NotFound(func(w http.ResponseWriter, _ *http.Request) {
		api.Respond(w, http.StatusNotFound, []byte(`{"detail":"Not Found"}`))
	})
	r.MethodNotAllowed(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Allow", strings.Join(allowed(s.routes, strings.TrimPrefix(req.URL.Path, s.opt.Prefix)), ", "))
		api.Respond(w, http.StatusMethodNotAllowed, []byte(`{"detail":"Method Not Allowed"}`))
	})
	return replaying(s, r)
}

// allowed returns the methods of a path.
func allowed(routes routes, path string) []string {
	var methods []string
	for _, row := range routes {
		if row.pattern == path && !slices.Contains(methods, row.method) {
			methods = append(methods, row.method)
		}
	}
	return methods
}

// wrap checks whether a request is admitted before its route serves it.
func wrap(s *Server, row route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.enter() {
			unavailable(w)
			return
		}
		defer s.active.Done()
		if row.guarded && speaksAnthropic(row.pattern) {
			if refusal := admitAnthropic(s, r); refusal != nil {
				api.Respond(w, refusal.Status, text.AppendMessageError(nil, refusal))
				return
			}
			row.serve(s, w, r)
			return
		}
		if row.guarded && !authorized(s.opt.APIKey, r.Header.Get("Authorization")) {
			api.Respond(w, http.StatusUnauthorized, []byte(`{"error":"Unauthorized"}`))
			return
		}
		if row.guarded && (!s.ready() || s.asleep.Load() > 0) {
			unavailable(w)
			return
		}
		row.serve(s, w, r)
	})
}

func unavailable(w http.ResponseWriter) {
	api.Refuse(w, api.NewError(http.StatusServiceUnavailable, "The server is not ready.", ""))
}

// speaksAnthropic reports whether a route is one of Anthropic's.
func speaksAnthropic(pattern string) bool { return strings.HasPrefix(pattern, "/v1/messages") }

// admitAnthropic checks the key of a request, which may be in the header x-api-key, and
// whether the server is ready.
func admitAnthropic(s *Server, r *http.Request) *api.Error {
	key := subtle.ConstantTimeCompare([]byte(r.Header.Get("X-Api-Key")), []byte(s.opt.APIKey)) == 1
	switch {
	case !key && !authorized(s.opt.APIKey, r.Header.Get("Authorization")):
		return &api.Error{Status: http.StatusUnauthorized, Message: "invalid x-api-key"}
	case !s.ready():
		return &api.Error{Status: http.StatusServiceUnavailable, Message: "The server is not ready."}
	}
	return nil
}

// authorized checks the value of an Authorization header.
func authorized(apiKey, header string) bool {
	if apiKey == "" {
		return true
	}
	scheme, token, _ := strings.Cut(header, " ")
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare([]byte(token), []byte(apiKey)) == 1
}
