package mock

import (
	"slices"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/token"
)

// model is what the server simulates: the names under which it is served, its limits,
// its tokenizer and its texts. It reads requests and plans their answers. Safe for
// concurrent use.
type model struct {
	opt        *Options
	prose      token.Corpus
	scripts    token.Corpus // for ContentUnicode
	vocabulary *token.Vocabulary
	parsers    fastjson.ParserPool

	now   func() int64 // the server's clock, Unix nanoseconds
	ready func() bool
}

// newModel returns the model of complete options. now reads the server's clock, and
// ready reports whether the server takes requests.
func newModel(opt *Options, now func() int64, ready func() bool) *model {
	prose := token.NewCorpus(opt.Tokenizer, token.Prose)
	return &model{
		opt: opt, prose: prose, scripts: token.NewCorpus(opt.Tokenizer, token.Scripts),
		vocabulary: token.NewVocabulary(opt.Tokenizer, prose), now: now, ready: ready,
	}
}

// models lists the served names, at least one.
func (m *model) models() []string {
	if len(m.opt.ServedModels) == 0 {
		return []string{DefaultModel}
	}
	return m.opt.ServedModels
}

func (m *model) serves(model string) bool {
	return len(m.opt.ServedModels) == 0 || slices.Contains(m.opt.ServedModels, model)
}
