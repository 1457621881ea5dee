package flags

import (
	"encoding/json"
	"strings"
	"testing"

	"aiperfd/internal/engine/config"
)

// TestSequenceDistribution: the three forms of pairs of lengths make the same document,
// which is shown as AIPerf shows it.
func TestSequenceDistribution(t *testing.T) {
	const want = `[{"isl":{"min":null,"max":null,"mean":256,"stddev":10.5},"osl":{"min":null,"max":null,"mean":128,"stddev":5},"probability":60},` +
		`{"isl":{"min":null,"max":null,"mean":512,"stddev":0},"osl":{"min":null,"max":null,"mean":64,"stddev":0.5},"probability":40}]`
	for _, text := range []string{
		"256|10.5,128|5:60;512,64|.5:40", " 256|10.5 , 128|5 : 60.0 ; 512,64|0.5:40 ; ",
		"[(256|10.5,128|5):60,(512,64|.5):40]", "[ ( 256|10.5, 128|5 ):60 , (512,64|.5) : 40, ]",
		`{"pairs": [{"isl": 256, "isl_stddev": 10.5, "osl": 128, "osl_stddev": 5, "prob": 60}, {"isl": 512, "osl": 64, "osl_stddev": 0.5, "prob": 40}]}`,
	} {
		for _, flag := range []string{"--seq-dist", "--sequence-distribution"} {
			if got := compatText(t, mustFlags(t, flag, text), "datasets", "prompts", "sequenceDistribution"); got != want {
				t.Errorf("%s %s = %s, want %s", flag, text, got, want)
			}
		}
	}
	if got := compatText(t, mustFlags(t, "--seq-dist", "1,2:100"), "datasets", "prompts", "isl"); got != "null" {
		t.Errorf("isl beside pairs of lengths = %s, want null", got)
	}
	for text, want := range map[string]string{
		"":                                     "there is no pair of lengths",
		"1,2:50;3,4:40":                        "the probabilities add up to 90",
		"1,2:0.4;3,4:0.6":                      "the probabilities add up to 1",
		"1,2:100;nonsense":                     `"nonsense" is no pair of lengths`,
		"[(1,2):100":                           "] is missing at the end",
		"[(1,2):60 (3,4):40 x]":                `"(3,4):40 x" is no pair of lengths`,
		`{"pairs": 1}`:                         "must have the member pairs, a list",
		`{"pairs": [{"isl": 1, "prob": 100}]}`: "pairs[0]: isl, osl and prob are required",
		`{"pairs": [{"isl": 1, "osl": 2, "weight": 3}]}`:         `pairs[0]: "weight": only the numbers isl, isl_stddev`,
		`{"pairs": [{"isl": "1", "osl": 2, "prob": 100}]}`:       `pairs[0]: "isl": only the numbers`,
		`{"pairs": [{"isl": 1, "osl": 2, "prob": 100}], "x": 1}`: "and no other",
		"{": "it is no JSON object",
	} {
		_, _, err := flagsDocument(t, nil, "--seq-dist", text)
		if err == nil || !strings.HasPrefix(err.Error(), "--seq-dist: ") || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), pairForms) {
			t.Errorf("%s: error = %v, want one with %q and the accepted forms", text, err, want)
		}
	}
	if _, _, err := flagsDocument(t, nil, "--seq-dist", "0,2:100"); err == nil || !strings.Contains(err.Error(), "at least 1") {
		t.Errorf("a length of 0: error = %v", err)
	}
}

func TestRandomRangeRatio(t *testing.T) {
	for _, row := range []struct {
		ratio, style, want string
		input, output      float64
	}{
		{"0.3", "vllm", `"0.3"`, 0.3, 0.3},
		{".5", "vllm", `"0.5"`, 0.5, 0.5},
		{`{"input": 0.3, "output": 0.5}`, "VLLM", `"{\"input\":0.3,\"output\":0.5}"`, 0.3, 0.5},
		{"1", "sglang", `"1"`, 1, 1},
	} {
		d := mustFlags(t, "--isl", "10", "--osl", "5", "--random-range-ratio", row.ratio, "--random-corpus-style", row.style)
		got := d.Benchmark.Datasets[0].Prompts.RandomRangeRatio
		if *got != (config.RangeRatio{Input: row.input, Output: row.output}) {
			t.Errorf("%s = %+v, want %v and %v", row.ratio, got, row.input, row.output)
		}
		if text := compatText(t, d, "datasets", "prompts", "randomRangeRatio"); text != row.want {
			t.Errorf("%s is shown as %s, want %s", row.ratio, text, row.want)
		}
	}
	for argv, want := range map[string]string{
		"--isl 5 --osl 5 --random-range-ratio x":                           "--random-range-ratio",
		"--isl 5 --osl 5 --random-range-ratio 1":                           "--random-range-ratio: must be below 1 (up to 1 with the style sglang)",
		"--isl 5 --random-range-ratio 0.5":                                 "--osl: required",
		"--isl 5 --osl 5 --isl-stddev 2 --random-range-ratio 0.5":          "a range ratio needs a whole number without a spread",
		"--seq-dist 1,2:100 --random-range-ratio 0.5 --isl 5 --osl 5":      "cannot be combined with a sequence distribution",
		"--random-corpus-style sglang":                                     "needs the corpus random or a range ratio",
		`--isl 5 --osl 5 --random-range-ratio {"input":0.1,"extra":0.2}`:   "extra",
		"--isl 5 --osl 5 --random-range-ratio 0.5 --random-corpus-style x": "must be vllm or sglang",
	} {
		if _, _, err := flagsDocument(t, nil, strings.Fields(argv)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error = %v, want one with %q", argv, err, want)
		}
	}
}

// FuzzLengthPairs: whatever is accepted is a list of pairs whose percentages add up to
// 100.
func FuzzLengthPairs(f *testing.F) {
	for _, text := range []string{"256|10,128|5:60;512,64:40", "[(1,2):50,(3|1,4):50]", `{"pairs":[{"isl":1,"osl":2,"prob":100}]}`, "[", "1,2:"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := lengthPairs(text)
		if err != nil {
			return
		}
		total := 0.0
		for _, pair := range list.Items {
			total += decimal(t, pair.Get("probability").Scalar)
		}
		if total < 99.99 || total > 100.01 {
			t.Errorf("%q: the percentages add up to %v", text, total)
		}
	})
}

func decimal(t *testing.T, text string) float64 {
	t.Helper()
	var v float64
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Errorf("%q is no number", text)
	}
	return v
}
