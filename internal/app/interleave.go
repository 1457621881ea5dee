package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"aiperfd/internal/compare"
	"aiperfd/internal/results"
)

// Interleaved are two documents that are measured alternately and compared.
type Interleaved struct {
	A, B    *Trials
	Repeats int       // runs of each, at least 1
	Dir     string    // of the runs; it must not have any
	Status  io.Writer // of one line for each run
}

// Compare measures both documents in the order A, B, B, A, so that a change of the server in time is not one
// between them, and compares the runs. Documents that put different loads on their servers are not measured.
func (m *Interleaved) Compare(ctx context.Context, q compare.Question) (*compare.Answer, error) {
	answer, err := m.foresee(q)
	if err != nil || answer.Verdict == compare.NotComparable {
		return answer, err
	}
	if left, err := os.ReadDir(m.Dir); err == nil && len(left) > 0 {
		return nil, &OutcomeError{BadInput, fmt.Sprintf("the folder %s is not empty", m.Dir)}
	}
	a, b := filepath.Join(m.Dir, "a"), filepath.Join(m.Dir, "b")
	for i := range 2 * m.Repeats {
		side, trials, folder := "A", m.A, a
		if compare.SecondOfABBA(i) {
			side, trials, folder = "B", m.B, b
		}
		fmt.Fprintf(m.Status, "run %d of %d: %s\n", i+1, 2*m.Repeats, side)
		if _, err := trials.Next(ctx, trialFolder(folder, i/2), 0); err != nil {
			return nil, fmt.Errorf("run %d of %d: %w", i+1, 2*m.Repeats, err)
		}
	}
	q.A, q.B = []string{a}, []string{b}
	if answer, err = Compare(ctx, m.A.version, "", q); err != nil {
		return nil, err
	}
	answer.Stop = results.AnswerStop{Reason: results.StopComplete, Probes: 2 * m.Repeats}
	answer.Provenance.Seed, answer.Provenance.SeedB = new(m.A.Seed()), new(m.B.Seed())
	return answer, writeAnswer(m.Dir, results.AnswerFile, answer, map[string][]byte{
		results.AnswerMarkdown: []byte(answer.Markdown()), compare.ComparisonFile: answer.CSV(),
	})
}

// foresee compares the documents before they are measured. If they have no server in common, it gives the runs
// of both the same prompts, run by run: nothing that one side sends can then be in the cache of the other's server.
func (m *Interleaved) foresee(q compare.Question) (*compare.Answer, error) {
	a, err := m.A.Describe()
	b, second := m.B.Describe()
	if err := errors.Join(err, second); err != nil {
		return nil, err
	}
	if !a.ServerInCommon(b) {
		m.B.followSeed(m.A)
	}
	return compare.Judge([]compare.Input{{Run: a}}, []compare.Input{{Run: b}}, compare.AnswerOptions{
		Version: a.Version, Margin: q.Margin, Metrics: q.Metrics, Allow: q.Allow,
	})
}

// FreeFolder returns a folder of that name, or one with a number if there is something in it.
func FreeFolder(name string) string {
	dir := name
	for n := 2; ; n++ {
		if left, err := os.ReadDir(dir); err != nil || len(left) == 0 {
			return dir
		}
		dir = fmt.Sprintf("%s-%d", name, n)
	}
}
