package export

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"aiperfd/internal/engine/bench"
	datafile "aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/redact"
)

// The rows of a group, and the bytes of its columns before compression, about. A group
// is in memory until it is written.
const (
	groupRows  = 20_000
	groupBytes = 32 << 20
)

// tableBatch is the number of rows that are handed over at a time.
const tableBatch = 256

// tableMetadataKey is the key of the metadata of a file.
const tableMetadataKey = "aiperfd"

// tableMetadata is what all rows have in common.
type tableMetadata struct {
	Epoch   int64           `json:"epoch_ns"` // wall clock, since 1970
	Worker  string          `json:"worker_id"`
	Phases  []PhaseName     `json:"phases"`
	Metrics measure.Options `json:"metrics"`
}

// TableWriter writes the records of a run as Apache Parquet: a tenth of the size of the lines that
// AIPerf writes, and the same content. It is not safe for concurrent use. A file can be read after
// Close only.
type TableWriter struct {
	out     *parquet.GenericWriter[row]
	secrets *redact.Set
	rows    []row
	bytes   int // of the group, about
}

// NewTableWriter returns a writer to w, which the caller closes.
func NewTableWriter(w io.Writer, o RecordOptions) (*TableWriter, error) {
	data, err := json.Marshal(tableMetadata{Epoch: o.Clock.UnixNano(0), Worker: o.Worker, Phases: o.Phases, Metrics: o.Metrics})
	if err != nil {
		return nil, err
	}
	return &TableWriter{secrets: o.Secrets, out: parquet.NewGenericWriter[row](w,
		parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(groupRows), parquet.KeyValueMetadata(tableMetadataKey, string(data)))}, nil
}

// Write appends one record. It keeps nothing of r.
func (w *TableWriter) Write(r *bench.Record) error {
	next, err := newRow(r, w.secrets)
	if err != nil {
		return err
	}
	w.rows = append(w.rows, *next)
	w.bytes += len(next.Rest) + 16*len(r.Answer.Chunks)
	if len(w.rows) < tableBatch && w.bytes < groupBytes {
		return nil
	}
	return w.flush()
}

// flush hands rows over, and ends their group if it is large.
func (w *TableWriter) flush() error {
	_, err := w.out.Write(w.rows)
	w.rows = w.rows[:0]
	if w.bytes >= groupBytes {
		w.bytes = 0
		err = errors.Join(err, w.out.Flush())
	}
	return err
}

// Close writes what is left and the end of the file.
func (w *TableWriter) Close() error { return errors.Join(w.flush(), w.out.Close()) }

// WriteLines turns a file into the lines that a [RecordWriter] writes.
func WriteLines(w io.Writer, file io.ReaderAt, size int64) (err error) {
	defer func() {
		if failure := recover(); failure != nil { // the library panics at some damaged files
			err = fmt.Errorf("read records: the file is damaged: %v", failure)
		}
	}()
	in, err := parquet.OpenFile(file, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return fmt.Errorf("read records: %w", err)
	}
	for group := range in.RowGroups() {
		if err := datafile.VerifyParquet(in, group); err != nil {
			return fmt.Errorf("read records: %w", err)
		}
	}
	text, ok := in.Lookup(tableMetadataKey)
	if !ok {
		return fmt.Errorf("read records: the file has no metadata %q", tableMetadataKey)
	}
	var m tableMetadata
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return fmt.Errorf("read records: metadata: %w", err)
	}
	out := NewRecordWriter(w, RecordOptions{
		Clock: bench.ClockAt(time.Unix(0, m.Epoch)), Phases: m.Phases, Metrics: m.Metrics, Worker: m.Worker,
	})
	rows := parquet.NewGenericReader[row](in)
	defer rows.Close()
	list := make([]row, tableBatch)
	for {
		clear(list)
		n, err := rows.Read(list)
		for i := range n {
			r, err := list[i].record()
			if err != nil {
				return err
			}
			if err := out.Write(r); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return out.Flush()
		}
		if err == nil && n == 0 {
			err = io.ErrNoProgress // a damaged file
		}
		if err != nil {
			return fmt.Errorf("read records: %w", err)
		}
	}
}

// FindTables returns the Parquet files of records in the folder of a run; none is no error.
func FindTables(dir string) []string {
	names, _ := filepath.Glob(filepath.Join(dir, "*"+TableExtension)) // a folder with brackets has none
	return names
}

// TableExtension ends the names of Parquet files.
const TableExtension = ".parquet"

// ConvertTable turns a Parquet file of records into lines, in a folder that is created if it
// does not exist, and returns the name of the file of lines.
func ConvertTable(path, to string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(to, 0o777); err != nil {
		return "", err
	}
	name := strings.TrimSuffix(filepath.Base(path), TableExtension) + filepath.Ext(NamesFor("").Records)
	err = durable.Write(filepath.Join(to, name), durable.Shared, func(w io.Writer) error {
		buffer := bufio.NewWriter(w)
		return errors.Join(WriteLines(buffer, in, info.Size()), buffer.Flush())
	})
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return name, nil
}
