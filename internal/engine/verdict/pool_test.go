package verdict

import (
	"strings"
	"testing"
)

// One busy load generator of many does not spoil the whole; its share of the requests decides.
func TestPool(t *testing.T) {
	good := &Report{Verdict: OK, Phase: "profiling"}
	bad := func(level Level, value float64) *Report {
		return &Report{Verdict: level, Phase: "profiling", Reasons: []Reason{
			{Code: "late", Level: level, Value: value, Concerns: []string{firstToken}, Message: "TTFT is off"},
		}}
	}
	tests := []struct {
		name    string
		members []Member
		want    Level
		reasons string
	}{
		{"none is judged", []Member{{"a", 10, nil}}, "", ""},
		{"all are ok", []Member{{"a", 10, good}, {"b", 10, good}}, OK, ""},
		{"one of two", []Member{{"a", 10, good}, {"b", 10, bad(Invalid, 9)}}, Invalid, "worker b: TTFT is off"},
		{"doubtful, a tenth of a percent", []Member{{"a", 9991, good}, {"b", 9, bad(Invalid, 9)}}, OK, ""},
		{"invalid, half a percent", []Member{{"a", 9950, good}, {"b", 50, bad(Invalid, 9)}}, Suspect, "worker b: TTFT is off"},
		{"suspect, most of it", []Member{{"a", 1, good}, {"b", 99, bad(Suspect, 3)}}, Suspect, "worker b: TTFT is off"},
		{"several", []Member{{"a", 50, bad(Invalid, 7)}, {"b", 50, bad(Invalid, 9)}, {"c", 50, bad(Invalid, 8)}}, Invalid, "worker b and 2 more: TTFT is off"},
		{"one without a judgement", []Member{{"a", 98, good}, {"b", 2, nil}}, Suspect, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Pool(tt.members)
			if got == nil {
				if tt.want != "" {
					t.Fatal("no judgement")
				}
				return
			}
			var messages []string
			for _, r := range got.Reasons {
				messages = append(messages, r.Message)
				if r.Level.rank() > got.Verdict.rank() {
					t.Errorf("reason %+v is worse than the verdict %s", r, got.Verdict)
				}
			}
			if text := strings.Join(messages, "; "); got.Verdict != tt.want || text != tt.reasons {
				t.Errorf("%s, %q; want %s, %q", got.Verdict, text, tt.want, tt.reasons)
			}
		})
	}
}
