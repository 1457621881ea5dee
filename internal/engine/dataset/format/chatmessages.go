package format

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
)

// chatMessages reads chat requests that leave to the run what they lack.
func chatMessages() source.Format {
	return source.Format{
		Name:  "chat_messages",
		Needs: "a list of messages without a model",
		Detect: func(h *source.Head) bool {
			return h.Chat && !h.Folder && hasMessages(h) && !h.HasAny("model") && !isSpeedBench(h)
		},
		New: func(*source.Options) source.Decoder {
			return func(record file.Record) (source.Row, error) {
				if err := file.CheckObject(record.Data); err != nil {
					return source.Row{}, err
				}
				t, err := messagesTurn(record.Data)
				return wholeRequest(t), err
			}
		},
	}
}

// hasMessages reports whether a record has a list of messages, and no member of another
// format that has one.
func hasMessages(h *source.Head) bool {
	return strings.HasPrefix(string(h.Members["messages"]), "[") && !h.HasAny("timestamp", "delay", "session_id",
		"conversation_id", "input_length", "output_length", "text_input", "hash_ids", "turns", "data")
}

// messagesTurn returns the turn of a chat request that the run completes.
func messagesTurn(body json.RawMessage) (bench.Turn, error) {
	var head struct {
		Model    *string `json:"model"`
		Messages []struct {
			Role *string `json:"role"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &head); err != nil {
		return bench.Turn{}, notObject(body, err)
	}
	for i, m := range head.Messages {
		if m.Role == nil || *m.Role == "" {
			return bench.Turn{}, fmt.Errorf("messages[%d]: role is missing", i)
		}
	}
	t, _, err := chatTurn(body, "model")
	if head.Model != nil {
		if t.Model = *head.Model; t.Model == "" {
			err = errors.Join(err, errors.New("model: must not be empty"))
		}
	}
	return t, err
}
