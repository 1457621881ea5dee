package flags

import (
	"strings"
	"testing"
)

// FuzzFlags: no command line crashes: headers, parameters, objects, distributions.
func FuzzFlags(f *testing.F) {
	for _, s := range []string{
		"-m m --url h:1 --header A:b --header 'A: b' --concurrency 4", `-m|m|--header|{"A":"b","C":"d"}|--extra-inputs|{"a":{"b":[1]}}`,
		"-m|m|--header|A: b: c|--extra-inputs|a.b:1|--url|http://[::1]:80/x?y=z", "-m|m|--synthetic-input-tokens-mean|1e9|--request-rate|-1",
		"-m|m|--url-param|a=b|--request-count|0x7|--isl|lognormal(1,2)",
	} {
		f.Add(strings.ReplaceAll(s, " ", "|"))
	}
	f.Fuzz(func(_ *testing.T, line string) {
		flags, _ := parseFlags(strings.Split(line, "|"), nil)
		_, _, _ = flags.Document()
	})
}
