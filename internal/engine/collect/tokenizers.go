package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/hub"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/tokenizer"
)

// named is the tokenizer of a name, or its substitute.
type named struct {
	tokenizer.Tokenizer
	method  string // how it counts, for users
	commit  string // of a model on the hub; empty = not from the hub
	missing string // why it is a substitute; empty = it is the named one
	broken  bool   // the named one exists and cannot be read
	chat    *chat  // nil = prompts are counted without a chat template
	beside  func(file string) ([]byte, error)
}

var _ tokenizer.Wrapper = (*named)(nil)

// Unwrap implements [tokenizer.Wrapper].
func (n *named) Unwrap() tokenizer.Tokenizer { return n.Tokenizer }

// tokenizers holds the tokenizers of a run.
type tokenizers struct {
	first   *named            // nil = no tokenizer is needed
	byModel map[string]*named // nil = the first is every model's
}

// of returns the tokenizer of a model.
func (t *tokenizers) of(model string) *named {
	if own := t.byModel[model]; own != nil {
		return own
	}
	return t.first
}

// distinct lists the tokenizers without repetition, in the order of the models.
func (t *tokenizers) distinct(models []string) []*named {
	out := []*named{t.first}
	for _, model := range models {
		if own := t.of(model); !slices.Contains(out, own) {
			out = append(out, own)
		}
	}
	return out
}

// TokenOptions configure [OpenTokens].
type TokenOptions struct {
	Plan   *plan.Plan
	Hub    hub.Options // locates the tokenizers of models
	Log    zerolog.Logger
	Status func(text string)         // what it waits for, for users; empty = it no longer waits
	Warn   func(code, detail string) // for the result
}

// OpenTokens finds the tokenizers of the run if they are needed. The built-in one
// replaces a tokenizer that cannot be found, unless the user named it, it is not that of
// the model, and a download would not help.
func OpenTokens(ctx context.Context, o TokenOptions) (*Tokens, error) {
	t := &o.Plan.Tokens
	out := &Tokens{plan: *t, caps: o.Plan.Kind.Caps, noInput: !o.Plan.Kind.Caps.TokenizesInput}
	if t.Optional {
		return out, nil
	}
	all, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	out.all = *all
	out.substitute = o.substitute(all)
	o.openChat(all)
	if !t.Server {
		out.tokenizers = *all
	}
	return out, nil
}

// open finds the tokenizer of each name.
func (x *TokenOptions) open(ctx context.Context) (*tokenizers, error) {
	t := &x.Plan.Tokens
	all := &tokenizers{}
	known := map[string]*named{}
	for i, name := range t.Names {
		tok := known[name]
		if tok == nil {
			var err error
			if tok, err = x.findTokenizer(ctx, name); err != nil {
				return nil, fmt.Errorf("load tokenizer %q: %w", name, err)
			}
			if t.Revision != plan.MainRevision && tok.commit == "" && tok.missing == "" {
				x.Warn("tokenizer-revision", fmt.Sprintf("--tokenizer-revision %s has no effect: tokenizer %q is not from the Hugging Face cache", t.Revision, name))
			}
			known[name] = tok
		}
		if all.first == nil {
			all.first = tok
		}
		if len(t.Names) > 1 {
			if all.byModel == nil {
				all.byModel = map[string]*named{}
			}
			all.byModel[x.Plan.Models.Names[i]] = tok
		}
	}
	return all, nil
}

// substitute describes the replacement of missing tokenizers; nil = none is missing.
func (x *TokenOptions) substitute(all *tokenizers) *substitute {
	var names, reasons []string
	broken := false
	for i, model := range x.Plan.Models.Names {
		own := all.of(model)
		name := fmt.Sprintf("%q", x.Plan.Tokens.Names[min(i, len(x.Plan.Tokens.Names)-1)])
		if own.missing == "" || slices.Contains(names, name) {
			continue
		}
		names = append(names, name)
		broken = broken || own.broken
		if !slices.Contains(reasons, own.missing) {
			reasons = append(reasons, own.missing)
		}
	}
	if len(names) == 0 {
		return nil
	}
	out := &substitute{
		names: strings.Join(names, ", "), reason: strings.Join(reasons, "; "), explicit: x.Plan.Tokens.Explicit,
		fetch: x.Plan.Tokens.Fetch, first: x.Plan.Tokens.Names[0], broken: broken,
	}
	if x.Plan.Tokens.Explicit {
		x.Log.Warn().Msg(out.warning(x.Plan.Tokens.Client).Detail)
	}
	return out
}

// findTokenizer finds the tokenizer of a name: built in, a file, a model in the
// Hugging Face cache, a model of OpenAI, or a model on the hub if downloads are
// allowed.
func (x *TokenOptions) findTokenizer(ctx context.Context, name string) (*named, error) {
	if tok, ok := tokenizer.Encoding(name); ok {
		return &named{Tokenizer: tok, method: tok.Method()}, nil
	}
	t := &x.Plan.Tokens
	tok, err := localTokenizer(t, name)
	switch {
	case tok != nil:
		return &named{Tokenizer: tok, method: tok.Method(), beside: filesBeside(t, name)}, nil
	case err != nil && t.Explicit:
		return nil, err
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return standIn(err.Error(), true), nil
	}
	s, ok := x.Hub.Find(name, t.Revision, tokenizer.FileName)
	if !ok {
		if known := tokenizer.EncodingOf(name); known != "" {
			return x.findTokenizer(ctx, known)
		}
		s, err = x.fetchTokenizer(ctx, name)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	// Of org/name it is not known whether it exists, as long as nothing may be downloaded.
	if maybe := !t.Fetch && strings.Contains(name, "/"); err != nil && !maybe && t.Explicit && !slices.Contains(x.Plan.Models.Names, name) {
		missing := substitute{first: name, explicit: true, fetch: t.Fetch}
		return nil, fmt.Errorf("%w; %s; without --tokenizer the built-in o200k_base counts", err, missing.advice())
	}
	if err != nil {
		return standIn(err.Error(), false), nil
	}
	content, err := s.Read(tokenizer.FileName, tokenizer.MaxFile)
	if err == nil {
		tok, err = tokenizer.Read(name, content)
	}
	if err != nil {
		return standIn(err.Error(), true), nil
	}
	return &named{
		Tokenizer: tok, method: fmt.Sprintf("%s@%.12s, %s", s.ID, s.Commit, tok.Method()), commit: s.Commit,
		beside: func(file string) ([]byte, error) { return s.Read(file, maxBeside) },
	}, nil
}

// standIn returns the built-in tokenizer as the substitute of a missing one.
func standIn(why string, broken bool) *named {
	tok := tokenizer.Builtin()
	return &named{Tokenizer: tok, method: tok.Method(), missing: why, broken: broken}
}

// tokenizerFiles returns the files of a model to download, with their bounds in bytes.
func tokenizerFiles() []hub.File {
	return []hub.File{
		{Name: tokenizer.FileName, Most: tokenizer.MaxFile},
		{Name: tokenizerConfigFile, Most: maxBeside, Optional: true},
		{Name: chatTemplateFile, Most: maxBeside, Optional: true},
	}
}

// fetchTokenizer downloads a tokenizer into the cache, if the user allows it. The
// error lists the places that were searched.
func (x *TokenOptions) fetchTokenizer(ctx context.Context, name string) (hub.Snapshot, error) {
	t := &x.Plan.Tokens
	switch {
	case !hub.IsID(name):
		return hub.Snapshot{}, fmt.Errorf("%q is neither a file nor the name of a model", name)
	case !t.Fetch:
		return hub.Snapshot{}, fmt.Errorf("%s", searched(t, x.Hub.Cache))
	}
	x.Status("downloading the tokenizer of " + name)
	defer x.Status("")
	s, err := x.Hub.Fetch(ctx, name, t.Revision, tokenizerFiles())
	if err != nil {
		return hub.Snapshot{}, fmt.Errorf("%s; download: %w", searched(t, x.Hub.Cache), err)
	}
	return s, nil
}

// searched lists the places where a tokenizer was searched for.
func searched(t *plan.Tokens, cache string) string {
	at := ""
	if t.Revision != plan.MainRevision {
		at = " at revision " + t.Revision
	}
	if t.Open != nil || cache == "" {
		return "not in the Hugging Face cache" + at
	}
	return fmt.Sprintf("not in %s%s", cache, at)
}

// localTokenizer opens a tokenizer from a file or folder of that name; nil without an
// error = there is none. A folder without a tokenizer.json, such as that of a
// checkpoint, is an error only if the name can only be a path.
func localTokenizer(t *plan.Tokens, name string) (tokenizer.Tokenizer, error) {
	isPath := tokenizer.IsPath(name)
	if t.Open != nil {
		return tokenizerWithin(t, name, isPath)
	}
	if isPath {
		return tokenizer.ReadFile(name, name)
	}
	info, err := os.Stat(name)
	if err != nil || name == "" {
		return nil, nil
	}
	file := name
	if info.IsDir() {
		file = filepath.Join(name, tokenizer.FileName)
		info, err = os.Stat(file)
	} else if !t.Explicit {
		return nil, nil // a file that has the model's name by chance
	}
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	return tokenizer.ReadFile(name, file)
}

// filesBeside returns a function that reads the other files in the folder of a
// tokenizer.
func filesBeside(t *plan.Tokens, name string) func(file string) ([]byte, error) {
	open := t.Open
	if open == nil {
		open = func(name string) (io.ReadCloser, error) { return os.Open(name) }
	}
	folder := filepath.ToSlash(name)
	if path.Ext(folder) == path.Ext(tokenizer.FileName) {
		folder = path.Dir(folder)
	}
	return func(file string) ([]byte, error) {
		f, err := open(path.Join(folder, file))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(io.LimitReader(f, maxBeside))
	}
}

// tokenizerWithin is localTokenizer for an untrusted document.
func tokenizerWithin(t *plan.Tokens, name string, isPath bool) (tokenizer.Tokenizer, error) {
	file, err := t.Open(name)
	if err != nil {
		file, err = t.Open(path.Join(filepath.ToSlash(name), tokenizer.FileName))
	}
	switch {
	case err != nil && isPath:
		return nil, fmt.Errorf("read tokenizer %s: not a file that this document may name", name)
	case err != nil:
		return nil, nil
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, tokenizer.MaxFile+1))
	if err != nil {
		return nil, err
	}
	return tokenizer.Read(name, content)
}

// methods describes how the tokenizers count.
func (t *tokenizers) methods() string {
	out := []string{t.first.method}
	for _, own := range t.byModel {
		if !slices.Contains(out, own.method) {
			out = append(out, own.method)
		}
	}
	slices.Sort(out[1:])
	return strings.Join(out, "; ")
}
