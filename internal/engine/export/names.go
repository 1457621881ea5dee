package export

import (
	"fmt"
	"path/filepath"
	"strings"
)

// The markers in a run's folder. Files may be read once the ready marker is
// there; the processing marker is there while they are written.
const (
	ReadyMarker      = ".aiperf_results_ready.json"
	ProcessingMarker = ".aiperf_results_processing.json"
)

// Names are the files of a run, relative to its folder, as AIPerf 0.13 names
// them.
type Names struct {
	JSON    string // summary
	CSV     string // summary
	Records string // one line a request
	Tables  string // the same as Parquet
	Raw     string // one line a request, with bodies
	Inputs  string // request bodies of the dataset
	Outputs string // texts of the answers
	Console string // the full console report
	Result  string // of which the files of a report can be made again
	Log     string

	ServerMetrics string // without the ending of its format
	Devices       string // one line per GPU and reading
	ServerSpans   string // one line per request of which a server sent a span
	Network       string // one line per probe of the way to a server
}

// Summary returns the name of a summary in a format whose files end with ext.
func (n Names) Summary(ext string) string { return strings.TrimSuffix(n.JSON, ".json") + ext }

// nameSuffixes returns what is stripped off a prefix, so that the name of any file of
// a run stands for all of them: the suffixes of AIPerf's files and of every format. A
// suffix that ends like another comes before it.
func nameSuffixes() []string {
	all := []string{
		"_timeslices.json", "_timeslices.csv", "_console.txt", "_raw.jsonl", "_gpu_telemetry.jsonl", "_server_spans.jsonl",
		"_network_latency.jsonl", "_accuracy.jsonl", "_server_metrics.jsonl", "_server_metrics.json",
		"_server_metrics.csv", "_server_metrics.parquet", "_result.json", ".jsonl", ".parquet",
	}
	bare := Names{JSON: ".json", CSV: ".csv", Console: "_console.txt", Result: "_result.json", ServerMetrics: "_server_metrics"}
	for _, f := range Formats() {
		all = append(all, f.File(bare))
	}
	return all
}

// NamesFor returns the names that begin with prefix. Its folders and known
// suffixes do not count. Where nothing is left, the names are AIPerf's own.
func NamesFor(prefix string) Names {
	n := Names{
		JSON: "profile_export_aiperf.json", CSV: "profile_export_aiperf.csv",
		Records: "profile_export.jsonl", Tables: "profile_export.parquet", Raw: "profile_export_raw.jsonl",
		Inputs: "inputs.json", Outputs: "outputs.json",
		Console: "profile_export_console.txt", Result: "result.json", Log: "logs/aiperf.log",
		ServerMetrics: "server_metrics_export", Devices: "gpu_telemetry_export.jsonl", ServerSpans: "server_spans.jsonl",
		Network: "profile_export_network_latency.jsonl",
	}
	if prefix == "" {
		return n
	}
	base := filepath.Base(filepath.ToSlash(prefix))
	for _, s := range nameSuffixes() {
		if short, found := strings.CutSuffix(base, s); found {
			base = short
			break
		}
	}
	base = strings.TrimLeft(base, ".") // names that begin with a dot are ours
	if base == "" || base == "/" {
		return n
	}
	n.JSON, n.CSV, n.Records, n.Tables, n.Raw = base+".json", base+".csv", base+".jsonl", base+".parquet", base+"_raw.jsonl"
	n.Console, n.Result, n.ServerMetrics = base+"_console.txt", base+"_result.json", base+"_server_metrics"
	n.Devices, n.ServerSpans = base+"_gpu_telemetry.jsonl", base+"_server_spans.jsonl"
	n.Network = base + "_network_latency.jsonl"
	if n.JSON == n.Inputs || n.JSON == n.Outputs {
		n.JSON = base + "_aiperf.json" // the two names are taken
	}
	return n
}

// PartName returns the name of a part of a file of records. The first part, 1, has the name
// of the file; the names of up to 9,999 parts sort in their order.
func PartName(name string, part int) string {
	if part <= 1 {
		return name
	}
	ext := filepath.Ext(name)
	return fmt.Sprintf("%s.part%04d%s", strings.TrimSuffix(name, ext), part, ext)
}
