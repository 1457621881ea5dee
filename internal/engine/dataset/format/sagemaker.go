package format

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
)

// captured is one record of a SageMaker data capture.
type captured struct {
	Data struct {
		Input  *capturedBody `json:"endpointInput"`
		Output *capturedBody `json:"endpointOutput"`
	} `json:"captureData"`
	Event struct {
		Time string `json:"inferenceTime"`
	} `json:"eventMetadata"`
}

// capturedBody is a request or response.
type capturedBody struct {
	Data     *string `json:"data"`
	Encoding string  `json:"encoding"` // empty = BASE64
}

// sageMaker reads the requests that an endpoint of SageMaker has recorded.
func sageMaker() source.Format {
	return source.Format{
		Name:   "sagemaker_data_capture",
		Folder: true,
		Trace:  true,
		Timed:  func(*source.Head) bool { return true },
		Clock:  true,
		Needs:  "captureData and eventMetadata",
		Detect: func(h *source.Head) bool { return h.HasAny("captureData") && h.HasAny("eventMetadata") },
		New: func(*source.Options) source.Decoder {
			return func(record file.Record) (source.Row, error) {
				var r captured
				if err := decodeAny(record.Data, &r); err != nil {
					return source.Row{}, err
				}
				t, all := r.turn()
				return wholeRequest(t), all.OrNil()
			}
		},
	}
}

// turn returns the request of a record and its problems.
func (r *captured) turn() (t bench.Turn, all source.Problems) {
	at, err := time.Parse(time.RFC3339Nano, r.Event.Time)
	if err != nil {
		all = append(all, fmt.Sprintf("eventMetadata.inferenceTime: must be a time as 2026-01-31T12:00:00Z, not %q", file.Clip(r.Event.Time)))
	}
	if r.Data.Input == nil || r.Data.Input.Data == nil {
		return t, append(all, "captureData.endpointInput.data is missing")
	}
	const input = "captureData.endpointInput"
	body, err := r.Data.Input.decode()
	if err != nil {
		return t, append(all, input+"."+err.Error())
	}
	request, _, err := chatTurn(body)
	if err != nil {
		return t, append(all, input+".data: "+err.Error())
	}
	t = bench.Turn{
		Messages: request.Messages, Tools: request.Tools, MaxTokens: request.MaxTokens,
		At: time.Duration(at.UnixNano()), Timed: true,
	}
	var response struct {
		Usage struct {
			Prompt bench.Tokens `json:"prompt_tokens"`
		} `json:"usage"`
	}
	// A response that was streamed, or has no usage, does not say the length.
	if body, err := r.Data.Output.decode(); err == nil && json.Unmarshal(body, &response) == nil {
		t.InputTokens = max(0, response.Usage.Prompt)
	}
	return t, all
}

// decode returns the body.
func (b *capturedBody) decode() ([]byte, error) {
	if b == nil || b.Data == nil {
		return nil, nil
	}
	switch b.Encoding {
	case "JSON":
		return []byte(*b.Data), nil
	case "", "BASE64":
		body, err := base64.StdEncoding.DecodeString(*b.Data)
		if err != nil {
			return nil, fmt.Errorf("data: is not base64: %w", err)
		}
		return body, nil
	}
	return nil, fmt.Errorf("encoding: must be JSON or BASE64, not %q", file.Clip(b.Encoding))
}
