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
				Doc: "Time to generate a video, reported by the server (inference_time_s).",
			},
			unit: inMS, each: func(v *view) float64 { return v.serverTime("inference_time_s") },
		},
		{
			Def: Def{
				Tag: "video_peak_memory", Header: "Video Peak Memory", Short: "Peak Memory",
				Group: GroupDefault, Order: 311, Flags: ProducesVideoOnly,
				Doc: "Peak memory used for a video, reported by the server (peak_memory_mb).",
			},
			unit: plain("MB"), each: peakMemory,
		},
		{
			Def: Def{
				Tag: "video_download_time", Header: "Video Download Time", Short: "Download", Origin: ours,
				Flags: ProducesVideoOnly,
				Doc:   "From the response that reports the video as finished to the last byte of its content. Not part of request_latency.",
			},
			unit: inMS, each: downloadTime,
		},
		{
			Def: Def{
				Tag: "job_queue_time", Header: "Job Queue Time", Short: "Queue", Origin: ours,
				Flags: JobsOnly,
				Doc:   "From the start of the request to the first response that reports the job as started; as exact as the polling interval.",
			},
			unit: inMS, each: queueTime,
		},
		{
			Def: Def{
				Tag: "job_delay_time", Header: "Job Delay Time", Short: "Delay", Origin: ours,
				Flags: JobsOnly,
				Doc:   "Waiting time of a job including cold start, reported by the server (Runpod's delayTime).",
			},
			unit: inMS, each: func(v *view) float64 { return v.serverTime("delayTime") },
		},
		{
			Def: Def{
				Tag: "job_execution_time", Header: "Job Execution Time", Short: "Execution", Origin: ours,
				Flags: JobsOnly,
				Doc:   "Execution time of a job, reported by the server (Runpod's executionTime).",
			},
			unit: inMS, each: func(v *view) float64 { return v.serverTime("executionTime") },
		},
		{
			Def: Def{
				Tag: "job_polls", Header: "Polls per Job", Short: "Polls", Origin: ours,
				Flags: JobsOnly,
				Doc:   "Polls until a job finished.",
			},
			unit: inCount, each: func(v *view) float64 { return present(v.r.Answer.Job != nil, float64(v.r.Conn.Polls)) },
		},
	}
}

// serverTime returns a duration that the server reports; NaN if it does not.
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
