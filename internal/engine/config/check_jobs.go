package config

import "strings"

// checkJobs reports options of polled endpoint types that contradict the type or
// each other.
func (l *loader) checkJobs() {
	const path = "benchmark.endpoint"
	e := &l.doc.Benchmark.Endpoint
	isRunpod, isVideo := strings.HasPrefix(e.Type, "runpod"), e.Type == "video_generation"
	if t := e.RequestContentType; t != nil && !isVideo {
		form := "multipart/form-data"
		isForm := e.Type == "image_edit" || e.Type == "audio_transcription" || e.Type == "audio_translation"
		if isForm && *t != form {
			l.conflict(path+".requestContentType", "bodies of "+e.Type+" are always "+form)
		} else if !isForm && *t == form {
			l.conflict(path+".requestContentType", "bodies of "+e.Type+" are never "+form)
		}
	}
	if e.DownloadVideoContent && !isVideo {
		l.conflict(path+".downloadVideoContent", "needs the endpoint type video_generation, not "+e.Type)
	}
	jobs := path + ".jobs."
	for _, name := range []string{"runpodMode", "runpodInput"} {
		if l.has(jobs+name) && !isRunpod {
			l.conflict(jobs+name, "needs the endpoint type runpod, not "+e.Type)
		}
	}
	for _, name := range []string{"pollInterval", "timeout"} {
		if l.has(jobs+name) && !isRunpod && !isVideo {
			l.conflict(jobs+name, "needs an endpoint type that polls: runpod or video_generation, not "+e.Type)
		}
	}
	switch mode := e.Jobs.RunpodMode; {
	case mode == "" || !isRunpod:
	case e.Streaming && mode != "stream":
		l.conflict(jobs+"runpodMode", "is "+mode+"; with streaming it must be stream")
	case !e.Streaming && mode == "stream":
		l.conflict(jobs+"runpodMode", "is stream, which needs streaming; without it, it may be sync or async")
	}
}
