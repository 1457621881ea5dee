package mock

import (
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"aiperfd/internal/mock/apierror"
)

// route is one row of the table of routes.
type route struct {
	method, pattern string
	guarded         bool // Needs the API key, and readiness
	serve           func(*Server, http.ResponseWriter, *http.Request)
}

// routes is everything the server answers, in the order of the documentation.
func routes() []route {
	return slices.Concat(textRoutes(), vectorRoutes(), mediaRoutes(), queueRoutes(), nativeRoutes(), serverRoutes())
}

// textRoutes is what runs text models by OpenAI's and Anthropic's APIs.
func textRoutes() []route {
	return []route{
		{http.MethodPost, "/v1/chat/completions", true, inference(newOpenAI(chatDialect{}))},
		{http.MethodPost, "/v1/completions", true, inference(newOpenAI(completionDialect{}))},
		{http.MethodPost, "/v1/responses", true, inference(newResponses())},
		{http.MethodGet, "/v1/responses/{id}", true, serveResponse},
		{http.MethodPost, "/v1/messages", true, inference(newMessages())},
		{http.MethodPost, "/v1/messages/count_tokens", true, serveCountTokens},
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
func mediaRoutes() []route {
	return []route{
		{http.MethodPost, "/v1/audio/transcriptions", true, inference(newTranscription("transcribe", "transcription.chunk"))},
		{http.MethodPost, "/v1/audio/translations", true, inference(newTranscription("translate", "translation.chunk"))},
		{http.MethodPost, "/v1/audio/speech", true, inference(newSpeech())},
		{http.MethodPost, "/v1/images/generations", true, inference(newImages(false))},
		{http.MethodPost, "/v1/images/edits", true, inference(newImages(true))},
		{http.MethodGet, "/mock/files/{id}", false, serveFile},
		{http.MethodPost, "/v1/videos", true, submits(videos{})},
		{http.MethodGet, "/v1/videos/{id}", true, serveVideo},
		{http.MethodDelete, "/v1/videos/{id}", true, serveVideoDelete},
		{http.MethodGet, "/v1/videos/{id}/content", true, serveVideoContent},
	}
}

// queueRoutes is what is Runpod's queue of work.
func queueRoutes() []route {
	return []route{
		{http.MethodPost, "/v2/{endpoint}/run", true, submits(runpodQueue{})},
		{http.MethodPost, "/v2/{endpoint}/runsync", true, submits(runpodQueue{sync: true})},
		{http.MethodGet, "/v2/{endpoint}/status/{id}", true, runpodJob(runpodStatus)},
		{http.MethodPost, "/v2/{endpoint}/status/{id}", true, runpodJob(runpodStatus)},
		{http.MethodGet, "/v2/{endpoint}/stream/{id}", true, runpodJob(runpodStream)},
		{http.MethodPost, "/v2/{endpoint}/stream/{id}", true, runpodJob(runpodStream)},
		{http.MethodPost, "/v2/{endpoint}/cancel/{id}", true, runpodJob(runpodCancel)},
		{http.MethodPost, "/v2/{endpoint}/retry/{id}", true, serveRunpodRetry},
		{http.MethodPost, "/v2/{endpoint}/purge-queue", true, serveRunpodPurge},
		{http.MethodGet, "/v2/{endpoint}/health", true, serveRunpodHealth},
	}
}

// serverRoutes is what tells of the server, and controls it.
func serverRoutes() []route {
	return []route{
		{http.MethodGet, "/v1/models", true, serveModels},
		{http.MethodGet, "/v1/models/*", true, serveModel},
		{http.MethodGet, "/health", false, serveHealth},
		{http.MethodGet, "/ping", false, serveHealth},
		{http.MethodPost, "/ping", false, serveHealth},
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
	for _, row := range routes() {
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
	for _, row := range routes() {
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

// authorized checks the value of an Authorization header.
func (s *Server) authorized(header string) bool {
	if s.opt.APIKey == "" {
		return true
	}
	scheme, token, _ := strings.Cut(header, " ")
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare([]byte(token), []byte(s.opt.APIKey)) == 1
}
