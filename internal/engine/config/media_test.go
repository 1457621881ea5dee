package config

import (
	"aiperfd/internal/engine/config/sandbox"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mediaText writes what a dataset says of media and rankings, as it is shown.
func mediaText(d Dataset) string {
	return string(encode(view(d, "", "images audio rankings")))
}

func TestMediaFlags(t *testing.T) {
	const (
		side  = `{"min":null,"max":null,"mean":512,"stddev":0}`
		noise = `"source":"noise","sourceSampling":"random-with-replacement"}`
		rate  = `"format":"wav","depths":[16],"sampleRates":[16],"channels":1}`
	)
	rows := []struct{ argv, want string }{
		{"", `{"images":null,"audio":null,"rankings":null}`},
		{"--image-width-mean 512 --image-height-mean 512", `{"images":{"batchSize":1,"width":` + side + `,"height":` + side + `,"format":"jpeg",` + noise + `,"audio":null,"rankings":null}`},
		{"--image-height-mean 300", `{"images":{"batchSize":1,"width":` + side + `,"height":{"min":null,"max":null,"mean":300,"stddev":0},"format":"jpeg",` + noise + `,"audio":null,"rankings":null}`},
		{"--image-width-stddev 9 --image-format PNG", `{"images":{"batchSize":1,"width":{"min":null,"max":null,"mean":512,"stddev":9},"height":` + side + `,"format":"png",` + noise + `,"audio":null,"rankings":null}`},
		{"--batch-size-image 3", `{"images":{"batchSize":3,"width":` + side + `,"height":` + side + `,"format":"jpeg",` + noise + `,"audio":null,"rankings":null}`},
		{"--image-width-mean 0 --image-height-mean 0", `{"images":{"batchSize":0,"width":{"min":null,"max":null,"mean":0,"stddev":0},"height":{"min":null,"max":null,"mean":0,"stddev":0},"format":"jpeg",` + noise + `,"audio":null,"rankings":null}`},
		{"--image-width-mean 20 --image-batch-size 0", `{"images":{"batchSize":0,"width":{"min":null,"max":null,"mean":20,"stddev":0},"height":null,"format":"jpeg",` + noise + `,"audio":null,"rankings":null}`},
		{"--image-source testdata --image-source-sampling sequential-cycle", `{"images":{"batchSize":1,"width":` + side + `,"height":` + side + `,"format":"jpeg","source":"testdata","sourceSampling":"sequential-cycle"},"audio":null,"rankings":null}`},
		{"--audio-length-mean 5.0 --audio-format wav --audio-sample-rates 16", `{"images":null,"audio":{"batchSize":1,"length":{"min":null,"max":null,"mean":5.0,"stddev":0},` + rate + `,"rankings":null}`},
		{"--audio-depths 8,24 --audio-depths 32 --audio-sample-rates 8,44.1,48000 --audio-num-channels 2 --batch-size-audio 2 --audio-length-stddev 1",
			`{"images":null,"audio":{"batchSize":2,"length":{"min":null,"max":null,"mean":10,"stddev":1},"format":"wav","depths":[8,24,32],"sampleRates":[8,44.1,48000],"channels":2},"rankings":null}`},
	}
	for _, row := range rows {
		t.Run(row.argv, func(t *testing.T) {
			d := mustFlags(t, strings.Fields(row.argv)...)
			want := strings.ReplaceAll(row.want, "5.0", "5")
			if diff := cmp.Diff(want, mediaText(d.Benchmark.Datasets[0])); diff != "" {
				t.Errorf("media (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMediaProblems(t *testing.T) {
	rows := []struct{ argv, want string }{
		{"--image-width-mean -1 --image-format gif --image-batch-size many", "--image-width-mean -1: must be at least 0\n--image-format gif: must be jpeg, png or random\n--image-batch-size many: must be a whole number"},
		{"--image-height-mean 99999", "--image-height-mean 99999: must be at most 16384 pixels"},
		{"--image-source nowhere", "--image-source nowhere: must be noise, noise-smooth, assets or a directory; no such directory"},
		{"--image-source testdata/prompts.jsonl", "--image-source testdata/prompts.jsonl: must be noise, noise-smooth, assets or a directory"},
		{"--image-source-sampling shuffle-cycle", "--image-source-sampling: only valid if the source is a directory"},
		{"--audio-depths 16,12 --audio-sample-rates 0.5,x --audio-num-channels 3", "--audio-depths 12: must be 8, 16, 24 or 32\n--audio-sample-rates x: must be a number\n--audio-sample-rates 0.5: must be from 1 to 96 kHz, or from 1000 to 384000 Hz\n--audio-num-channels 3: must be at most 2"},
		{"--audio-format mp3", "--audio-format mp3: not supported by aiperfd yet; use wav"},
		{"--audio-length-mean 1e6", "--audio-length-mean 1e6: must be at most 14400 seconds"},
		{"--video-width 64", "--video-width: not supported by aiperfd yet"},
		{"--rankings-passages-mean 5", "--rankings-passages-mean: the endpoint type chat has no rankings; they are for rerank, cohere_rankings, nim_rankings, hf_tei_rankings or score"},
		{"--input-file testdata/prompts.jsonl --image-width-mean 5 --audio-batch-size 2", "--image-width-mean: only valid for datasets of type synthetic\n--audio-batch-size: only valid for datasets of type synthetic"},
	}
	for _, row := range rows {
		t.Run(row.argv, func(t *testing.T) {
			f, parse := parseFlags(append(append([]string{}, base...), strings.Fields(row.argv)...), nil)
			_, _, err := f.Document()
			if parse != nil {
				err = parse
			}
			var invalid *Invalid
			if !errors.As(err, &invalid) || err.Error() != row.want {
				t.Errorf("problems:\n%v\nwant:\n%s", err, row.want)
			}
		})
	}
}

// An endpoint type that ranks gets queries and passages, whether or not their
// shape is said.
func TestRankingDefaults(t *testing.T) {
	l := filler{newLoader(&report{}, LoadOptions{})}
	l.doc.Benchmark.Endpoint.Type = "cohere_rankings"
	mean := 3.0
	for _, tt := range []struct {
		given *Rankings
		want  string
	}{
		{nil, "10 128 32"}, {&Rankings{Passages: Distribution{Mean: &mean}}, "3 128 32"},
	} {
		d := Dataset{Rankings: tt.given}
		l.mediaDefaults(&d, "benchmark.datasets.0")
		r := d.Rankings
		if got := format(*r.Passages.Mean) + " " + format(*r.PassageTokens.Mean) + " " + format(*r.QueryTokens.Mean); got != tt.want {
			t.Errorf("rankings = %s, want %s", got, tt.want)
		}
	}
	if given := l.doc.Defaulted(); len(given) != 1 || given[0].Pointer != "#/benchmark/datasets/0/rankings" {
		t.Errorf("Defaulted() = %+v, want the rankings that were not given", given)
	}
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.png", "a.jpg", "sub/c.png"} {
		path := filepath.Join(dir, "p", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trusted, bounded := &Document{}, &Document{untrusted: true, roots: []string{t.TempDir(), dir}}
	for _, row := range []struct {
		d    *Document
		name string
		want []string
	}{
		{trusted, filepath.Join(dir, "p"), []string{filepath.Join(dir, "p", "a.jpg"), filepath.Join(dir, "p", "b.png")}},
		{bounded, "p", []string{"p/a.jpg", "p/b.png"}},
		{bounded, filepath.Join(dir, "p"), []string{filepath.Join(dir, "p", "a.jpg"), filepath.Join(dir, "p", "b.png")}},
	} {
		got, err := row.d.Folder(row.name)
		if diff := cmp.Diff(row.want, got); diff != "" || err != nil {
			t.Errorf("Folder(%s) (-want +got):\n%s%v", row.name, diff, err)
		}
		for _, name := range got {
			f, err := row.d.Open(name)
			if err != nil {
				t.Errorf("Open(%s): %v", name, err)
				continue
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	for _, row := range []struct {
		d    *Document
		name string
		want error
	}{
		{trusted, filepath.Join(dir, "none"), fs.ErrNotExist}, {trusted, filepath.Join(dir, "p", "a.jpg"), sandbox.ErrNotFolder},
		{bounded, "..", fs.ErrPermission}, {bounded, "/", fs.ErrPermission}, {&Document{untrusted: true}, "p", fs.ErrPermission},
	} {
		if got, err := row.d.Folder(row.name); !errors.Is(err, row.want) {
			t.Errorf("Folder(%s) = %q, %v; want %v", row.name, got, err, row.want)
		}
	}
}
