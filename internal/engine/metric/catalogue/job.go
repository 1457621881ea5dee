package catalogue

import (
	"math"
	"time"
)

// jobRows are about work that is submitted and polled for.
func jobRows() []Row {
	return []Row{
		{
			Def: Def{
				Tag: "video_inference_time", Better: Lower, Header: "Video Inference Time", Short: "Inference Time",
				Group: GroupDefault, Order: 310, Flags: ProducesVideoOnly,
				Doc: "Time to generate a video, reported by the server (inference_time_s).",
			},
			unit: inMS, Each: func(v *View) float64 { return v.serverTime("inference_time_s") },
		},
		{
			Def: Def{
				Tag: "video_peak_memory", Better: Lower, Header: "Video Peak Memory", Short: "Peak Memory",
				Group: GroupDefault, Order: 311, Flags: ProducesVideoOnly,
				Doc: "Peak memory used for a video, reported by the server (peak_memory_mb).",
			},
			unit: plain("MB"), Each: peakMemory,
		},
		{
			Def: Def{
				Tag: "video_download_time", Better: Lower, Header: "Video Download Time", Short: "Download", Origin: Ours,
				Flags: ProducesVideoOnly,
				Doc:   "From the response that reports the video as finished to the last byte of its content. Not part of request_latency.",
			},
			unit: inMS, Each: downloadTime,
		},
		{
			Def: Def{
				Tag: "job_queue_time", Better: Lower, Header: "Job Queue Time", Short: "Queue", Origin: Ours,
				Flags: JobsOnly,
				Doc:   "From the start of the request to the first response that reports the job as started; as exact as the polling interval.",
			},
			unit: inMS, Each: queueTime,
		},
		{
			Def: Def{
				Tag: "job_delay_time", Better: Lower, Header: "Job Delay Time", Short: "Delay", Origin: Ours,
				Flags: JobsOnly,
				Doc:   "Waiting time of a job including cold start, reported by the server (Runpod's delayTime).",
			},
			unit: inMS, Each: func(v *View) float64 { return v.serverTime("delayTime") },
		},
		{
			Def: Def{
				Tag: "job_execution_time", Better: Lower, Header: "Job Execution Time", Short: "Execution", Origin: Ours,
				Flags: JobsOnly,
				Doc:   "Execution time of a job, reported by the server (Runpod's executionTime).",
			},
			unit: inMS, Each: func(v *View) float64 { return v.serverTime("executionTime") },
		},
		{
			Def: Def{
				Tag: "job_polls", Better: Neither, Header: "Polls per Job", Short: "Polls", Origin: Ours,
				Flags: JobsOnly,
				Doc:   "Polls until a job finished.",
			},
			unit: inCount, Each: func(v *View) float64 { return present(v.Record.Answer.Job != nil, float64(v.Record.Conn.Polls)) },
		},
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
