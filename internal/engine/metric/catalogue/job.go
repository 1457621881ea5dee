package catalogue

import (
	"math"
	"time"
)

// jobRows are about work that is submitted and polled for.
func jobRows() []Row {
	return []Row{
		record("video_inference_time", ProducesVideoOnly, inMS, func(v *View) float64 {
			return v.serverTime("inference_time_s")
		}),
		record("video_peak_memory", ProducesVideoOnly, plain("MB"), peakMemory),
		record("video_download_time", ProducesVideoOnly, inMS, downloadTime),
		record("job_queue_time", JobsOnly, inMS, queueTime),
		record("job_delay_time", JobsOnly, inMS, func(v *View) float64 { return v.serverTime("delayTime") }),
		record("job_execution_time", JobsOnly, inMS, func(v *View) float64 { return v.serverTime("executionTime") }),
		record("job_polls", JobsOnly, inCount, func(v *View) float64 {
			return present(v.Record.Answer.Job != nil, float64(v.Record.Conn.Polls))
		}),
	}
}

// serverTime returns a duration that the server reports; NaN if it does not.
func (v *View) serverTime(name string) float64 {
	took, ok := v.Record.Answer.ServerTimes[name]
	return present(ok, float64(took))
}

func peakMemory(v *View) float64 {
	if v.Record.Answer.Job == nil {
		return math.NaN()
	}
	return positive(v.Record.Answer.Job.PeakMemory)
}

// downloadTime is from the end of the work to the end of its download.
func downloadTime(v *View) float64 {
	if v.Record.Answer.Job == nil || math.IsNaN(v.Last) {
		return math.NaN()
	}
	return since(v.Record.Answer.Job.Fetched, v.Record.Stamps.Start+time.Duration(v.Last))
}

func queueTime(v *View) float64 {
	if v.Record.Answer.Job == nil {
		return math.NaN()
	}
	return v.afterStart(v.Record.Answer.Job.Started)
}
