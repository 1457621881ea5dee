package format

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
)

// show returns what a row says in short.
func show(row source.Row, err error) string {
	if err != nil {
		return "problems: " + err.Error()
	}
	if row.Skip != "" {
		return "left out: " + row.Skip
	}
	c := row.Conversation
	out := ""
	if c.System != "" {
		out = "system " + c.System + ": "
	}
	for i, t := range c.Turns {
		if i > 0 {
			out += " / "
		}
		out += strings.Join(t.Texts, "+")
		if t.MaxTokens > 0 {
			out += fmt.Sprintf(" ≤%d", t.MaxTokens)
		}
		for _, m := range append(t.Images, t.Audios...) {
			out += " [" + m.MIME + m.URL + "]"
		}
	}
	return out
}

func TestColumns(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n" + strings.Repeat("x", 100)
	coded := base64.StdEncoding.EncodeToString([]byte(png))
	named := source.Columns{Prompt: []string{"q"}, System: []string{"s"}, OutputTokens: []string{"n"}, Image: []string{"i"}}
	tests := []struct {
		name    string
		columns source.Columns
		record  string
		want    string
	}{
		{"usual names", source.Columns{}, `{"text":"no","question":"why?","system":"be brief","output_tokens_count":12,"other":[1]}`, "system be brief: why? ≤12"},
		{"names of the user", named, `{"q":"why?","s":null,"n":"7","i":null,"prompt":"no"}`, "why? ≤7"},
		{"empty cells", named, `{"q":"why?","s":"","n":"","i":""}`, "why?"},
		{"turns", source.Columns{}, `{"prompt":["one",""," two"],"output_tokens_count":3.0}`, "one ≤3 /  two ≤3"},
		{"messages", source.Columns{Prompt: []string{"m"}}, `{"m":[{"role":"system","content":"s"},{"role":"user","content":"one"},{"role":"assistant","content":"a"},{"role":"user","content":"two"}]}`, "one / two"},
		{"messages of ShareGPT, nested", source.Columns{}, `{"conversation":[[{"from":"human","value":"<image>\none"}],[{"from":"gpt","value":"a"}]]}`, "one"},
		{"image of Parquet", named, `{"q":"see","s":null,"n":null,"i":{"bytes":"` + coded + `","path":"a.png"}}`, "see [image/png]"},
		{"images", source.Columns{}, `{"prompt":"see","image":["https://h/a.png","` + coded + `",null]}`, "see [https://h/a.png] [image/png]"},
		{"no column", named, `{"x":"a","y":1}`, `problems: no column "q" for the prompt; the columns are x, y; no column "s" for the system; the columns are x, y; no column "n" for the output tokens; the columns are x, y; no column "i" for the image; the columns are x, y`},
		{"no usual column", source.Columns{}, `{"x":"a"}`, "problems: no column for the prompt: name it (--prompt-column); the columns are x"},
		{"empty prompt", source.Columns{}, `{"prompt":" "}`, "problems: column prompt: the prompt is empty"},
		{"number as a prompt", source.Columns{}, `{"prompt":5}`, "problems: column prompt: must be text, a list of texts, or a list of chat messages, not 5"},
		{"wrong message", source.Columns{}, `{"prompt":[{"role":"user"}]}`, `problems: column prompt: item 0: a chat message needs role and content, or from and value, not {"role":"user"}`},
		{"half a token", source.Columns{}, `{"prompt":"a","output_tokens_count":1.5}`, "problems: column output_tokens_count: must be an integer from 1 to 2147483648, not 1.5"},
		{"words as tokens", source.Columns{}, `{"prompt":"a","output_tokens_count":"many"}`, `problems: column output_tokens_count: must be an integer from 1 to 2147483648, not "many"`},
		{"no image", source.Columns{}, `{"prompt":"a","image":{"bytes":"AAAA","path":null}}`, "problems: column image: the data URI holds application/octet-stream; accepted for image: PNG, JPEG, GIF or WebP"},
		{"no object", source.Columns{}, `[1]`, "problems: must be a JSON object, one on each line"},
		{"no UTF-8", source.Columns{}, "{\"prompt\":\"\xff\"}", "problems: the record is not valid UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := columns()
			got := show(f.New(&source.Options{Columns: tt.columns})(file.Record{Data: []byte(tt.record)}))
			if got != tt.want {
				t.Errorf("row = %s\nwant  %s", got, tt.want)
			}
		})
	}
}

// What a table of a public dataset does with rows that do not fit.
func TestTable(t *testing.T) {
	wav := func(seconds int) string {
		head := "RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\xff\xff\xff\xff"
		return base64.StdEncoding.EncodeToString([]byte(head + strings.Repeat("\x80", 8000*seconds)))
	}
	speech := Table{Audio: "audio", Fixed: "Transcribe.", Skip: true, Seconds: 30}
	tests := []struct {
		name   string
		table  Table
		record string
		want   string
	}{
		{"template", Table{Template: "Do {b} with {a}.", Skip: true}, `{"a":"x","b":"y"}`, "Do y with x."},
		{"template without a column", Table{Template: "Do {c}.", Skip: true}, `{"a":"x"}`, `problems: no column "c" for the prompt; the columns are a`},
		{"first turn", Table{Columns: source.Columns{Prompt: []string{"t"}}, First: true, Skip: true}, `{"t":["a","b"]}`, "a"},
		{"no prompt", Table{Columns: source.Columns{Prompt: []string{"t"}}, Skip: true}, `{"t":null}`, "left out: without a prompt"},
		{"no image", Table{Columns: source.Columns{Prompt: []string{"t"}, Image: []string{"i"}}, Skip: true}, `{"t":"a","i":null}`, "left out: without an image"},
		{"images", Table{Columns: source.Columns{Prompt: []string{"t"}, Image: []string{"i"}}, Skip: true}, `{"t":"a","i":["http://h/1","http://h/2"]}`, "a [http://h/1]"},
		{"speech", speech, `{"audio":{"bytes":"` + wav(30) + `","path":null}}`, "Transcribe. [audio/wav]"},
		{"long speech", speech, `{"audio":{"bytes":"` + wav(31) + `","path":null}}`, "left out: of more than 30 s"},
		{"no speech", speech, `{"audio":{"bytes":null,"path":null}}`, "left out: without audio"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := tt.table.Format("x")
			if got := show(f.New(&source.Options{})(file.Record{Data: []byte(tt.record)})); got != tt.want {
				t.Errorf("row = %s\nwant  %s", got, tt.want)
			}
		})
	}
}

// A CSV file whose third row has a value too few names its line, and can be skipped.
func TestColumnsOfAFile(t *testing.T) {
	const text = "question,output_tokens_count\nWhy?,5\nHow\nWho?,\n"
	f := columns()
	o := source.Options{File: file.File{Path: "q.csv", FS: fstest.MapFS{"q.csv": {Data: []byte(text)}}}}
	_, err := source.OpenFile(t.Context(), &f, o)
	const want = "open dataset q.csv: q.csv:3: the row has 1 values, the header 2"
	if err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
	o.SkipBad = 1
	s, err := source.OpenFile(t.Context(), &f, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var got []bench.Turn
	for range 2 {
		entry, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c, err := entry.Make()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, c.Turns...)
	}
	if diff := cmp.Diff([]bench.Turn{{Texts: []string{"Why?"}, MaxTokens: 5}, {Texts: []string{"Who?"}}}, got); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
}

func FuzzColumns(f *testing.F) {
	for _, seed := range []string{`{"prompt":"a","output_tokens_count":"3","image":{"bytes":"AA=="}}`, `{"conversations":[{"from":"human","value":"a"}]}`, `{"prompt":[["a"],[{"role":"user","content":"x"}]]}`, `{}`, `null`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		format := columns()
		row, err := format.New(&source.Options{})(file.Record{Data: data})
		if err == nil && row.Skip == "" && len(row.Conversation.Turns) == 0 {
			t.Error("a row without turns")
		}
	})
}
