package mock

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jsonappend"
)

// serveModels responds with the list of models in vLLM's form.
func serveModels(s *Server, w http.ResponseWriter, _ *http.Request) {
	dst := append([]byte(nil), `{"object":"list","data":[`...)
	for i, name := range s.model.Models() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendModel(dst, s, name)
	}
	dst = append(dst, ']')
	if len(s.opt.ServedModels) == 0 {
		dst = append(dst, `,"has_more":true`...) // Anthropic's member; every name is served
	}
	_ = apierror.WriteJSON(w, http.StatusOK, append(dst, '}'))
}

// appendModel appends the object of a model.
func appendModel(dst []byte, s *Server, name string) []byte {
	dst = append(dst, `{"id":`...)
	dst = jsonappend.String(dst, name)
	dst = append(dst, `,"object":"model","created":`...)
	dst = strconv.AppendInt(dst, s.startNs/int64(time.Second), 10)
	dst = append(dst, `,"owned_by":"aiperfd-mock","root":`...)
	dst = jsonappend.String(dst, name)
	dst = append(dst, `,"parent":null,"max_model_len":`...)
	dst = strconv.AppendInt(dst, int64(s.opt.MaxModelLen), 10)
	return append(dst, `,"permission":[]}`...)
}

// serveModel handles GET /v1/models/NAME; names may contain slashes.
func serveModel(s *Server, w http.ResponseWriter, r *http.Request) {
	_, name, _ := strings.Cut(r.URL.Path, "/v1/models/")
	if !s.model.Serves(name) {
		refusal := api.NoModel(name)
		_ = apierror.WriteJSON(w, refusal.Status, apierror.Append(nil, refusal))
		return
	}
	_ = apierror.WriteJSON(w, http.StatusOK, appendModel(nil, s, name))
}

func serveVersion(_ *Server, w http.ResponseWriter, _ *http.Request) {
	_ = apierror.WriteJSON(w, http.StatusOK, appendVersion(nil))
}

func appendVersion(dst []byte) []byte {
	dst = append(dst, `{"version":`...)
	dst = jsonappend.String(dst, api.Version)
	return append(dst, '}')
}

func serveMetrics(s *Server, w http.ResponseWriter, r *http.Request) {
	s.metrics.handler.ServeHTTP(w, r)
}
