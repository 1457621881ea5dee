package engine

import (
	"fmt"
	"sync/atomic"

	"aiperfd/internal/engine/bench"
)

// substitute is what is known of the built-in tokenizer that stands in for
// others.
type substitute struct {
	names    string // of the tokenizers that are missing, quoted
	first    string // the first of the names
	reason   string // why they are missing
	explicit bool   // the user named it
	fetch    bool   // it was tried to download them
	broken   bool   // one is there and cannot be read

	// Prompts that both sides counted, and their tokens.
	prompts, client, server atomic.Int64
}

// compare notes a prompt that both sides have counted.
func (s *substitute) compare(client, server *bench.Tokens) {
	if client == nil || server == nil || *client == 0 {
		return
	}
	s.prompts.Add(1)
	s.client.Add(int64(*client))
	s.server.Add(int64(*server))
}

// text says in one line what counts instead, how far lengths may be off, or by how
// much they are, and how to count exactly. outputs says that it counts responses,
// too.
func (s *substitute) text(outputs bool) string {
	missing := "no local tokenizer for " + s.names
	if s.explicit || s.fetch || s.broken {
		missing = fmt.Sprintf("no tokenizer %s (%s)", s.names, s.reason)
	}
	return fmt.Sprintf("%s: %s; %s", missing, s.lengths(outputs), s.advice())
}

// lengths says what prompt lengths are, with the server's count if there is one.
func (s *substitute) lengths(outputs bool) string {
	n := s.prompts.Load()
	switch {
	case n == 0 && outputs:
		return "prompt and output lengths use the built-in o200k_base and may be 10–20 % off"
	case n == 0:
		return "prompt lengths use the built-in o200k_base and may be 10–20 % off"
	}
	client, server := float64(s.client.Load()), float64(s.server.Load())
	return fmt.Sprintf("prompts have %.0f tokens on average by the built-in o200k_base, and %.0f by the server's count (%+.0f %%, its chat template included)",
		client/float64(n), server/float64(n), 100*(server-client)/client)
}

func (s *substitute) advice() string {
	switch {
	case s.fetch || s.broken:
		return "pass --tokenizer with a tokenizer.json"
	case s.explicit:
		return fmt.Sprintf("pass --allow-download, or run: hf download %s tokenizer.json", s.first)
	}
	return "pass --tokenizer or --allow-download"
}
