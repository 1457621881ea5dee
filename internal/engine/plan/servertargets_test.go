package plan

import (
	"strings"
	"testing"
)

func TestParseTargets(t *testing.T) {
	for _, tt := range []struct{ name, text, want, problem string }{
		{"JSON", `[{"targets": ["a:1", "[::1]:2"], "labels": {"job": "vllm"}}]`, "http://a:1/metrics http://[::1]:2/metrics", ""},
		{"YAML", "- targets: [a:1]\n  labels: {__scheme__: https, __metrics_path__: /prometheus/metrics}\n- targets: ['b:2']\n",
			"https://a:1/prometheus/metrics http://b:2/metrics", ""},
		{"none", `[]`, "", ""},
		{"no list", `{"targets": ["a:1"]}`, "", "must be a JSON or YAML list"},
		{"a URL", `[{"targets": ["http://a:1/x"]}]`, "", `group 1: "http://a:1/x"`},
		{"scheme", `[{"targets": ["a:1"], "labels": {"__scheme__": "ftp"}}]`, "", `scheme "ftp"`},
		{"user", `[{"targets": ["u:p@a:1"]}]`, "", "must be HOST:PORT"},
		{"path", `[{"targets": ["a:1"], "labels": {"__metrics_path__": "/page"}}]`, "http://a:1/page", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pages, err := parseTargets([]byte(tt.text))
			if tt.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tt.problem) {
					t.Errorf("error %v, want %q", err, tt.problem)
				}
				return
			}
			var got []string
			for _, p := range pages {
				got = append(got, p.Candidates[0].String())
				if !p.Apart || !p.Given {
					t.Errorf("%+v gets the credentials of the servers under test, or nobody hears that it is missing", p)
				}
			}
			if all := strings.Join(got, " "); err != nil || all != tt.want {
				t.Errorf("pages %s, error %v", all, err)
			}
		})
	}
}
