// Package jobs implements the APIs whose requests start jobs that clients poll: that of a
// serverless endpoint of Runpod, with Runpod's worker for vLLM, and that of OpenAI for
// videos. Their queue lives in the time of the server's clock.
package jobs

import (
	"net/http"
	"time"

	"aiperfd/internal/mock/api"
)

// Protocol is an API whose requests start jobs.
type Protocol struct {
	api.Protocol
	Queue *Queue
	// Plan draws the output of a job and the time that it takes.
	Plan func(x *api.Answer, j *Job)
	// Wait returns the maximum time to wait for the end of the job before the answer; nil =
	// none.
	Wait func(r *http.Request) time.Duration
}

// jobOf returns the job that the answer to a submission is about.
func jobOf(x *api.Answer) *Job {
	j, _ := x.Request.Payload.(*Job)
	return j
}
