package diagnose

// Probed is what a page of metrics is.
type Probed struct {
	URL       string   `json:"url" example:"http://localhost:8000/metrics"` // of the page that answered, redacted
	State     State    `json:"state" enums:"ok,unreachable,not-prometheus,too-large"`
	Error     string   `json:"error,omitempty"`               // why there are no metrics, redacted
	Servers   []string `json:"servers" example:"vLLM"`        // whose metrics these are; empty = no known server
	GPUs      []string `json:"gpus" example:"nvidia"`         // vendors of the accelerators; empty = there is none
	Rows      []Row    `json:"rows"`                          // canonical metrics that a run would have
	Lacking   []string `json:"lacking" example:"preemptions"` // canonical metrics that the page of a known server does not have
	Series    int      `json:"series"`                        // on the page
	ScrapeMS  float64  `json:"scrape_ms"`                     // how long reading the page took; 0 = it was not read
	Malformed int      `json:"malformed,omitempty"`           // lines that could not be read
	NonFinite int      `json:"non_finite,omitempty"`          // samples that would be dropped
	Dropped   int      `json:"dropped,omitempty" example:"0"` // series beyond the limits
}

// Row is a canonical metric and what it is read from.
type Row struct {
	Metric   string   `json:"metric" example:"waiting"`
	Server   string   `json:"server" example:"vLLM"`
	Families []string `json:"families" example:"vllm:num_requests_waiting"` // they add up
}
