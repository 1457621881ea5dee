package tokenizer

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/klauspost/compress/zstd"
)

var updateTables = flag.Bool("update-tables", false, "write the tables of o200k_base to data/")

// TestTables: the embedded tables are what the vocabulary gives.
func TestTables(t *testing.T) {
	packed, err := os.ReadFile("testdata/o200k_base.pairs.zst")
	if err != nil {
		t.Fatal(err)
	}
	m, err := unpackPairs(packed)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(packed)
	h := tablesHead{
		Origin: [6]byte(sum[:]), Tokens: uint32(m.vocab.size()), Present: uint32(m.vocab.count),
		Longest: uint32(m.vocab.maxLen), Index: uint32(m.vocab.index.len()),
		Merges: uint32(len(m.merges.slots) / slotBytes), Bytes: m.byteIDs,
	}
	tables, err := binary.Append(nil, binary.LittleEndian, &h)
	if err != nil {
		t.Fatal(err)
	}
	tables = append(tables, m.vocab.starts...)
	tables = append(tables, m.vocab.index...)
	tables = append(tables, m.merges.slots...)
	if *updateTables {
		for name, data := range map[string][]byte{"text": []byte(m.vocab.blob), "tables": tables} {
			if err := os.WriteFile("data/o200k_base."+name, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		t.Skip("written")
	}
	if o200kText != m.vocab.blob {
		t.Error("data/o200k_base.text is another: go test -run TestTables -update-tables")
	}
	if !bytes.Equal(o200kTables, tables) {
		t.Error("data/o200k_base.tables is another: go test -run TestTables -update-tables")
	}
}

// unpackPairs reads a vocabulary in which every token is a byte or the merge
// of two earlier tokens; the format is described in scripts/tokenizer/o200k.py.
//
// That a token has only one pair of halves in the merge table, while tiktoken
// merges any two neighbours whose concatenation is a token, makes no
// difference: two neighbours were merged from exactly the bytes they span, in
// the same order as these bytes would be on their own.
func unpackPairs(packed []byte) (*bpe, error) {
	reader, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	data, err := reader.DecodeAll(packed, nil)
	if err != nil {
		return nil, err
	}
	if len(data) < 4 {
		return nil, errors.New("no data")
	}
	n := int(binary.LittleEndian.Uint32(data))
	planes := data[4:]
	if len(planes) != 6*n {
		return nil, fmt.Errorf("%d bytes for %d tokens", len(planes), n)
	}
	at := func(plane, i int) uint32 { return uint32(planes[plane*n+i]) }
	m := &bpe{byteMode: true, takeWhole: true, unk: noValue, merges: newMerges(n)}
	lefts, rights := make([]uint32, n), make([]uint32, n)
	blob, starts := make([]byte, 0, 8*n), newNumbers(n+1)
	for i := range n {
		left := at(0, i) | at(1, i)<<8 | at(2, i)<<16
		right := at(3, i) | at(4, i)<<8 | at(5, i)<<16
		lefts[i], rights[i] = left, right
		switch {
		case left == uint32(i) && right < 256:
			blob = append(blob, byte(right))
			m.byteIDs[right] = left
		case left < uint32(i) && right < uint32(i):
			blob = append(blob, blob[starts.at(int(left)):starts.at(int(left)+1)]...)
			blob = append(blob, blob[starts.at(int(right)):starts.at(int(right)+1)]...)
		default:
			return nil, fmt.Errorf("token %d is made of later tokens", i)
		}
		starts.set(i+1, uint32(len(blob)))
	}
	m.vocab = &vocab{blob: string(blob), starts: starts}
	m.vocab.buildIndex(nil)
	for i := range n {
		if lefts[i] != uint32(i) {
			m.merges.put(lefts[i], rights[i], uint32(i))
		}
	}
	return m, nil
}
