package collect

import (
	"fmt"
	"math"
	"sync/atomic"

	"aiperfd/internal/engine/bench"
)

// substitute describes the built-in tokenizer that replaces missing ones.
type substitute struct {
	names    string // of the tokenizers that are missing, quoted
	first    string // the first of the names
	reason   string // why they are missing
	explicit bool   // the user named it
	fetch    bool   // downloads were tried
	broken   bool   // one exists and cannot be read

	// Prompts that both sides counted, and their tokens.
	prompts, client, server atomic.Int64
}

// compare adds a prompt that both sides have counted.
func (s *substitute) compare(client, server *bench.Tokens) {
	if client == nil || server == nil || *client == 0 {
		return
	}
	s.prompts.Add(1)
	s.client.Add(int64(*client))
	s.server.Add(int64(*server))
}

// warning returns one line: which tokenizer counts instead, how far lengths are or may
// be off, and how to count exactly. outputs = it counts responses, too.
func (s *substitute) warning(outputs bool) bench.Warning {
	missing := "no local tokenizer for " + s.names
	if s.explicit || s.fetch || s.broken {
		missing = fmt.Sprintf("no tokenizer %s (%s)", s.names, s.reason)
	}
	const agreement = 1 // percent
	lengths, off := s.lengths()
	switch {
	case lengths == "" && outputs:
		missing += ": prompt and output lengths use the built-in o200k_base and may be 10–20 % off"
	case lengths == "":
		missing += ": prompt lengths use the built-in o200k_base and may be 10–20 % off"
	case math.Abs(off) < agreement:
		return bench.Warning{Code: "tokenizer-builtin", Detail: fmt.Sprintf("%s; counted with the built-in o200k_base, %s", lengths, missing)}
	default:
		missing = fmt.Sprintf("%s; counted with the built-in o200k_base, %s", lengths, missing)
	}
	return bench.Warning{Code: "tokenizer-substituted", Detail: missing + "; " + s.advice()}
}

// lengths describes the difference between the lengths of prompts and the counts of
// the server, and returns it in percent. The text is empty without such counts.
func (s *substitute) lengths() (text string, off float64) {
	n := float64(s.prompts.Load())
	if n == 0 {
		return "", 0
	}
	client, server := float64(s.client.Load()), float64(s.server.Load())
	off = 100 * (server - client) / client
	switch {
	case off >= 0.5:
		text = fmt.Sprintf("prompts are %.0f %% longer on the server", off)
	case off <= -0.5:
		text = fmt.Sprintf("prompts are %.0f %% shorter on the server", -off)
	default:
		return fmt.Sprintf("prompt lengths match the server (%.0f tokens)", server/n), off
	}
	return fmt.Sprintf("%s (%.0f tokens, not %.0f; chat template included)", text, server/n, client/n), off
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
