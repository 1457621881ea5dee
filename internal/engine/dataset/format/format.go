// Package format decodes the records of dataset files. Each format is one file and one
// row of [Formats].
package format

import "aiperfd/internal/engine/dataset/source"

// Formats lists the formats in the order of the documentation.
func Formats() []source.Format {
	return []source.Format{
		singleTurn(), multiTurn(), randomPool(), rawPayload(), chatMessages(), openAIBatch(), columns(), inputsJSON(), shareGPT(), speedBench(), sageMaker(), dagJSONL(),
	}
}
