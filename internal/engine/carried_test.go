package engine_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A run with the seed of an earlier one sends the prompts that this has sent, and its result says so; with another seed it
// sends none of them.
func TestCarriedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, time.Millisecond, time.Millisecond), nil)
		text := document("type: concurrency, concurrency: 2, requests: 6", "  tokenizer: {name: builtin}\n  dataset: {prompts: {isl: 30, osl: 2}, entries: 6}")
		for _, tt := range []struct {
			name, text string
			want       *float64
		}{
			{"the first run", text, nil},
			{"again", text, new(1.0)},
			{"another seed", strings.Replace(text, "randomSeed: 7", "randomSeed: 8", 1), new(0.0)},
		} {
			r := b.run(tt.text)
			var file struct {
				Cache struct {
					CarriedOver *float64 `json:"carried_over_share"`
				}
			}
			if err := json.Unmarshal([]byte(b.file(r.ID, "profile_export_aiperf.json")), &file); err != nil {
				t.Fatal(err)
			}
			if got := file.Cache.CarriedOver; (got == nil) != (tt.want == nil) || got != nil && *got != *tt.want {
				t.Errorf("%s: %v, want %v", tt.name, deref(got), deref(tt.want))
			}
		}
	})
}
