package tokenizer

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"os"
	"testing"
)

var updateTables = flag.Bool("update-tables", false, "write the tables of o200k_base to data/")

// TestTables: the embedded tables equal those of the vocabulary.
func TestTables(t *testing.T) {
	packed, err := os.ReadFile("testdata/o200k_base.pairs.zst")
	if err != nil {
		t.Fatal(err)
	}
	m, err := unpackPairs(packed, noLimit)
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
