package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// The tables of testdata/make.py, written by pyarrow and polars, have the rows that
// these libraries read from them.
func TestGoldenTables(t *testing.T) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, path := range files {
		if e := filepath.Ext(path); e != ".parquet" && e != ".arrow" {
			continue
		}
		read++
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			family, _, _ := strings.Cut(filepath.Base(path), ".")
			want, err := os.ReadFile(filepath.Join("testdata", strings.TrimSuffix(family, "zstd")+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := rows(data, 100)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(normal(t, strings.Split(strings.TrimSpace(string(want)), "\n")), normal(t, got)); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
	if read != 18 {
		t.Errorf("%d tables were read, want 18", read)
	}
}

// rows reads at most so many rows of a table.
func rows(data []byte, most int) ([]string, error) {
	var next func() ([]byte, error)
	if bytes.HasPrefix(data, []byte("PAR1")) {
		p, err := newParquet(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return nil, err
		}
		defer p.Close()
		next = p.Next
	} else {
		a, err := newArrow(iotest.HalfReader(bytes.NewReader(data)))
		if err != nil {
			return nil, err
		}
		defer a.Close()
		next = a.Next
	}
	var all []string
	for len(all) < most {
		row, err := next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, string(row))
	}
	return all, nil
}

// normal decodes rows; numbers that are not integers are rounded to 32 bits, because
// the libraries write them with different digits.
func normal(t *testing.T, rows []string) []any {
	t.Helper()
	var all []any
	for _, row := range rows {
		d := json.NewDecoder(strings.NewReader(row))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatalf("row %s: %v", row, err)
		}
		all = append(all, round(v))
	}
	return all
}

func round(v any) any {
	switch v := v.(type) {
	case json.Number:
		if strings.ContainsAny(string(v), ".eE") {
			f, err := strconv.ParseFloat(string(v), 32)
			if err != nil {
				return string(v)
			}
			return f
		}
		if f, err := strconv.ParseFloat(string(v), 64); err == nil && len(v) < 8 {
			return f
		}
		return string(v)
	case []any:
		for i := range v {
			v[i] = round(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = round(v[name])
		}
	}
	return v
}

func TestFloats(t *testing.T) {
	for bits, want := range map[uint16]string{0x3c00: "1", 0xc000: "-2", 0x7bff: "65504", 0x0001: "5.9604645e-08", 0x8000: "-0", 0x7c00: "null", 0x7e00: "null"} {
		if got := string(appendFloat(nil, half(bits), 32)); got != want {
			t.Errorf("half %#04x = %s, want %s", bits, got, want)
		}
	}
}

func TestDecimals(t *testing.T) {
	for _, tt := range []struct {
		raw   []byte
		scale int
		want  string
	}{
		{[]byte{0x04, 0xd2}, 2, "12.34"},
		{[]byte{0xff, 0xfb}, 2, "-0.05"},
		{[]byte{0x05}, -3, "5000"},
		{[]byte{0x80}, 0, "-128"},
	} {
		if got := string(appendDecimal(nil, bigEndian(tt.raw), tt.scale)); got != tt.want {
			t.Errorf("decimal %x scale %d = %s, want %s", tt.raw, tt.scale, got, tt.want)
		}
	}
}

// Cut off anywhere, a table is an error and never silently shorter.
func TestTruncatedTables(t *testing.T) {
	for _, name := range []string{"nested.zstd.arrow", "nested.lz4.arrow", "scalars.snappy.parquet", "nested.none.parquet"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		end := len(data)
		if strings.HasSuffix(name, ".arrow") {
			// The footer is not needed: it begins after the mark at the end of the batches.
			end = bytes.LastIndex(data, []byte("\xff\xff\xff\xff\x00\x00\x00\x00")) + 8
		}
		for n := 8; n < end; n += 7 {
			if got, err := rows(data[:n], 100); err == nil {
				t.Fatalf("%s cut to %d of %d bytes: %d rows and no error", name, n, len(data), len(got))
			}
		}
	}
}

// One damaged bit with which parquet-go would run forever or take gigabytes: zstd that
// is said to be LZ4, and a dictionary that is said to be encoded in runs.
func TestDamagedParquet(t *testing.T) {
	for _, tt := range []struct {
		file string
		bit  int
		want string
	}{
		{"scalars.zstd.parquet", 31937, "decode LZ4"},
		{"nested.zstd.parquet", 21065, "decode LZ4"},
		{"scalars.int96.parquet", 5604, "a dictionary encoded as RLE_DICTIONARY"},
	} {
		data, err := os.ReadFile(filepath.Join("testdata", tt.file))
		if err != nil {
			t.Fatal(err)
		}
		data[tt.bit/8] ^= 1 << (tt.bit % 8)
		if _, err := rows(data, 100); !errors.Is(err, errDamaged) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, bit %d: %v, want %q", tt.file, tt.bit, err, tt.want)
		}
	}
}

// Damaged tables end with an error or with rows that are JSON, and never with a panic.
func FuzzTables(f *testing.F) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		if e := filepath.Ext(path); e == ".parquet" || e == ".arrow" {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		all, _ := rows(data, 50)
		for _, row := range all {
			if !json.Valid([]byte(row)) {
				t.Errorf("row %q is not JSON", row)
			}
		}
	})
}
