package mock

import (
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
)

// route is one row of the table of routes.
type route struct {
	method, pattern string
	guarded         bool // requires the API key, and readiness
	serve           handler
}

// newRoutes returns the routes of the server, in the order of the documentation.
func newRoutes(s *Server) []route {
	const runpodSalt, videoSalt = 1, 2
	return slices.Concat(textRoutes(), vectorRoutes(), mediaRoutes(jobs.NewVideos(newQueue(s, videoSalt))),
		queueRoutes(jobs.NewRunpod(newQueue(s, runpodSalt))), nativeRoutes(), serverRoutes())
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

// textRoutes returns OpenAI's and Anthropic's APIs for text.
func textRoutes() []route {
	responses := text.NewResponses()
	return []route{
		{http.MethodPost, "/v1/chat/completions", true, inference(text.NewChat())},
		{http.MethodPost, "/v1/completions", true, inference(text.NewCompletions())},
		{http.MethodPost, "/v1/responses", true, inference(responses.Protocol())},
		{http.MethodGet, "/v1/responses/{id}", true, about(responses.Serve)},
		{http.MethodPost, "/v1/messages", true, inference(text.NewMessages())},
		{http.MethodPost, "/v1/messages/count_tokens", true, about(text.ServeCountTokens)},
	}
}

// vectorRoutes returns the APIs for vectors, scores and tokens.
func vectorRoutes() []route {
	return []route{
		{http.MethodPost, "/v1/embeddings", true, inference(vectors.NewEmbeddings())},
		{http.MethodPost, "/pooling", true, inference(vectors.NewPooling())},
		{http.MethodPost, "/score", true, inference(vectors.NewScore())},
		{http.MethodPost, "/v1/score", true, inference(vectors.NewScore())},
		{http.MethodPost, "/rerank", true, inference(vectors.NewRerank())},
		{http.MethodPost, "/v1/rerank", true, inference(vectors.NewRerank())},
		{http.MethodPost, "/v2/rerank", true, inference(vectors.NewRerank())},
		{http.MethodPost, "/classify", true, inference(vectors.NewClassify())},
		{http.MethodPost, "/v1/classify", true, inference(vectors.NewClassify())},
		{http.MethodPost, "/tokenize", true, inference(vectors.NewTokenize())},
		{http.MethodPost, "/v1/tokenize", true, inference(vectors.NewTokenize())},
		{http.MethodPost, "/detokenize", true, inference(vectors.NewDetokenize())},
		{http.MethodPost, "/v1/detokenize", true, inference(vectors.NewDetokenize())},
		{http.MethodPost, "/v1/ranking", true, inference(vectors.NewNIMRanking())},
		{http.MethodPost, "/v1/infer", true, inference(vectors.NewInfer())},
		{http.MethodPost, "/embed", true, inference(vectors.NewTEI(vectors.TEIVector))},
		{http.MethodPost, "/embed_all", true, inference(vectors.NewTEI(vectors.TEIRows))},
		{http.MethodPost, "/embed_sparse", true, inference(vectors.NewTEI(vectors.TEISparse))},
		{http.MethodPost, "/predict", true, inference(vectors.NewTEIPredict())},
		{http.MethodPost, "/similarity", true, inference(vectors.NewTEISimilarity())},
		{http.MethodPost, "/decode", true, inference(vectors.NewTEIDecode())},
		{http.MethodPost, "/api/embed", true, inference(vectors.NewOllamaEmbed(false))},
		{http.MethodPost, "/api/embeddings", true, inference(vectors.NewOllamaEmbed(true))},
	}
}

// mediaRoutes returns the APIs for audio, images and videos.
func mediaRoutes(videos *jobs.Videos) []route {
	heard := inference(media.NewTranscription("transcribe", "transcription.chunk"))
	translated := inference(media.NewTranscription("translate", "translation.chunk"))
	return []route{
		{http.MethodPost, "/v1/audio/transcriptions", true, heard},
		{http.MethodPost, "/v1/audio/translations", true, translated},
		{http.MethodPost, "/v1/audio/speech", true, inference(media.NewSpeech())},
		{http.MethodPost, "/v1/images/generations", true, inference(media.NewImages(false))},
		{http.MethodPost, "/v1/images/edits", true, inference(media.NewImages(true))},
		{http.MethodGet, "/mock/files/{id}", false, about(media.ServeFile)},
		{http.MethodPost, "/v1/videos", true, submits(videos.Submission())},
		{http.MethodGet, "/v1/videos/{id}", true, about(videos.Serve)},
		{http.MethodDelete, "/v1/videos/{id}", true, about(videos.ServeDelete)},
		{http.MethodGet, "/v1/videos/{id}/content", true, about(videos.ServeContent)},
	}
}

// queueRoutes returns the API of Runpod's job queue.
func queueRoutes(p *jobs.Runpod) []route {
	return []route{
		{http.MethodPost, "/v2/{endpoint}/run", true, submits(p.Submission())},
		{http.MethodPost, "/v2/{endpoint}/runsync", true, submits(p.SyncSubmission())},
		{http.MethodGet, "/v2/{endpoint}/status/{id}", true, about(p.ServeStatus)},
		{http.MethodPost, "/v2/{endpoint}/status/{id}", true, about(p.ServeStatus)},
		{http.MethodGet, "/v2/{endpoint}/stream/{id}", true, about(p.ServeStream)},
		{http.MethodPost, "/v2/{endpoint}/stream/{id}", true, about(p.ServeStream)},
		{http.MethodPost, "/v2/{endpoint}/cancel/{id}", true, about(p.ServeCancel)},
		{http.MethodPost, "/v2/{endpoint}/retry/{id}", true, about(p.ServeRetry)},
		{http.MethodPost, "/v2/{endpoint}/purge-queue", true, about(p.ServePurge)},
		{http.MethodGet, "/v2/{endpoint}/health", true, about(p.ServeHealth)},
	}
}

// serverRoutes returns the routes for the state and the control of the server.
func serverRoutes() []route {
	return []route{
		{http.MethodGet, "/v1/models", true, serveModels},
		{http.MethodGet, "/v1/models/*", true, serveModel},
		{http.MethodGet, "/health", false, about(api.ServeHealth)},
		{http.MethodGet, "/ping", false, about(api.ServeHealth)},
		{http.MethodPost, "/ping", false, about(api.ServeHealth)},
		{http.MethodGet, "/version", false, serveVersion},
		{http.MethodGet, "/metrics", false, serveMetrics},
		{http.MethodGet, "/load", false, serveLoad},
		{http.MethodGet, "/server_info", false, serveServerInfo},
		{http.MethodPost, "/reset_prefix_cache", false, serveResetPrefixCache},
		{http.MethodGet, "/flush_cache", false, serveFlushCache},
		{http.MethodPost, "/flush_cache", false, serveFlushCache},
		{http.MethodPost, "/start_profile", false, serveStartProfile},
		{http.MethodPost, "/stop_profile", false, serveStopProfile},
		{http.MethodPost, "/sleep", false, serveSleep},
		{http.MethodPost, "/wake_up", false, serveWakeUp},
		{http.MethodGet, "/is_sleeping", false, serveIsSleeping},
		{http.MethodGet, "/mock/state", false, serveState},
		{http.MethodGet, "/vllm/metrics", false, serveMetrics},
		{http.MethodGet, "/dcgm/metrics", false, serveGPUMetrics},
		{http.MethodGet, "/mock/cases", false, serveCases},
		{http.MethodGet, casePath, false, serveCase},
		{http.MethodGet, casePath + "/*", false, serveCase},
		{http.MethodPost, casePath, false, serveCase},
		{http.MethodPost, casePath + "/*", false, serveCase},
		{http.MethodGet, "/mock/summary", false, serveSummary},
		{http.MethodGet, "/mock/requests", false, serveRequests},
	}
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
func allowed(routes []route, path string) []string {
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

// nativeRoutes returns the native APIs of other servers.
func nativeRoutes() []route {
	post, get := http.MethodPost, http.MethodGet
	rows := []route{
		{post, "/", true, inference(text.NewTGI(text.TGIAsked))},
		{post, "/generate", true, inference(text.NewGenerate())},
		{post, "/generate_stream", true, inference(text.NewTGI(text.TGIAlways))},
		{get, "/info", true, about(text.ServeTGIInfo)},
		{post, "/api/chat", true, inference(text.NewOllama(true))},
		{post, "/api/generate", true, inference(text.NewOllama(false))},
		{get, "/api/tags", true, about(text.ServeOllamaModels)},
		{get, "/api/ps", true, about(text.ServeOllamaModels)},
		{get, "/api/version", false, serveVersion},
		{get, "/v2/health/live", false, about(text.ServeTritonReady)},
		{get, "/v2/health/ready", false, about(text.ServeTritonReady)},
		{get, "/v2/models/{model}/ready", false, about(text.ServeTritonReady)},
		{get, "/v2/models/{model}", true, about(text.ServeTritonModel)},
		{post, "/invocations", true, inference(text.NewInvocations(false))},
		{post, "/invocations-response-stream", true, inference(text.NewInvocations(true))},
		{post, "/endpoints/{name}/invocations", true, inference(text.NewInvocations(false))},
		{post, "/endpoints/{name}/invocations-response-stream", true, inference(text.NewInvocations(true))},
	}
	for _, model := range []string{"/v2/models/{model}", "/v2/models/{model}/versions/{version}"} {
		rows = append(rows,
			route{post, model + "/generate", true, inference(text.NewTriton(false))},
			route{post, model + "/generate_stream", true, inference(text.NewTriton(true))},
			route{post, model + "/infer", true, inference(text.NewInfer())})
	}
	return rows
}
