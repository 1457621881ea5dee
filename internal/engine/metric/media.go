package metric

import (
	"math"
	"time"

	"aiperfd/internal/engine/bench"
)

// mediaRows are about images and audio.
func mediaRows() []row {
	return []row{
		{
			Def: Def{
				Tag: "rtfx", Header: "Inverse Real-Time Factor (RTFx)", Short: "RTFx",
				Group: GroupDefault, Order: 850, Flags: LargerIsBetter | SupportsAudioOnly,
				Doc: "audio_duration / request_latency, both in seconds.",
			},
			unit: inRatio, each: func(v *view) float64 { return audioLength(v) / seconds(v.last) },
		},
		{
			Def: Def{
				Tag: "image_throughput", Header: "Image Throughput", Short: "Image Throughput",
				Group: GroupDefault, Order: 860, Flags: SupportsImageOnly,
				Doc: "num_images / request_latency in seconds.",
			},
			unit: inIPS, each: func(v *view) float64 { return numImages(v) / seconds(v.last) },
		},
		{
			Def: Def{
				Tag: "image_latency", Header: "Image Latency", Short: "Image Latency",
				Group: GroupDefault, Order: 861, Flags: SupportsImageOnly,
				Doc: "request_latency / num_images.",
			},
			unit: inMSPerImage, each: func(v *view) float64 { return v.last / numImages(v) },
		},
		{
			Def: Def{
				Tag: "audio_duration", Header: "Audio Duration", Short: "Audio Dur",
				Order: 870, Flags: SupportsAudioOnly,
				Doc: "Duration of the audio in the request, from the headers of its files; without audio in the request, that of the response.",
			},
			unit: inSeconds, each: audioLength,
		},
		{
			Def: Def{
				Tag: "num_images", Header: "Number of Images", Short: "Num Images",
				Flags: SupportsImageOnly,
				Doc:   "Images in the request, including its history; 0 is treated as unknown.",
			},
			unit: inImages, each: numImages,
		},
		{
			Def: Def{
				Tag: "time_to_first_image", Header: "Time to First Image", Short: "TTFI", Origin: ours,
				Group: GroupDefault, Order: 105, Flags: StreamingOnly | ProducesImagesOnly,
				Doc: "First image, or preview of one, minus the start of the request.",
			},
			unit: inMS, each: firstImage,
		},
		{
			Def: Def{
				Tag: "generated_images", Header: "Generated Images", Short: "Gen Images", Origin: ours,
				Group: GroupDefault, Order: 862, Flags: ProducesImagesOnly | LargerIsBetter,
				Doc: "Finished images in the response.",
			},
			unit: inImages, each: generatedImages,
		},
		{
			Def: Def{
				Tag: "generated_image_latency", Header: "Generated Image Latency", Short: "Gen Image Latency", Origin: ours,
				Group: GroupDefault, Order: 863, Flags: ProducesImagesOnly,
				Doc: "request_latency / generated_images.",
			},
			unit: inMSPerImage, each: func(v *view) float64 { return v.last / generatedImages(v) },
		},
		{
			Def: Def{
				Tag: "generated_image_throughput", Header: "Generated Image Throughput", Short: "Gen Images/sec", Origin: ours,
				Group: GroupDefault, Order: 864, Flags: ProducesImagesOnly | LargerIsBetter,
				Doc: "Sum of generated_images / W.",
			},
			unit: inIPS, total: rateOf("generated_images"),
		},
	}
}

// seconds turns nanoseconds into seconds.
func seconds(ns float64) float64 { return ns / float64(time.Second) }

// audioLength is how long the audio of the request plays, or that of the answer.
func audioLength(v *view) float64 {
	if v.outcome != success {
		return math.NaN()
	}
	length := v.r.Content.AudioLength
	if length == 0 {
		length = v.r.Answer.AudioLength
	}
	return positive(length.Seconds())
}

func numImages(v *view) float64 { return positive(float64(v.r.Content.Images)) }

// firstImage is the time to the first image of a stream.
func firstImage(v *view) float64 {
	if !v.streams {
		return math.NaN()
	}
	for i := range v.r.Answer.Chunks {
		if c := &v.r.Answer.Chunks[i]; c.Kind == bench.Image || c.Kind == bench.ImagePartial {
			return v.afterStart(c.At)
		}
	}
	return math.NaN()
}

// generatedImages counts the images of a response, without previews.
func generatedImages(v *view) float64 {
	n := 0
	for i := range v.r.Answer.Chunks {
		if v.r.Answer.Chunks[i].Kind == bench.Image {
			n++
		}
	}
	return positive(float64(n))
}
