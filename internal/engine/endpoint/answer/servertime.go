package answer

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fastjson"
)

// maxServerTime bounds a duration. Servers report points in time beside durations,
// in the same unit.
const maxServerTime = 365 * 24 * time.Hour

// maxServerTimes bounds how many times one answer may name.
const maxServerTimes = 64

// ServerTimes are the times that a server reports of its work, by their names. The
// zero value is ready.
type ServerTimes map[string]time.Duration

// took records a time; n is in units. Negative values and those that cannot be a
// duration are left out. The last value of a name counts.
func (t *ServerTimes) took(name string, n float64, unit time.Duration) {
	if !(n >= 0 && n < float64(maxServerTime/unit)) { // NaN is neither
		return
	}
	if *t == nil {
		*t = make(ServerTimes, 4)
	}
	if _, ok := (*t)[name]; !ok && len(*t) >= maxServerTimes {
		return
	}
	(*t)[name] = time.Duration(math.Round(n * float64(unit)))
}

// Value records a JSON number; anything else is left out.
func (t *ServerTimes) Value(name string, v *fastjson.Value, unit time.Duration) {
	if v == nil || v.Type() != fastjson.TypeNumber {
		return
	}
	if n, err := v.Float64(); err == nil {
		t.took(name, n, unit)
	}
}

// Millis records the members of an object whose names end in _ms, as vLLM
// (metrics), llama.cpp (timings) and Dynamo (nvext.timing) have them.
func (t *ServerTimes) Millis(v *fastjson.Value) {
	if v == nil || v.GetObject() == nil {
		return
	}
	v.GetObject().Visit(func(key []byte, v *fastjson.Value) {
		if strings.HasSuffix(string(key), "_ms") {
			t.Value(string(key), v, time.Millisecond)
		}
	})
}

// Headers records headers that hold milliseconds. Names are lower-case.
func (t *ServerTimes) Headers(h http.Header, names ...string) {
	for _, name := range names {
		value := h.Get(name)
		if value == "" {
			continue
		}
		if n, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
			t.took(name, n, time.Millisecond)
		}
	}
}
