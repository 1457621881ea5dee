package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Options of polled endpoint types are refused for other types.
func TestJobProblems(t *testing.T) {
	for _, row := range []struct{ name, endpoint, want string }{
		{"mode of another type", `jobs: {runpodMode: async}`, "#/benchmark/endpoint/jobs/runpodMode conflict"},
		{"input of another type", `type: video_generation, jobs: {runpodInput: prompt}`, "#/benchmark/endpoint/jobs/runpodInput conflict"},
		{"interval of another type", `jobs: {pollInterval: 1, timeout: 2}`, "#/benchmark/endpoint/jobs/pollInterval conflict; #/benchmark/endpoint/jobs/timeout conflict"},
		{"no such mode", `type: runpod, jobs: {runpodMode: asinc}`, "#/benchmark/endpoint/jobs/runpodMode bad-enum"},
		{"no such input", `type: runpod, jobs: {runpodInput: chat}`, "#/benchmark/endpoint/jobs/runpodInput bad-enum"},
		{"sync with streaming", `type: runpod, streaming: true, jobs: {runpodMode: sync}`, "#/benchmark/endpoint/jobs/runpodMode conflict"},
		{"stream without streaming", `type: runpod_native, jobs: {runpodMode: stream}`, "#/benchmark/endpoint/jobs/runpodMode conflict"},
		{"no interval", `type: runpod, jobs: {pollInterval: 0}`, "#/benchmark/endpoint/jobs/pollInterval out-of-range"},
		{"no time", `type: runpod, jobs: {timeout: -1}`, "#/benchmark/endpoint/jobs/timeout out-of-range"},
		{"download of nothing", `downloadVideoContent: true`, "#/benchmark/endpoint/downloadVideoContent conflict"},
		{"forms of another type", `requestContentType: multipart/form-data`, "#/benchmark/endpoint/requestContentType conflict"},
		{"JSON of a type that makes forms", `type: image_edit, requestContentType: application/json`, "#/benchmark/endpoint/requestContentType conflict"},
		{"another content type", `type: video_generation, requestContentType: text/plain`, "#/benchmark/endpoint/requestContentType bad-enum"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, _, err := Load([]byte("benchmark: {models: [m], endpoint: {"+row.endpoint+"}, phases: [{requests: 200}]}"), LoadOptions{Choices: someChoices()})
			if diff := cmp.Diff(row.want, codes(t, err)); diff != "" {
				t.Errorf("problems (-want +got):\n%s\n%v", diff, err)
			}
		})
	}
}
