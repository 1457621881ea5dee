package endpoint

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fastjson"
)

// maxServerTime bounds what is taken for a time that something took: servers give
// moments beside durations, in the same unit.
const maxServerTime = 365 * 24 * time.Hour

// maxServerTimes bounds how many times one answer may name.
const maxServerTimes = 64

// took notes a time that the server says it took; n is in units. What is negative
// or no such time is left out. The last value of a name counts.
func (d *decoder) took(name string, n float64, unit time.Duration) {
	if !(n >= 0 && n < float64(maxServerTime/unit)) { // NaN is neither
		return
	}
	if d.a.ServerTimes == nil {
		d.a.ServerTimes = make(map[string]time.Duration, 4)
	}
	if _, ok := d.a.ServerTimes[name]; !ok && len(d.a.ServerTimes) >= maxServerTimes {
		return
	}
	d.a.ServerTimes[name] = time.Duration(math.Round(n * float64(unit)))
}

// tookValue is [decoder.took] for a JSON number; anything else is left out.
func (d *decoder) tookValue(name string, v *fastjson.Value, unit time.Duration) {
	if v == nil || v.Type() != fastjson.TypeNumber {
		return
	}
	if n, err := v.Float64(); err == nil {
		d.took(name, n, unit)
	}
}

// tookMillis notes the members of an object that are named as milliseconds, as
// vLLM (metrics), llama.cpp (timings) and Dynamo (nvext.timing) have them.
func (d *decoder) tookMillis(v *fastjson.Value) {
	if v == nil || v.GetObject() == nil {
		return
	}
	v.GetObject().Visit(func(key []byte, v *fastjson.Value) {
		if strings.HasSuffix(string(key), "_ms") {
			d.tookValue(string(key), v, time.Millisecond)
		}
	})
}

// tookHeaders notes headers that hold milliseconds. Names are lower-case.
func (d *decoder) tookHeaders(h http.Header, names ...string) {
	for _, name := range names {
		value := h.Get(name)
		if value == "" {
			continue
		}
		if n, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
			d.took(name, n, time.Millisecond)
		}
	}
}
