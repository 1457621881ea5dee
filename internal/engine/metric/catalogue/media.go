package catalogue

import (
	"math"
	"time"

	"aiperfd/internal/engine/bench"
)

// mediaRows are about images and audio.
func mediaRows() []Row {
	return []Row{
		{
			Def: Def{
				Tag: "rtfx", Better: Higher, Header: "Inverse Real-Time Factor (RTFx)", Short: "RTFx",
				Group: GroupDefault, Order: 850, Flags: LargerIsBetter | SupportsAudioOnly,
				Doc: "audio_duration / request_latency, both in seconds.",
			},
			unit: inRatio, Each: func(v *View) float64 { return audioLength(v) / seconds(v.Last) },
		},
		{
			Def: Def{
				Tag: "image_throughput", Better: Higher, Header: "Image Throughput", Short: "Image Throughput",
				Group: GroupDefault, Order: 860, Flags: SupportsImageOnly,
				Doc: "num_images / request_latency in seconds.",
			},
			unit: inIPS, Each: func(v *View) float64 { return numImages(v) / seconds(v.Last) },
		},
		{
			Def: Def{
				Tag: "image_latency", Better: Lower, Header: "Image Latency", Short: "Image Latency",
				Group: GroupDefault, Order: 861, Flags: SupportsImageOnly,
				Doc: "request_latency / num_images.",
			},
			unit: inMSPerImage, Each: func(v *View) float64 { return v.Last / numImages(v) },
		},
		{
			Def: Def{
				Tag: "audio_duration", Better: Neither, Header: "Audio Duration", Short: "Audio Dur",
				Order: 870, Flags: SupportsAudioOnly,
				Doc: "Duration of the audio in the request, from the headers of its files; without audio in the request, that of the response.",
			},
			unit: inSeconds, Each: audioLength,
		},
		{
			Def: Def{
				Tag: "num_images", Better: Neither, Header: "Number of Images", Short: "Num Images",
				Flags: SupportsImageOnly,
				Doc:   "Images in the request, including its history; 0 is treated as unknown.",
			},
			unit: inImages, Each: numImages,
		},
		{
			Def: Def{
				Tag: "time_to_first_image", Better: Lower, Header: "Time to First Image", Short: "TTFI", Origin: Ours,
				Group: GroupDefault, Order: 105, Flags: StreamingOnly | ProducesImagesOnly,
				Doc: "First image, or preview of one, minus the start of the request.",
			},
			unit: inMS, Each: firstImage,
		},
		{
			Def: Def{
				Tag: "generated_images", Better: Neither, Header: "Generated Images", Short: "Gen Images", Origin: Ours,
				Group: GroupDefault, Order: 862, Flags: ProducesImagesOnly | LargerIsBetter,
				Doc: "Finished images in the response.",
			},
			unit: inImages, Each: generatedImages,
		},
		{
			Def: Def{
				Tag: "generated_image_latency", Better: Lower, Header: "Generated Image Latency", Short: "Gen Image Latency", Origin: Ours,
				Group: GroupDefault, Order: 863, Flags: ProducesImagesOnly,
				Doc: "request_latency / generated_images.",
			},
			unit: inMSPerImage, Each: func(v *View) float64 { return v.Last / generatedImages(v) },
		},
		{
			Def: Def{
				Tag: "generated_image_throughput", Better: Higher, Header: "Generated Image Throughput", Short: "Gen Images/sec", Origin: Ours,
				Group: GroupDefault, Order: 864, Flags: ProducesImagesOnly | LargerIsBetter,
				Doc: "Sum of generated_images / W.",
			},
			unit: inIPS, Total: rateOf("generated_images"),
		},
	}
}

// seconds turns nanoseconds into seconds.
func seconds(ns float64) float64 { return ns / float64(time.Second) }

// audioLength is how long the audio of the request plays, or that of the answer.
func audioLength(v *View) float64 {
	if v.Outcome != Success {
		return math.NaN()
	}
	length := v.Record.Content.AudioLength
	if length == 0 {
		length = v.Record.Answer.AudioLength
	}
	return positive(length.Seconds())
}

func numImages(v *View) float64 { return positive(float64(v.Record.Content.Images)) }

// firstImage is the time to the first image of a stream.
func firstImage(v *View) float64 {
	if !v.Streams {
		return math.NaN()
	}
	for i := range v.Record.Answer.Chunks {
		if c := &v.Record.Answer.Chunks[i]; c.Kind == bench.Image || c.Kind == bench.ImagePartial {
			return v.afterStart(c.At)
		}
	}
	return math.NaN()
}

// generatedImages counts the images of a response, without previews.
func generatedImages(v *View) float64 {
	n := 0
	for i := range v.Record.Answer.Chunks {
		if v.Record.Answer.Chunks[i].Kind == bench.Image {
			n++
		}
	}
	return positive(float64(n))
}
