package arch

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ratchetFile lists what is larger than it should be, with its present size.
const ratchetFile = "internal/arch/ratchets.txt"

var (
	update = flag.Bool("update", false, "lower the numbers of ratchets.txt to what they are now")
	raise  = flag.Bool("raise", false, "write the numbers of ratchets.txt as they are now, also those that grew")
)

// ratchet is a kind of size that may only shrink. A name whose size is above the limit is
// listed in ratchetFile; its number there must be its size.
type ratchet struct {
	name  string
	text  string         // what is counted
	limit int            // sizes up to this one are not listed
	aims  map[string]int // what the size of a name should become; written beside its number
	count func(t *testing.T) map[string]int
}

func ratchets() []ratchet {
	return []ratchet{
		{
			name: "lines", text: "hundreds of lines of an area, rounded up; tests do not count",
			aims: lineAims(), count: areaLines,
		},
		{
			name: "wide", text: "tens of lines of an area with more than 120 columns, rounded up; tests do not count",
			count: wideLines,
		},
		{
			name: "imports", text: "imports from area to area that docs/architecture.md does not allow",
			count: strayImports,
		},
		{
			name: "closures", text: "packages of ours that a package reaches",
			aims: closureAims(), count: closures,
		},
		{
			name: "strangers", text: "packages of studies and of gonum that the configuration reaches",
			aims: map[string]int{configFolder: 0}, count: configStrangers,
		},
		{
			name: "arrows", text: "arrows between the files of a package that run back up", limit: 5,
			aims: arrowAims(), count: backArrows,
		},
		{
			name: "methods", text: "methods of a type with its parts", limit: maxMethods,
			count: func(t *testing.T) map[string]int { return wholes(t, func(w whole) int { return w.methods }) },
		},
		{
			name: "fields", text: "fields of a struct with its parts", limit: maxFields,
			count: func(t *testing.T) map[string]int { return wholes(t, func(w whole) int { return w.fields }) },
		},
		{name: "functions", text: "lines of a function that is no table", limit: maxFunction, count: functionLines},
	}
}

// TestRatchets: what is too large does not grow, and what has shrunk stays small.
func TestRatchets(t *testing.T) {
	listed := parseRatchets(files(t)[ratchetFile])
	next := map[string]map[string]int{}
	for _, r := range ratchets() {
		got := r.count(t)
		for name := range r.aims {
			if _, exists := got[name]; !exists {
				t.Errorf("%s: there is an aim for %s, which does not exist", r.name, name)
			}
		}
		maps.DeleteFunc(got, func(_ string, n int) bool { return n <= r.limit })
		next[r.name] = got
		if !*raise {
			next[r.name] = lowered(listed[r.name], got)
		}
		want := listed[r.name]
		if *update || *raise {
			want = next[r.name]
		}
		for _, complaint := range r.compare(want, got) {
			t.Error(complaint)
		}
	}
	if *update || *raise {
		writeRatchets(t, next)
	}
}

// lowered returns the listed numbers that are still needed, none larger than it was.
func lowered(listed, got map[string]int) map[string]int {
	out := map[string]int{}
	for name, n := range got {
		if before, ok := listed[name]; ok {
			out[name] = min(before, n)
		}
	}
	return out
}

// compare returns one sentence for each name whose size is not the listed one.
func (r *ratchet) compare(listed, got map[string]int) []string {
	all := maps.Clone(got)
	maps.Copy(all, listed)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch n, before := got[name], max(listed[name], r.limit); {
		case n > before:
			out = append(out, fmt.Sprintf("%s: %s has %d, at most %d (%s)", r.name, name, n, before, r.text))
		case n < listed[name]:
			out = append(out, fmt.Sprintf("%s: %s has at most %d now, %d listed: go test ./internal/arch -update",
				r.name, name, max(n, r.limit), listed[name]))
		}
	}
	return out
}

// parseRatchets reads the numbers of ratchetFile by section and name. Of a name that stands
// twice, as after a merge with conflicts, the larger number counts.
func parseRatchets(text string) map[string]map[string]int {
	out := map[string]map[string]int{}
	section := ""
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if name, ok := strings.CutPrefix(fields[0], "["); ok {
			section = strings.TrimSuffix(name, "]")
			continue
		}
		n, err := strconv.Atoi(fields[0])
		if err != nil || len(fields) < 2 {
			continue
		}
		if out[section] == nil {
			out[section] = map[string]int{}
		}
		out[section][fields[1]] = max(out[section][fields[1]], n)
	}
	return out
}

// writeRatchets writes ratchetFile.
func writeRatchets(t *testing.T, numbers map[string]map[string]int) {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("# What is larger than it should be. A number may only shrink, and must when the size does.\n" +
		"# go test ./internal/arch -update lowers the numbers; -raise also raises them: say why in the commit.\n")
	for _, r := range ratchets() {
		fmt.Fprintf(&b, "\n[%s] %s\n", r.name, r.text)
		for _, name := range slices.Sorted(maps.Keys(numbers[r.name])) {
			fmt.Fprintf(&b, "%5d %s", numbers[r.name][name], name)
			if aim, ok := r.aims[name]; ok && aim < numbers[r.name][name] {
				fmt.Fprintf(&b, " (aim %d)", aim)
			}
			b.WriteByte('\n')
		}
	}
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ratchetFile), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestRatchetsUpdate: -update never writes a number that is larger than the listed one.
func TestRatchetsUpdate(t *testing.T) {
	listed := parseRatchets("[a] text\n  7 x (aim 3)\n<<<<<<< ours\n 7 y\n=======\n 9 y\n>>>>>>> theirs\n 9 z\n")["a"]
	got := map[string]int{"x": 8, "y": 8, "new": 30}
	if next := lowered(listed, got); !maps.Equal(next, map[string]int{"x": 7, "y": 8}) {
		t.Errorf("lowered to %v", next)
	}
	r := ratchet{name: "a", text: "text", limit: 6}
	complaints := r.compare(listed, got)
	want := []string{
		"a: new has 30, at most 6 (text)",
		"a: x has 8, at most 7 (text)",
		"a: y has at most 8 now, 9 listed: go test ./internal/arch -update",
		"a: z has at most 6 now, 9 listed: go test ./internal/arch -update",
	}
	if !slices.Equal(complaints, want) {
		t.Errorf("complaints\n%s", strings.Join(complaints, "\n"))
	}
}
