package agentic

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"aiperfd/internal/engine/dataset/file"
)

// maxRecord bounds a trace: the largest of the public captures have some ten million bytes.
const maxRecord = 256 << 20

// Options say how traces are read.
type Options struct {
	Rules   Rules
	Strict  bool   // members that the format does not have are problems
	SkipBad bool   // traces with problems are left out and counted
	Cache   string // folder for graphs of large files, which are read faster the next time; "" = none
}

// CacheFolder returns the folder for graphs in the folder for caches of the user; "" = there is none.
func CacheFolder() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "aiperfd", "traces")
}

// Repairs count what was wrong with traces and could be repaired, or was left out.
type Repairs struct {
	SkippedTraces   int `json:"skipped_traces"`
	UnknownMembers  int `json:"unknown_members"`  // ignored
	DuplicateAgents int `json:"duplicate_agents"` // "#2" was added to the id
	EmptyAnswers    int `json:"empty_answers"`    // out 0 became 1
	TrimmedBlocks   int `json:"trimmed_blocks"`   // requests with more ids than their prompt has blocks
	UncoveredTails  int `json:"uncovered_tails"`  // requests with fewer ids than their prompt has full blocks
	ClampedPrefixes int `json:"clamped_prefixes"` // more declared tokens than the first prompt has
	EarlySubAgents  int `json:"early_sub_agents"` // before any request of the main stream; left out
	EmptySubAgents  int `json:"empty_sub_agents"` // without a request; left out
}

// counts returns the numbers in their order.
func (r *Repairs) counts() []*int {
	return []*int{
		&r.SkippedTraces, &r.UnknownMembers, &r.DuplicateAgents, &r.EmptyAnswers, &r.TrimmedBlocks, &r.UncoveredTails,
		&r.ClampedPrefixes, &r.EarlySubAgents, &r.EmptySubAgents,
	}
}

// add adds what was repaired in a trace.
func (r *Repairs) add(one *Repairs) {
	more := one.counts()
	for i, n := range r.counts() {
		*n += *more[i]
	}
}

// Notes say what was repaired or left out, a line for each kind.
func (r *Repairs) Notes() (lines []string) {
	for _, one := range []struct {
		n          int
		what, text string
	}{
		{r.SkippedTraces, "trace", "with problems left out"},
		{r.UnknownMembers, "member", "that the format does not have ignored"},
		{r.DuplicateAgents, "sub-agent", "with the id of another renamed"},
		{r.EmptyAnswers, "answer", "of 0 tokens set to 1"},
		{r.TrimmedBlocks, "request", "with more ids than blocks trimmed"},
		{r.UncoveredTails, "request", "with fewer ids than full blocks"},
		{r.ClampedPrefixes, "declared length", "above that of the first prompt reduced to it"},
		{r.EarlySubAgents, "sub-agent", "before any request of the main stream left out"},
		{r.EmptySubAgents, "sub-agent", "without a request left out"},
	} {
		if one.n > 1 {
			one.what += "s"
		}
		if one.n > 0 {
			lines = append(lines, fmt.Sprintf("%d %s %s", one.n, one.what, one.text))
		}
	}
	return lines
}

// Read reads traces of the format weka_trace, or graphs that Convert has written, and calls each with one graph at
// a time. All problems of the file, twenty at most, are in one *[file.Error].
func Read(ctx context.Context, in file.File, o Options, each func(*Graph) error) (repairs Repairs, err error) {
	in.Folder, in.Numbers, in.MaxRecord = true, nil, maxRecord
	r, err := readTraces(ctx, in, o)
	if err != nil {
		return repairs, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var faults file.Error
	places := map[string]string{} // of each trace
	read := 0
	for {
		record, err := r.Next()
		wrong, damaged := errors.AsType[*file.RecordError](err)
		switch {
		case errors.Is(err, io.EOF) && !damaged:
			if len(faults.Problems) == 0 && len(places) == 0 {
				return repairs, fmt.Errorf("no trace is left: %d read, %d left out because of problems", read, repairs.SkippedTraces)
			}
			return repairs, faults.OrNil()
		case err != nil && !damaged:
			return repairs, errors.Join(faults.OrNil(), err)
		}
		read++
		g, problems, where := r.graph, r.problems, record.Place.String()
		if damaged {
			g, problems, where = nil, []string{wrong.Err.Error()}, wrong.Place.String()
		}
		if g != nil && len(problems) == 0 {
			if before, taken := places[g.ID]; taken {
				problems = []string{fmt.Sprintf("trace %s: its id is that of the trace in %s", g.ID, before)}
			} else {
				places[g.ID] = where
			}
			repairs.add(&r.repairs)
		}
		switch {
		case len(problems) > 0 && o.SkipBad:
			repairs.SkippedTraces++
		case len(problems) > 0:
			if !faults.Add(where, problems...) {
				return repairs, &faults
			}
		case len(faults.Problems) == 0:
			if err := each(g); err != nil {
				return repairs, err
			}
		}
	}
}

// traces reads the traces of files, or takes them from the cache if the files have not changed since they were read.
type traces struct {
	o      *Options
	ids    *sieve
	in     *file.Reader  // nil = they are cached
	cached *cachedTraces // nil = they are read
	keep   *cacheWriter  // nil = they are not kept
	whole  bool          // all traces were read
	flaws  bool          // … and some had problems

	// Of the last record.
	graph    *Graph
	problems []string
	repairs  Repairs
}

// readTraces opens files with traces.
func readTraces(ctx context.Context, f file.File, o Options) (*traces, error) {
	t := &traces{o: &o, ids: newSieve()}
	f.Sieve = t.ids
	store := cache{o.Cache}
	if o.Strict {
		store.folder = "" // which has no names of members
	}
	key := store.key(&f, &o)
	if t.cached = store.open(key); t.cached != nil {
		return t, nil
	}
	var err error
	if t.in, err = file.Open(ctx, f); err != nil {
		return nil, err
	}
	t.keep = store.write(key, &o)
	return t, nil
}

// Next implements [source.Records]. The trace is in t until the next call.
func (t *traces) Next() (file.Record, error) {
	t.graph, t.problems, t.repairs = nil, nil, Repairs{}
	if t.cached != nil {
		one, err := t.cached.next()
		if err != nil {
			return file.Record{}, err
		}
		t.graph, t.repairs = one.graph, one.repairs
		return file.Record{Place: one.place, Data: t.cached.data}, nil
	}
	record, err := t.in.Next()
	if err != nil {
		t.whole = errors.Is(err, io.EOF)
		t.flaws = t.flaws || !t.whole
		return record, err
	}
	record.Data = t.ids.record(record.Data)
	t.graph, t.problems = t.o.parse(record.Data, t.ids, &t.repairs)
	t.ids.forget()
	switch {
	case len(t.problems) > 0:
		t.flaws = true
	case t.keep != nil && !t.flaws:
		t.keep.add(&packedTrace{record.Place, t.graph, t.repairs}, t.ids.digest())
	}
	return record, nil
}

// Close implements [source.Records].
func (t *traces) Close() error {
	if t.cached != nil {
		return t.cached.file.Close()
	}
	if t.keep != nil {
		t.keep.finish(t.whole && !t.flaws)
	}
	return t.in.Close()
}

// parse reads a record of either format, from which ids were taken.
func (o *Options) parse(data []byte, ids *sieve, repairs *Repairs) (*Graph, []string) {
	if !json.Valid(data) || !bytes.HasPrefix(data, []byte("{")) { // CheckObject costs twice as much, and says why
		if err := file.CheckObject(ids.whole()); err != nil {
			return nil, []string{err.Error()}
		}
	}
	if bytes.Contains(data[:min(len(data), len(header)+64)], []byte(`"`+FormatGraph+`"`)) {
		return parseGraph(data)
	}
	if !looksLikeWeka(data) {
		return nil, []string{`not a trace: it needs the members "block_size", "hash_id_scope" and "requests" of ` + FormatWeka +
			`, or "format": "` + FormatGraph + `"`}
	}
	kept := *repairs
	t, problems := parseWeka(data, ids.lists, o.Strict, repairs)
	if len(problems) > 0 {
		*repairs = kept
		return nil, problems
	}
	return t.graph(o.Rules, hex.EncodeToString(ids.digest())), nil
}

// FormatGraph names the form of graphs in files: one per line.
const FormatGraph = "aiperfd-agent/1"

// header begins each line.
const header = `{"format":"` + FormatGraph + `",`

// Write writes a graph as one line.
func Write(w io.Writer, g *Graph) error {
	data, err := json.Marshal(g)
	if err != nil {
		return err
	}
	_, err = w.Write(append(append([]byte(header), data[1:]...), '\n'))
	return err
}

// parseGraph reads a line that Write has written, perhaps edited by hand.
func parseGraph(data []byte) (*Graph, []string) {
	g := &Graph{}
	if err := json.Unmarshal(data, g); err != nil {
		return nil, []string{err.Error()}
	}
	if problem := g.check(); problem != "" {
		return nil, []string{"trace " + g.ID + ": " + problem}
	}
	return g, nil
}

// check returns what is wrong with a graph; "" = nothing.
func (g *Graph) check() string {
	if g.ID == "" || g.Block < 1 || len(g.Streams) == 0 {
		return "id, block of at least 1, and streams are needed"
	}
	known := map[string]bool{}
	for i, s := range g.Streams {
		if s == nil || s.ID == "" || len(s.Requests) == 0 {
			return fmt.Sprintf("streams[%d] needs an id and requests", i)
		}
		if (s.Spawn == nil) != (i == 0) {
			return fmt.Sprintf("streams[%d]: the first stream, and no other, has no spawn", i)
		}
		for k := range s.Requests {
			if r := &s.Requests[k]; r.In < 1 || r.Out < 1 || r.Shared < 0 || r.T < 0 {
				return fmt.Sprintf("stream %s: requests[%d]: in and out must be at least 1, t and shared not negative", s.ID, k)
			}
			known[name(s.ID, k)] = true
		}
	}
	for _, s := range g.Streams {
		if s.Spawn != nil && !known[s.Spawn.After] {
			return fmt.Sprintf("stream %s: spawn.after %q is no request of the trace", s.ID, file.Clip(s.Spawn.After))
		}
	}
	for at, needs := range g.Needs {
		for _, one := range append(needs, at) {
			if !known[one] {
				return fmt.Sprintf("needs: %q is no request of the trace", file.Clip(one))
			}
		}
	}
	return ""
}
