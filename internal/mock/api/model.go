// Package api is the common base of the APIs of the simulated server: a model that reads
// requests and plans their answers, and the events of a stream. An API is a [Protocol];
// each family of APIs is a package below this one and does not depend on the server.
package api

import (
	"net/http"
	"slices"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/token"
)

// Model is the simulated model: its names, its limits, its tokenizer and its texts. It
// reads requests and plans their answers. It is safe for concurrent use.
type Model struct {
	Options    *options.Options
	prose      token.Corpus
	scripts    token.Corpus // for ContentUnicode
	Vocabulary *token.Vocabulary
	parsers    fastjson.ParserPool

	Now   func() int64 // the server's clock, Unix nanoseconds
	Ready func() bool
}

// NewModel returns a model for complete options. now reads the server's clock, and ready
// reports whether the server accepts requests.
func NewModel(opt *options.Options, now func() int64, ready func() bool) *Model {
	prose := token.NewCorpus(opt.Tokenizer, token.Prose)
	return &Model{
		Options: opt, prose: prose, scripts: token.NewCorpus(opt.Tokenizer, token.Scripts),
		Vocabulary: token.NewVocabulary(opt.Tokenizer, prose), Now: now, Ready: ready,
	}
}

// Models returns the served names, at least one.
func (m *Model) Models() []string {
	if len(m.Options.ServedModels) == 0 {
		return []string{options.DefaultModel}
	}
	return m.Options.ServedModels
}

// Serves reports whether the model is served under a name.
func (m *Model) Serves(model string) bool {
	return len(m.Options.ServedModels) == 0 || slices.Contains(m.Options.ServedModels, model)
}

// Version is the version of the server, which is not that of a real release.
const Version = "0.0.0+mock"

// ServeHealth responds with 200 without a body, or with 503 until the server is ready.
func ServeHealth(m *Model, w http.ResponseWriter, _ *http.Request) {
	if !m.Ready() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusOK)
}
