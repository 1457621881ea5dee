package mock

import (
	"net/http"
	"strings"
	"time"

	"aiperfd/internal/mock/api"
)

// modelCard is the object of a model in vLLM's form.
type modelCard struct {
	ID          string  `json:"id"`
	Object      string  `json:"object"`
	Created     int64   `json:"created"`
	OwnedBy     string  `json:"owned_by"`
	Root        string  `json:"root"`
	Parent      *string `json:"parent"` // always null
	MaxModelLen int     `json:"max_model_len"`
	Permission  []int   `json:"permission"` // always empty
}

func newModelCard(s *Server, name string) modelCard {
	return modelCard{
		ID: name, Object: "model", Created: s.startNs / int64(time.Second), OwnedBy: "aiperfd-mock", Root: name,
		MaxModelLen: s.opt.MaxModelLen, Permission: []int{},
	}
}

// serveModels responds with the list of models in vLLM's form.
func serveModels(s *Server, w http.ResponseWriter, _ *http.Request) {
	list := struct {
		Object  string      `json:"object"`
		Data    []modelCard `json:"data"`
		HasMore bool        `json:"has_more,omitempty"` // Anthropic's member: every name is served
	}{Object: "list", HasMore: len(s.opt.ServedModels) == 0}
	for _, name := range s.model.Models() {
		list.Data = append(list.Data, newModelCard(s, name))
	}
	api.OK(w, list)
}

// serveModel handles GET /v1/models/NAME; names may contain slashes.
func serveModel(s *Server, w http.ResponseWriter, r *http.Request) {
	_, name, _ := strings.Cut(r.URL.Path, "/v1/models/")
	if !s.model.Serves(name) {
		api.Refuse(w, api.NoModel(name))
		return
	}
	api.OK(w, newModelCard(s, name))
}

func serveVersion(_ *Server, w http.ResponseWriter, _ *http.Request) {
	api.OK(w, map[string]string{"version": api.Version})
}

func serveMetrics(s *Server, w http.ResponseWriter, r *http.Request) {
	s.metrics.handler.ServeHTTP(w, r)
}

// respondLine is [api.OK] for what people read: with a line end.
func respondLine(w http.ResponseWriter, v any) {
	api.Respond(w, http.StatusOK, append(api.AppendJSON(nil, v), '\n'))
}
