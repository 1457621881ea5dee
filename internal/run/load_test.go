package run

import (
	"fmt"
	"testing"
)

// The loads are those of all profiling phases, not of the first.
func TestLoads(t *testing.T) {
	for _, tt := range []struct{ config, want string }{
		{`{"phases":[{"name":"warmup","kind":"warmup","concurrency":1},{"name":"a","kind":"profiling","type":"poisson","rate":3,"concurrency":16},` +
			`{"name":"b","kind":"profiling","type":"concurrency","concurrency":32}]}`, "[{a 3 req/s, 16 concurrent} {b 32 concurrent}]"},
		{`{"phases":[{"name":"p","kind":"profiling","type":"user_centric","users":15,"rate":2.5}]}`, "[{p 15 users, 2.5 req/s}]"},
		{`{"phases":[{"name":"p","type":"fixed_schedule","concurrency":null}]}`, "[{p fixed schedule}]"},
		{`{"phases":[{"name":"p","type":"concurrency","concurrency":{"values":[1,2]}}]}`, "[{p concurrency}]"},
		{`{"phases":[{}]}`, "[]"}, {`{}`, "[]"}, {`null`, "[]"}, {`[`, "[]"}, {``, "[]"},
	} {
		if got := fmt.Sprint(Loads([]byte(tt.config))); got != tt.want {
			t.Errorf("Loads(%s) = %s, want %s", tt.config, got, tt.want)
		}
	}
}
