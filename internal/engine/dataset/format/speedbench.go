package format

import (
	"fmt"
	"slices"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
)

const speedBenchName = "speed_bench"

// speedBenchCategories lists the categories of the qualitative split, and speedBenchTiers those
// of the others.
func speedBenchCategories() []string {
	return []string{
		"coding", "humanities", "math", "multilingual", "qa", "rag", "reasoning", "roleplay", "stem", "summarization", "writing",
	}
}

func speedBenchTiers() []string { return []string{"low_entropy", "mixed", "high_entropy"} }

// speedBenchParts lists AIPerf's names of the splits and of their categories.
func speedBenchParts() []string {
	parts := []string{speedBenchName + "_qualitative"}
	for _, category := range speedBenchCategories() {
		parts = append(parts, speedBenchName+"_"+category)
	}
	for _, size := range []string{"1k", "2k", "8k", "16k", "32k"} {
		split := speedBenchName + "_throughput_" + size
		parts = append(parts, split)
		for _, tier := range speedBenchTiers() {
			parts = append(parts, split+"_"+tier)
		}
	}
	return parts
}

// speedBench reads NVIDIA's SPEED-Bench, whose rows have categories, as the scripts of the
// dataset prepare it.
func speedBench() source.Format {
	return source.Format{
		Name:   speedBenchName,
		Parts:  speedBenchParts(),
		Needs:  "question_id, category and messages",
		Detect: isSpeedBench,
		New: func(o *source.Options) source.Decoder {
			only := speedBenchCategory(o.Part)
			return func(record file.Record) (source.Row, error) { return speedBenchRow(record, only) }
		},
	}
}

func isSpeedBench(h *source.Head) bool {
	return h.HasAny("question_id") && h.HasAny("category") && source.HasAny(h.First("messages"), "content")
}

// speedBenchCategory returns the category of a part; empty = it has several.
func speedBenchCategory(part string) string {
	for _, category := range slices.Concat(speedBenchCategories(), speedBenchTiers()) {
		if strings.HasSuffix(part, "_"+category) {
			return category
		}
	}
	return ""
}

// speedBenchUnprepared is what the published dataset has in place of texts that its licence
// does not allow to publish.
const speedBenchUnprepared = "FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE USING SPECDEC_BENCH"

// speedBenchRow reads a row, of which each message is a turn. Rows of other categories than only
// are left out; empty = none are.
func speedBenchRow(record file.Record, only string) (source.Row, error) {
	var r struct {
		ID       string `json:"question_id"`
		Category string `json:"category"`
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"messages"`
	}
	if err := decodeAny(record.Data, &r); err != nil {
		return source.Row{}, err
	}
	var all source.Problems
	if r.Category == "" {
		all = append(all, "category is missing")
	}
	if len(r.Messages) == 0 {
		all = append(all, "messages is missing")
	}
	var turns []bench.Turn
	for i, m := range r.Messages {
		switch {
		case m.Role == "":
			all = append(all, fmt.Sprintf("messages[%d].role is missing", i))
		case strings.TrimSpace(m.Content) == "":
			all = append(all, fmt.Sprintf("messages[%d].content is missing", i))
		case m.Content == speedBenchUnprepared:
			all = append(all, fmt.Sprintf("messages[%d].content: the text is not in the published dataset; prepare the file with the scripts of SPEED-Bench", i))
		}
		t := bench.Turn{Texts: []string{m.Content}, Role: m.Role}
		if m.Role == "user" {
			t.Role = ""
		}
		turns = append(turns, t)
	}
	if len(all) > 0 {
		return source.Row{}, all
	}
	if only != "" && r.Category != only {
		return source.Row{Skip: "of another category"}, nil
	}
	return source.Row{Session: r.ID, Conversation: bench.Conversation{Turns: turns, Category: r.Category}}, nil
}
