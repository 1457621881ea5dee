package agentic

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"

	"aiperfd/internal/engine/bench"
)

// Corpus describes traces that are generated: their figures are about those of the published ones
// (semianalysis_cc_traces_weka_062126), so that a trial needs no download.
type Corpus struct {
	Traces   int
	Requests int // mean of the main stream; sub-agents add about three quarters of it
	Context  int // longest prompt, in tokens
	Seed     bench.Seed
}

// The figures of the published traces that generated ones follow.
const (
	corpusBlock     = 64
	firstTokens     = 60_000 // median of the first prompt
	firstSpread     = 0.5    // of its logarithm
	requestSpread   = 0.9    // of the logarithm of the number of requests
	fewestRequests  = 4      // of a session
	freshBlocks     = 11     // median of what a turn adds
	freshSpread     = 1.35   // of its logarithm
	pasteShare      = 0.03   // turns that add much more
	pasteBlocks     = 1000   // … up to this
	editShare       = 0.06   // turns that change what was sent
	answerTokens    = 220    // median
	answerSpread    = 1.2
	gapSeconds      = 9.0 // median pause
	gapSpread       = 1.9
	longestGap      = 4 * 3600.0
	agentSessions   = 0.44  // share of sessions with sub-agents
	agentGroups     = 0.055 // of their turns start sub-agents
	mostParallel    = 4
	agentRequests   = 20 // mean of a sub-agent
	answersPerSec   = 60 // tokens
	prefillPerSec   = 20_000.0
	leastContext    = 4096
	sharedSubBlocks = 2 // of a sub-agent with the main stream
)

// Check returns what is wrong with the numbers.
func (c *Corpus) Check() error {
	switch {
	case c.Traces < 1:
		return fmt.Errorf("traces %d: must be at least 1", c.Traces)
	case c.Requests < fewestRequests:
		return fmt.Errorf("requests %d: must be at least %d", c.Requests, fewestRequests)
	case c.Context < leastContext:
		return fmt.Errorf("context %d: must be at least %d tokens", c.Context, leastContext)
	}
	return nil
}

// Generate writes the traces in the format weka_trace, one per line. A trace depends on the seed
// and its number, not on how many there are.
func (c *Corpus) Generate(out io.Writer) error {
	if err := c.Check(); err != nil {
		return err
	}
	w := bufio.NewWriterSize(out, 1<<20)
	for i := range c.Traces {
		g := &generator{corpus: c, r: c.Seed.Index("agentic.generate", i)}
		if err := g.trace(w, i); err != nil {
			return err
		}
	}
	return w.Flush()
}

// generator makes one trace.
type generator struct {
	corpus *Corpus
	r      *rand.Rand
	next   int64 // id of a block that was not used
	line   []byte
}

// logNormal draws a number with a median.
func (g *generator) logNormal(median, spread float64) float64 {
	return median * math.Exp(spread*g.r.NormFloat64())
}

// trace writes one trace.
func (g *generator) trace(w *bufio.Writer, number int) error {
	mean := float64(g.corpus.Requests) / math.Exp(requestSpread*requestSpread/2)
	turns := max(fewestRequests, int(g.logNormal(mean, requestSpread)))
	limit := max(leastContext, min(g.corpus.Context, int(g.logNormal(float64(g.corpus.Context)/2, 0.6))))
	agents := g.r.Float64() < agentSessions
	name, _ := json.Marshal(fmt.Sprintf("generated-%04d", number)) // a string
	g.line = append(g.line[:0], `{"id":`...)
	g.line = append(append(g.line, name...), `,"models":["large"],"block_size":64,"hash_id_scope":"local","tool_tokens":0,"system_tokens":0,"requests":[`...)
	s := &dialogue{limit: limit}
	at := 0.0
	for k := range turns {
		in := g.grow(s, k)
		end := g.request(at, in, s)
		if agents && k+1 < turns && g.r.Float64() < agentGroups {
			end = g.subAgents(number, k, end, s)
		}
		at = end + min(g.logNormal(gapSeconds, gapSpread), longestGap)
	}
	_, err := w.Write(append(g.line, "]}\n"...))
	return err
}

// dialogue is the prompt of a stream so far.
type dialogue struct {
	ids   []int64
	limit int // tokens
}

// grow makes the next prompt of a stream and returns its length.
func (g *generator) grow(s *dialogue, turn int) (in int) {
	fresh := int(g.logNormal(freshBlocks, freshSpread))
	switch {
	case turn == 0:
		fresh = int(g.logNormal(firstTokens, firstSpread)) / corpusBlock
	case g.r.Float64() < pasteShare:
		fresh = 1 + g.r.IntN(pasteBlocks)
	}
	most := max(1, s.limit/corpusBlock-1)
	switch {
	case len(s.ids)+fresh > most: // the context is compacted
		s.ids = s.ids[:len(s.ids)/3]
	case turn > 0 && g.r.Float64() < editShare:
		s.ids = s.ids[:len(s.ids)-g.r.IntN(len(s.ids)/5+1)]
	}
	for range max(1, min(fresh, most-len(s.ids))) {
		s.ids = append(s.ids, g.next)
		g.next++
	}
	return len(s.ids)*corpusBlock + g.r.IntN(corpusBlock)
}

// open begins an element of the list that is being written.
func (g *generator) open() {
	if last := g.line[len(g.line)-1]; last != '[' {
		g.line = append(g.line, ',')
	}
}

// request writes a request and returns when its answer has ended.
func (g *generator) request(at float64, in int, s *dialogue) (end float64) {
	out := max(1, int(g.logNormal(answerTokens, answerSpread)))
	api := 0.4 + float64(out)/answersPerSec + float64(in%8192)/prefillPerSec
	g.open()
	g.line = append(g.line, `{"t":`...)
	g.line = strconv.AppendFloat(g.line, at, 'f', 3, 64)
	g.line = append(g.line, `,"type":"s","model":"large","in":`...)
	g.line = strconv.AppendInt(g.line, int64(in), 10)
	g.line = append(g.line, `,"out":`...)
	g.line = strconv.AppendInt(g.line, int64(out), 10)
	g.line = append(g.line, `,"api_time":`...)
	g.line = strconv.AppendFloat(g.line, api, 'f', 3, 64)
	g.line = append(g.line, `,"hash_ids":[`...)
	for i, id := range s.ids {
		if i > 0 {
			g.line = append(g.line, ',')
		}
		g.line = strconv.AppendInt(g.line, id, 10)
	}
	g.line = append(g.line, `]}`...)
	return at + api
}

// subAgents writes sub-agents that work in parallel after a turn, and returns when all have ended.
func (g *generator) subAgents(number, turn int, at float64, main *dialogue) (end float64) {
	for n := range 1 + g.r.IntN(mostParallel) {
		g.open()
		began := at + 0.05
		g.line = append(g.line, `{"t":`...)
		g.line = strconv.AppendFloat(g.line, began, 'f', 3, 64)
		g.line = fmt.Appendf(g.line, `,"type":"subagent","agent_id":"a%d-%d-%d","subagent_type":"Explore","status":"completed","models":["large"],"requests":[`,
			number, turn, n)
		s := &dialogue{ids: append([]int64(nil), main.ids[:min(sharedSubBlocks, len(main.ids))]...), limit: max(leastContext, main.limit/3)}
		last := began
		for k := range 1 + g.r.IntN(2*agentRequests) {
			in := g.grow(s, max(1, k))
			last = g.request(last+g.r.Float64(), in, s)
		}
		g.line = append(g.line, `]}`...)
		end = max(end, last)
	}
	return end
}
