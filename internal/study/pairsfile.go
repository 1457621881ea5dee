package study

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"aiperfd/internal/results"
	"aiperfd/internal/study/paired"
)

// pairsFile is the file of the pairs of a study: those of closed blocks in their order, and at its end those that
// belong to none.
type pairsFile struct {
	file io.Closer
	buf  *bufio.Writer
	out  *csv.Writer
}

// pairsHeader are the columns of the file.
var pairsHeader = []string{
	"block", "session", "due_sec", "first", "same_prompt", "a_failed", "b_failed", "a_send_lag_ms", "b_send_lag_ms",
	"a_time_to_first_token_ms", "b_time_to_first_token_ms", "a_inter_token_latency_ms", "b_inter_token_latency_ms",
	"a_request_latency_ms", "b_request_latency_ms",
	"a_input_tokens", "b_input_tokens", "a_output_tokens", "b_output_tokens",
}

// openPairs opens the file of the pairs in the folder of a study. It keeps the pairs of blocks that an earlier process
// has closed, and returns them; what follows them in the file is removed. A block counts if the file has all of its
// pairs.
func openPairs(dir string, blocks []results.PairedBlock) (*pairsFile, []paired.Pair, error) {
	path := filepath.Join(dir, results.PairsFile)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", results.PairsFile, err)
	}
	rows, end := readPairs(file, blocks)
	if err := file.Truncate(end); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("cut %s: %w", results.PairsFile, err), file.Close())
	}
	if _, err := file.Seek(end, io.SeekStart); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("cut %s: %w", results.PairsFile, err), file.Close())
	}
	f := &pairsFile{file: file, buf: bufio.NewWriter(file)}
	f.out = csv.NewWriter(f.buf)
	if end == 0 {
		err = f.out.Write(pairsHeader)
	}
	return f, rows, err
}

// readPairs returns the pairs of the blocks of which the file has all, and where in the file they end; 0 = it has none,
// or is of another version.
func readPairs(file io.Reader, blocks []results.PairedBlock) (rows []paired.Pair, end int64) {
	in := csv.NewReader(file)
	in.ReuseRecord = true
	header, err := in.Read()
	if err != nil || !slices.Equal(header, pairsHeader) {
		return nil, 0
	}
	end = in.InputOffset()
	for k := range blocks {
		kept := len(rows)
		for range blocks[k].Pairs {
			line, err := in.Read()
			if err != nil {
				return rows[:kept], end
			}
			row, ok := parsePair(line)
			if !ok || row.Block != k {
				return rows[:kept], end
			}
			rows = append(rows, row)
		}
		end = in.InputOffset()
	}
	return rows, end
}

// parsePair reads a line of the file; ok is false if it is damaged.
func parsePair(line []string) (p paired.Pair, ok bool) {
	ok = true
	number := func(text string) float64 {
		if text == "" {
			return math.NaN()
		}
		v, err := strconv.ParseFloat(text, 64)
		ok = ok && err == nil
		return v
	}
	truth := func(text string) bool {
		v, err := strconv.ParseBool(text)
		ok = ok && err == nil
		return v
	}
	whole := func(text string) int64 {
		v, err := strconv.ParseInt(text, 10, 64)
		ok = ok && err == nil
		return v
	}
	p.Block = int(whole(line[0]))
	if line[3] == paired.B.String() {
		p.First = paired.B
	}
	for side := range p.Sides {
		s := &p.Sides[side]
		s.Session = whole(line[1])
		s.Due = seconds(number(line[2]))
		s.Failed = truth(line[5+side])
		s.Lag = time.Duration(math.Round(number(line[7+side]) * 1e6))
		for of := range s.Values {
			s.Values[of] = number(line[9+2*of+side])
		}
		s.Input, s.Output = number(line[15+side]), number(line[17+side])
	}
	if !truth(line[4]) {
		p.Sides[paired.B].Name = "other" // than that of A, which has none here
	}
	return p, ok
}

// write adds pairs. An error stays until close.
func (f *pairsFile) write(rows []paired.Pair) {
	number := func(v float64) string {
		if math.IsNaN(v) {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	for i := range rows {
		r := &rows[i]
		a, b := &r.Sides[paired.A], &r.Sides[paired.B]
		block := ""
		if r.Block >= 0 {
			block = strconv.Itoa(r.Block)
		}
		line := []string{
			block, strconv.FormatInt(a.Session, 10), number(a.Due.Seconds()), r.First.String(),
			strconv.FormatBool(a.Name == b.Name), strconv.FormatBool(a.Failed), strconv.FormatBool(b.Failed),
			number(a.Lag.Seconds() * 1000), number(b.Lag.Seconds() * 1000),
		}
		for of := range a.Values {
			x, y := number(a.Values[of]), number(b.Values[of])
			if a.Failed {
				x = ""
			}
			if b.Failed {
				y = ""
			}
			line = append(line, x, y)
		}
		line = append(line, number(a.Input), number(b.Input), number(a.Output), number(b.Output))
		_ = f.out.Write(line) // the error stays until close
	}
}

// flush hands what was written to the system.
func (f *pairsFile) flush() {
	f.out.Flush()
	_ = f.buf.Flush() // the error stays until close
}

// close writes what is left.
func (f *pairsFile) close() error {
	f.out.Flush()
	err := errors.Join(f.out.Error(), f.buf.Flush(), f.file.Close())
	if err != nil {
		return fmt.Errorf("write %s: %w", results.PairsFile, err)
	}
	return nil
}
