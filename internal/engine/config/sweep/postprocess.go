package sweep

import (
	"strconv"
	"strings"
)

// The handlers of results.
const (
	SLABreach       = "sla_breach_knee"         // where a swept value begins to break the filters
	DegradationKnee = "degradation_knee_detect" // where a statistic has become worse by a share
	TTFTCurve       = "ttft_curve_fit"          // a statistic as a polynomial of a swept value
	ITLSurface      = "itl_surface_fit"         // a statistic over two swept values
	ParetoSweep     = "pareto_sweep_export"     // two statistics, and which variations are the best compromises
)

// PostProcess is a file that is derived from the results of a sweep.
type PostProcess struct {
	Handler        string     `json:"handler"`
	Params         PostParams `json:"params,omitzero"`
	OutputFilename string     `json:"outputFilename"`
}

// PostParams are the parameters of handlers; which ones a handler needs is in [needs].
type PostParams struct {
	SweptParam       string   `json:"sweptParam,omitempty"` // path
	MetricTag        string   `json:"metricTag,omitempty"`
	Stat             string   `json:"stat,omitempty"`
	ThresholdPct     float64  `json:"thresholdPct,omitempty"` // a share: 0.2 = 20 %
	SLAFilters       []Filter `json:"slaFilters,omitempty"`
	RSquaredFloor    float64  `json:"rSquaredFloor,omitempty"`    // 0 = 0.85
	ConcurrencyParam string   `json:"concurrencyParam,omitempty"` // path
	OSLParam         string   `json:"oslParam,omitempty"`         // path
	XMetric          string   `json:"xMetric,omitempty"`          // smaller is better
	XStat            string   `json:"xStat,omitempty"`
	YMetric          string   `json:"yMetric,omitempty"` // larger is better
	YStat            string   `json:"yStat,omitempty"`
}

// needs names the parameters of each handler.
func needs() map[string][]string {
	return map[string][]string{
		SLABreach:       {"sweptParam", "slaFilters"},
		DegradationKnee: {"sweptParam", "metricTag", "stat", "thresholdPct"},
		TTFTCurve:       {"sweptParam", "metricTag", "stat"},
		ITLSurface:      {"concurrencyParam", "oslParam", "metricTag", "stat"},
		ParetoSweep:     {"xMetric", "xStat", "yMetric", "yStat"},
	}
}

func (p *PostProcess) check(r rules, path string) {
	r.requireAll(path, "handler", "outputFilename")
	if r.Has(path+".outputFilename") && !plainJSONName(p.OutputFilename) {
		r.Conflict(path+".outputFilename", "must be the name of a .json file, without a folder")
	}
	for _, name := range needs()[p.Handler] {
		if !r.Has(path + ".params." + name) {
			r.require(path+".params."+name, "the handler "+p.Handler+" needs "+name)
		}
	}
	for i := range p.Params.SLAFilters {
		p.Params.SLAFilters[i].check(r, path+".params.slaFilters."+strconv.Itoa(i))
	}
}

// plainJSONName reports whether a name is that of a .json file without a folder.
func plainJSONName(name string) bool {
	stem, ok := strings.CutSuffix(name, ".json")
	return ok && stem != "" && fileName(name) == name && !strings.HasPrefix(name, ".")
}
