package catalogue

import (
	"math"
	"time"

	"aiperfd/internal/engine/bench"
)

// mediaRows are about images and audio.
func mediaRows() []Row {
	return []Row{
		record("rtfx", LargerIsBetter|SupportsAudioOnly, inRatio, func(v *View) float64 {
			return audioLength(v) / seconds(v.Last)
		}),
		record("image_throughput", SupportsImageOnly, inIPS, func(v *View) float64 {
			return numImages(v) / seconds(v.Last)
		}),
		record("image_latency", SupportsImageOnly, inMSPerImage, func(v *View) float64 {
			return v.Last / numImages(v)
		}),
		record("audio_duration", SupportsAudioOnly, inSeconds, audioLength),
		record("num_images", SupportsImageOnly, inImages, numImages),
		record("time_to_first_image", StreamingOnly|ProducesImagesOnly, inMS, firstImage),
		record("generated_images", ProducesImagesOnly|LargerIsBetter, inImages, generatedImages),
		record("generated_image_latency", ProducesImagesOnly, inMSPerImage, func(v *View) float64 {
			return v.Last / generatedImages(v)
		}),
		total("generated_image_throughput", ProducesImagesOnly|LargerIsBetter, inIPS, rateOf("generated_images")),
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

// itemRows are about answers that hold vectors or scores, one for each input.
func itemRows() []Row {
	return []Row{
		record("item_count", ProducesItemsOnly|LargerIsBetter, inItems, func(v *View) float64 {
			if v.Record.Items == 0 {
				return math.NaN()
			}
			return float64(v.Record.Items)
		}),
		total("item_throughput", ProducesItemsOnly|LargerIsBetter, inItemRate, rateOf("item_count")),
	}
}
