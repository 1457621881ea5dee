package mock

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jobs"
)

// route is one row of the table of routes.
type route struct {
	method, pattern string
	guarded         bool // needs the API key, and readiness
	serve           func(*Server, http.ResponseWriter, *http.Request)
}

// newRoutes returns everything the server answers, in the order of the documentation.
func (s *Server) newRoutes() []route {
	const runpodSalt, videoSalt = 1, 2
	return slices.Concat(textRoutes(), vectorRoutes(), mediaRoutes(newVideos(s.newQueue(videoSalt))),
		queueRoutes(newRunpod(s.newQueue(runpodSalt))), nativeRoutes(), serverRoutes())
}

// newQueue returns a queue of jobs. The delays of its workers depend on salt.
func (s *Server) newQueue(salt uint64) *jobs.Queue {
	rng := rand.New(rand.NewPCG(s.opt.Seed, salt))
	return jobs.NewQueue(s.opt.Jobs.Workers, s.now, func() time.Duration { return s.opt.Jobs.ColdStart.Draw(rng) })
}

// about returns the handler of a route that answers from what the model is.
func about(serve func(*model, http.ResponseWriter, *http.Request)) func(*Server, http.ResponseWriter, *http.Request) {
	return func(s *Server, w http.ResponseWriter, r *http.Request) { serve(s.model, w, r) }
}

// textRoutes is what runs text models by OpenAI's and Anthropic's APIs.
func textRoutes() []route {
	responses := newResponses()
	return []route{
		{http.MethodPost, "/v1/chat/completions", true, inference(newOpenAI(chatDialect{}))},
		{http.MethodPost, "/v1/completions", true, inference(newOpenAI(completionDialect{}))},
		{http.MethodPost, "/v1/responses", true, inference(responses)},
		{http.MethodGet, "/v1/responses/{id}", true, about(responses.serve)},
		{http.MethodPost, "/v1/messages", true, inference(newMessages())},
		{http.MethodPost, "/v1/messages/count_tokens", true, about(serveCountTokens)},
	}
}

// vectorRoutes is what answers with vectors, scores and tokens.
func vectorRoutes() []route {
	return []route{
		{http.MethodPost, "/v1/embeddings", true, inference(newEmbeddings())},
		{http.MethodPost, "/pooling", true, inference(newPooling())},
		{http.MethodPost, "/score", true, inference(newScore())},
		{http.MethodPost, "/v1/score", true, inference(newScore())},
		{http.MethodPost, "/rerank", true, inference(newRerank())},
		{http.MethodPost, "/v1/rerank", true, inference(newRerank())},
		{http.MethodPost, "/v2/rerank", true, inference(newRerank())},
		{http.MethodPost, "/classify", true, inference(newClassify())},
		{http.MethodPost, "/v1/classify", true, inference(newClassify())},
		{http.MethodPost, "/tokenize", true, inference(newTokenize())},
		{http.MethodPost, "/v1/tokenize", true, inference(newTokenize())},
		{http.MethodPost, "/detokenize", true, inference(newDetokenize())},
		{http.MethodPost, "/v1/detokenize", true, inference(newDetokenize())},
		{http.MethodPost, "/v1/ranking", true, inference(newNIMRanking())},
		{http.MethodPost, "/v1/infer", true, inference(newInfer())},
		{http.MethodPost, "/embed", true, inference(newTEI(teiVector))},
		{http.MethodPost, "/embed_all", true, inference(newTEI(teiRows))},
		{http.MethodPost, "/embed_sparse", true, inference(newTEI(teiSparse))},
		{http.MethodPost, "/predict", true, inference(newTEIPredict())},
		{http.MethodPost, "/similarity", true, inference(newTEISimilarity())},
		{http.MethodPost, "/decode", true, inference(newTEIDecode())},
		{http.MethodPost, "/api/embed", true, inference(newOllamaEmbed(false))},
		{http.MethodPost, "/api/embeddings", true, inference(newOllamaEmbed(true))},
	}
}

// mediaRoutes is what takes or makes audio, images and videos.
func mediaRoutes(videos *videos) []route {
	return []route{
		{http.MethodPost, "/v1/audio/transcriptions", true, inference(newTranscription("transcribe", "transcription.chunk"))},
		{http.MethodPost, "/v1/audio/translations", true, inference(newTranscription("translate", "translation.chunk"))},
		{http.MethodPost, "/v1/audio/speech", true, inference(newSpeech())},
		{http.MethodPost, "/v1/images/generations", true, inference(newImages(false))},
		{http.MethodPost, "/v1/images/edits", true, inference(newImages(true))},
		{http.MethodGet, "/mock/files/{id}", false, about(serveFile)},
		{http.MethodPost, "/v1/videos", true, submits(videos)},
		{http.MethodGet, "/v1/videos/{id}", true, about(videos.serve)},
		{http.MethodDelete, "/v1/videos/{id}", true, about(videos.serveDelete)},
		{http.MethodGet, "/v1/videos/{id}/content", true, about(videos.serveContent)},
	}
}

// queueRoutes is what is Runpod's queue of work.
func queueRoutes(p *runpod) []route {
	return []route{
		{http.MethodPost, "/v2/{endpoint}/run", true, submits(runpodJobs{runpod: p})},
		{http.MethodPost, "/v2/{endpoint}/runsync", true, submits(runpodJobs{runpod: p, sync: true})},
		{http.MethodGet, "/v2/{endpoint}/status/{id}", true, about(p.about(p.appendStatus))},
		{http.MethodPost, "/v2/{endpoint}/status/{id}", true, about(p.about(p.appendStatus))},
		{http.MethodGet, "/v2/{endpoint}/stream/{id}", true, about(p.about(p.appendStream))},
		{http.MethodPost, "/v2/{endpoint}/stream/{id}", true, about(p.about(p.appendStream))},
		{http.MethodPost, "/v2/{endpoint}/cancel/{id}", true, about(p.about(p.appendCancel))},
		{http.MethodPost, "/v2/{endpoint}/retry/{id}", true, about(p.serveRetry)},
		{http.MethodPost, "/v2/{endpoint}/purge-queue", true, about(p.servePurge)},
		{http.MethodGet, "/v2/{endpoint}/health", true, about(p.serveHealth)},
	}
}

// serverRoutes is what tells of the server, and controls it.
func serverRoutes() []route {
	return []route{
		{http.MethodGet, "/v1/models", true, serveModels},
		{http.MethodGet, "/v1/models/*", true, serveModel},
		{http.MethodGet, "/health", false, about(serveHealth)},
		{http.MethodGet, "/ping", false, about(serveHealth)},
		{http.MethodPost, "/ping", false, about(serveHealth)},
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

// runpodPrefix is what Runpod puts in front of OpenAI's routes, for any endpoint.
const runpodPrefix = "/v2/{endpoint}/openai"

// newHandler serves the table at the root and below the prefix.
func (s *Server) newHandler() http.Handler {
	r := chi.NewRouter()
	for _, row := range s.routes {
		if s.opt.NoModelsRoute && strings.HasPrefix(row.pattern, "/v1/models") {
			continue
		}
		h := s.wrap(row)
		r.Method(row.method, row.pattern, h)
		if s.opt.Prefix != "" {
			r.Method(row.method, s.opt.Prefix+row.pattern, h)
		}
		if strings.HasPrefix(row.pattern, "/v1/") {
			r.Method(row.method, runpodPrefix+row.pattern, h) // an endpoint's own OpenAI routes
		}
	}
	// The texts are FastAPI's. Errors of a dead connection have no reader.
	r.NotFound(func(w http.ResponseWriter, _ *http.Request) {
		_ = apierror.WriteJSON(w, http.StatusNotFound, []byte(`{"detail":"Not Found"}`))
	})
	r.MethodNotAllowed(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Allow", strings.Join(s.allowed(strings.TrimPrefix(req.URL.Path, s.opt.Prefix)), ", "))
		_ = apierror.WriteJSON(w, http.StatusMethodNotAllowed, []byte(`{"detail":"Method Not Allowed"}`))
	})
	return s.replaying(r)
}

// allowed lists the methods of a path.
func (s *Server) allowed(path string) []string {
	var methods []string
	for _, row := range s.routes {
		if row.pattern == path && !slices.Contains(methods, row.method) {
			methods = append(methods, row.method)
		}
	}
	return methods
}

// wrap admits a request before its route serves it.
func (s *Server) wrap(row route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.enter() {
			s.unavailable(w)
			return
		}
		defer s.active.Done()
		if row.guarded && speaksAnthropic(row.pattern) {
			if refusal := s.admitAnthropic(r); refusal != nil {
				_ = apierror.WriteJSON(w, refusal.Status, appendAnthropicError(nil, refusal))
				return
			}
			row.serve(s, w, r)
			return
		}
		if row.guarded && !s.authorized(r.Header.Get("Authorization")) {
			_ = apierror.WriteJSON(w, http.StatusUnauthorized, []byte(`{"error":"Unauthorized"}`))
			return
		}
		if row.guarded && (!s.ready() || s.asleep.Load() > 0) {
			s.unavailable(w)
			return
		}
		row.serve(s, w, r)
	})
}

func (s *Server) unavailable(w http.ResponseWriter) {
	status := http.StatusServiceUnavailable
	_ = apierror.WriteJSON(w, status, apierror.Append(nil, apierror.New(status, "The server is not ready.", "")))
}
