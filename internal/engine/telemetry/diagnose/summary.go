package diagnose

// Summary is what one page of server metrics has, in the shape of AIPerf's API.
type Summary struct {
	URL     string            `json:"endpoint_url" example:"http://localhost:8000/metrics"`
	Info    Info              `json:"info"`
	Metrics map[string]Family `json:"metrics"`
}

// Family is a metric of a server.
type Family struct {
	Type   string   `json:"type" enums:"gauge,counter,histogram,unknown"`
	About  string   `json:"description"`
	Unit   string   `json:"unit,omitempty"`
	Series []Series `json:"series"`
}

// Series is a series of a metric with its statistics.
type Series struct {
	Labels  map[string]string  `json:"labels,omitempty"`
	Stats   map[string]float64 `json:"stats"`
	Buckets map[string]int64   `json:"buckets,omitempty"`
}
