package metric

import (
	"math"
	"time"
)

// jobRows are about work that is submitted and polled for.
func jobRows() []row {
	return []row{
		{
			Def: Def{
				Tag: "video_inference_time", Header: "Video Inference Time", Short: "Inference Time",
				Group: GroupDefault, Order: 310, Flags: ProducesVideoOnly,
				Doc: "How long the server says it worked on a video (inference_time_s).",
			},
			unit: inMS, each: func(v *view) float64 { return v.serverTime("inference_time_s") },
		},
		{
			Def: Def{
				Tag: "video_peak_memory", Header: "Video Peak Memory", Short: "Peak Memory",
				Group: GroupDefault, Order: 311, Flags: ProducesVideoOnly,
				Doc: "How much memory the server says it used for a video (peak_memory_mb).",
			},
			unit: plain("MB"), each: peakMemory,
		},
		{
			Def: Def{
				Tag: "video_download_time", Header: "Video Download Time", Short: "Download", Origin: ours,
				Flags: ProducesVideoOnly,
				Doc:   "From the answer that says the video is done to the last byte of its content. Not a part of request_latency.",
			},
			unit: inMS, each: downloadTime,
		},
		{
			Def: Def{
				Tag: "job_queue_time", Header: "Job Queue Time", Short: "Queue", Origin: ours,
				Flags: JobsOnly,
				Doc:   "Start of the request to the first answer which says that the job does not wait any more; exact to the interval of polls.",
			},
			unit: inMS, each: queueTime,
		},
		{
			Def: Def{
				Tag: "job_delay_time", Header: "Job Delay Time", Short: "Delay", Origin: ours,
				Flags: JobsOnly,
				Doc:   "How long the server says a job waited, cold start included (Runpod's delayTime).",
			},
			unit: inMS, each: func(v *view) float64 { return v.serverTime("delayTime") },
		},
		{
			Def: Def{
				Tag: "job_execution_time", Header: "Job Execution Time", Short: "Execution", Origin: ours,
				Flags: JobsOnly,
				Doc:   "How long the server says it worked on a job (Runpod's executionTime).",
			},
			unit: inMS, each: func(v *view) float64 { return v.serverTime("executionTime") },
		},
		{
			Def: Def{
				Tag: "job_polls", Header: "Polls per Job", Short: "Polls", Origin: ours,
				Flags: JobsOnly,
				Doc:   "Answers to polls until a job was done.",
			},
			unit: inCount, each: func(v *view) float64 { return present(v.r.Answer.Job != nil, float64(v.r.Conn.Polls)) },
		},
	}
}

// serverTime is a time that the server says it took; NaN if it does not.
func (v *view) serverTime(name string) float64 {
	took, ok := v.r.Answer.ServerTimes[name]
	return present(ok, float64(took))
}

func peakMemory(v *view) float64 {
	if v.r.Answer.Job == nil {
		return math.NaN()
	}
	return positive(v.r.Answer.Job.PeakMemory)
}

// downloadTime is from the end of the work to the end of its download.
func downloadTime(v *view) float64 {
	if v.r.Answer.Job == nil || math.IsNaN(v.last) {
		return math.NaN()
	}
	return since(v.r.Answer.Job.Fetched, v.r.Stamps.Start+time.Duration(v.last))
}

func queueTime(v *view) float64 {
	if v.r.Answer.Job == nil {
		return math.NaN()
	}
	return v.afterStart(v.r.Answer.Job.Started)
}
