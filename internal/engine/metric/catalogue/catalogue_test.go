package catalogue

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
)

// registered is a metric as AIPerf 0.13 registers it.
type registered struct {
	Tag    string `json:"tag"`
	Header string `json:"header"`
	Short  string `json:"short"`
	Type   string `json:"type"`
	Unit   string `json:"unit"`
	Shown  string `json:"du"`
	Order  int    `json:"order"`
	Flags  string `json:"flags"`
	Group  string `json:"group"`
}

// registryFlags are the registry's names.
var registryFlags = map[string]Flags{
	"NONE": 0, "STREAMING_ONLY": StreamingOnly, "PRODUCES_TOKENS_ONLY": ProducesTokensOnly,
	"STREAMING_TOKENS_ONLY": StreamingOnly | ProducesTokensOnly, "TOKENIZES_INPUT_ONLY": TokenizesInputOnly,
	"SUPPORTS_REASONING": SupportsReasoning, "ERROR_ONLY": ErrorOnly, "GOODPUT": GoodputOnly,
	"USAGE_DIFF_ONLY": UsageDiffOnly, "HTTP_TRACE_ONLY": HTTPTraceOnly, "INTERNAL": Internal,
	"EXPERIMENTAL": Experimental, "NO_INDIVIDUAL_RECORDS": NoIndividualRecords,
	"LARGER_IS_BETTER": LargerIsBetter, "PERCENTILE_INCLUDES_FAILED_REQUESTS": IncludesFailed,
	"DISABLE_ON_ACCURACY": DisabledOnAccuracy, "SUPPORTS_AUDIO_ONLY": SupportsAudioOnly,
	"SUPPORTS_IMAGE_ONLY": SupportsImageOnly, "FIXED_SCHEDULE_ONLY": ReplayOnly,
}

// def turns a registered metric into the entry that our catalogue must have.
func (m *registered) def(t *testing.T) Def {
	t.Helper()
	d := Def{Tag: m.Tag, Header: m.Header, Short: m.Short, Unit: m.Shown, Order: m.Order, Origin: AIPerf}
	if d.Unit == "" {
		d.Unit = m.Unit
	}
	if m.Group != "none" {
		d.Group = Group(m.Group)
	}
	for name := range strings.SplitSeq(strings.TrimPrefix(m.Flags, "MetricFlags."), "|") {
		f, ok := registryFlags[name]
		if !ok {
			t.Fatalf("%s: unknown flag %q", m.Tag, name)
		}
		d.Flags |= f
	}
	kinds := map[string]Kind{"record": PerRecord, "aggregate": Aggregate, "derived": Derived}
	d.Kind = kinds[m.Type]
	if m.Tag == "inter_chunk_latency" {
		d.Kind = PerRecordList
	}
	return d
}

// notOurs are the registered metrics that the catalogue does not have.
var notOurs = []string{
	"credit_drop_latency",
	"max_response_timestamp", "min_request_timestamp",
	"total_usage_tool_use_prompt_tokens", "usage_tool_use_prompt_tokens",
}

// injected are AIPerf's metrics that are not in its registry.
var injected = []string{"video_inference_time", "video_peak_memory", "credit_to_start_latency", "effective_latency", "tokens_in_flight", "theoretical_prefix_cache_hit",
	"network_rtt", "network_adjusted_time_to_first_token", "network_adjusted_time_to_first_output_token", "network_adjusted_request_latency"}

func TestRegistry(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "registry.json"))
	if err != nil {
		t.Fatal(err)
	}
	var registry []registered
	if err := json.Unmarshal(data, &registry); err != nil {
		t.Fatal(err)
	}
	ours := make(map[string]Def)
	for _, d := range Defs() {
		ours[d.Tag] = d
	}
	known := make(map[string]bool)
	for _, m := range registry {
		known[m.Tag] = true
		got, ok := ours[m.Tag]
		if ok == slices.Contains(notOurs, m.Tag) {
			t.Errorf("%s: in the catalogue is %v", m.Tag, ok)
		}
		if !ok {
			continue
		}
		got.Doc, got.Better, got.Headline = "", "", Headline{} // they are ours
		if diff := cmp.Diff(m.def(t), got); diff != "" {
			t.Errorf("%s (-registry +ours):\n%s", m.Tag, diff)
		}
	}
	for tag, d := range ours {
		family := slices.Contains(injected, tag) || strings.HasPrefix(tag, "adj_") || d.Kind == Curve || d.Group == GroupPowerNVIDIA || d.Group == GroupPowerAMD
		if d.Origin == AIPerf && !known[tag] && !family {
			t.Errorf("%s: AIPerf has no such metric", tag)
		}
		if d.Origin != AIPerf && known[tag] {
			t.Errorf("%s: is AIPerf's", tag)
		}
	}
}

func TestCatalogue(t *testing.T) {
	seen := make(map[string]bool)
	units := []string{
		"ms", "ms/token", "ms/1000 tokens", "KB", "tokens", "%", "ratio", "requests", "count", "sec", "tokens/sec", "tokens/sec/user",
		"requests/sec", "items", "items/sec", "images", "images/sec", "ms/image", "MB", "ns", "J*s", "requests/sec/W", "tokens/sec/W", "good-req/s/W", "W", "J", "mJ/token", "joules/request", "tokens/J",
		"joules/user", "tokens/sec/gpu",
	}
	for i := range all {
		r := &all[i]
		if seen[r.Tag] {
			t.Errorf("%s: twice", r.Tag)
		}
		seen[r.Tag] = true
		if r.Header == "" || !strings.HasSuffix(r.Doc, ".") || !slices.Contains(units, r.Unit) {
			t.Errorf("%s: header %q, unit %q, doc %q", r.Tag, r.Header, r.Unit, r.Doc)
		}
		code := 0
		for _, has := range []bool{r.Each != nil, r.List != nil, r.Total != nil, r.Curve != NoCurve, r.Base != "", r.Bounded != "", r.Lag != nil, r.Power != nil, r.LessTrip != "", r.Trip} {
			if has {
				code++
			}
		}
		if code != 1 {
			t.Errorf("%s: has %d ways to be computed, want 1", r.Tag, code)
		}
		if r.Base != "" && !seen[r.Base] {
			t.Errorf("%s: comes before %s", r.Tag, r.Base)
		}
	}
	for tag := range described() {
		if !seen[tag] {
			t.Errorf("%s: the text describes a metric that does not exist", tag)
		}
	}
	defs := Defs()
	defs[0].Tag = "changed"
	if Defs()[0].Tag == "changed" {
		t.Error("Defs hands out the catalogue itself")
	}
}

func TestApplies(t *testing.T) {
	all := Flags(0)
	for _, n := range flagNames {
		if all&n.flag != 0 {
			t.Errorf("flag %s is there twice", n.name)
		}
		all |= n.flag
	}
	tests := []struct {
		name  string
		o     Run
		has   []string
		lacks []string
	}{
		{"embeddings", Run{Caps: bench.Caps{TokenizesInput: true, ProducesItems: true}}, []string{"request_latency", "input_sequence_length", "item_throughput"},
			[]string{"time_to_first_token", "output_sequence_length", "inter_token_latency", "goodput"}},
		{"plain completion", Run{Caps: bench.Caps{ProducesTokens: true, TokenizesInput: true}},
			[]string{"e2e_output_token_throughput", "usage_prompt_tokens_diff_pct"},
			[]string{"item_count", "inter_chunk_latency", "reasoning_token_count", "corrected_e2e_latency"}},
		{"server counts", Run{ServerTokens: true}, []string{"request_latency"}, []string{"usage_prompt_tokens_diff_pct"}},
		{"everything", Run{Streaming: true, OpenLoop: true, Caps: bench.Caps{ProducesTokens: true, TokenizesInput: true, Reasoning: true}}, []string{"time_to_first_output_token", "corrected_time_to_first_token"}, []string{"goodput"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, d := range Defs() {
				got := test.o.applies(d.Flags)
				if slices.Contains(test.has, d.Tag) && !got || slices.Contains(test.lacks, d.Tag) && got {
					t.Errorf("%s applies is %v", d.Tag, got)
				}
			}
		})
	}
}

// Every metric says in which direction it improves, or that it does in neither.
func TestDirections(t *testing.T) {
	for _, d := range Defs() {
		if !slices.Contains([]Direction{Lower, Higher, Neither}, d.Better) {
			t.Errorf("%s: direction %q", d.Tag, d.Better)
		}
		if errors := strings.Contains(d.Tag, "error_request") || strings.Contains(d.Tag, "_latency"); errors && d.Better != Lower {
			t.Errorf("%s improves when it is %s", d.Tag, d.Better)
		}
		if d.Better == Higher && d.Flags&ErrorOnly != 0 {
			t.Errorf("%s counts errors and improves when it is higher", d.Tag)
		}
	}
	if d := Attainment(&Rows()[0].Def); d.Better != Higher {
		t.Errorf("%s: direction %q", d.Tag, d.Better)
	}
}

// The metrics that matter, in the order in which they are shown.
func TestHeadlines(t *testing.T) {
	ranks := map[int]string{}
	for _, d := range Defs() {
		h := d.Headline
		if other := ranks[h.Rank]; h.Rank != 0 && other != "" || (h.Rank == 0) != (h.Uses == 0) {
			t.Errorf("%s: headline %+v, like %q", d.Tag, h, other)
		}
		ranks[h.Rank] = d.Tag
	}
	for use, want := range map[Use]string{
		InLists: "request_throughput output_token_throughput goodput request_count error_request_count " +
			"time_to_first_token inter_token_latency request_latency",
		InTables: "time_to_first_token time_to_second_token inter_token_latency request_latency " +
			"output_token_throughput_per_user session_latency input_sequence_length output_sequence_length",
		OverTime: "time_to_first_token inter_token_latency inter_chunk_latency request_latency schedule_lag",
		Exposed: "time_to_first_token inter_token_latency inter_chunk_latency request_latency " +
			"input_sequence_length output_sequence_length schedule_lag",
		Sent:   "corrected_request_latency",
		Pooled: "time_to_first_token time_to_second_token inter_token_latency request_latency output_token_throughput_per_user",
	} {
		if got := strings.Join(Headlines(use), " "); got != want {
			t.Errorf("Headlines(%d) = %s, want %s", use, got, want)
		}
	}
}

func TestWriteDocs(t *testing.T) {
	var b strings.Builder
	if err := WriteDocs(&b); err != nil {
		t.Fatal(err)
	}
	doc := b.String()
	for _, d := range Defs() {
		family := strings.HasPrefix(d.Tag, "adj_") || strings.HasPrefix(d.Tag, "lower_bound_") || strings.HasPrefix(d.Tag, "amd_")
		if !family && strings.Count(doc, "\n| `"+d.Tag+"` |") != 1 {
			t.Errorf("%s: not in exactly one row", d.Tag)
		}
	}
	want := "| `time_to_first_token` | Time to First Token / TTFT | record | ms | First content event (text, reasoning, refusal or tool call) minus the start of the request. | streaming, produces tokens, includes failed; table default |\n"
	if !strings.Contains(doc, want) {
		t.Errorf("the document lacks the row\n%s", want)
	}
	for line := range strings.Lines(doc) {
		if strings.HasPrefix(line, "| ") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 7 {
			t.Errorf("row has not six cells: %s", line)
		}
	}
}
