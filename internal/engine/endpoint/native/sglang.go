package native

import (
	"math"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/codec"
)

const nameSGLang = "sglang_generate"

// SGLang is SGLang's native API.
func SGLang() codec.Kind {
	return codec.Kind{
		Name: nameSGLang, Path: "/generate", RootPath: true, Title: "LLM Metrics",
		Caps:     bench.Caps{Streams: true, ProducesTokens: true, TokenizesInput: true, System: true},
		Optional: codec.Optional{ExactLength: true},
		Encode:   encodeSGLang,
		Decode:   answer.Decode(&answer.Grammar{Dialect: newSGLang, Lists: true, End: answer.EndMarker}),
	}
}

// encodeSGLang writes a body for POST /generate (SGLang documentation, "Sampling
// parameters").
func encodeSGLang(dst []byte, r *codec.Request) ([]byte, error) {
	prompt, err := codec.OnePrompt(r, nameSGLang)
	if err != nil {
		return dst, err
	}
	n := codec.Wrapped{
		Object: "sampling_params",
		Top: []string{
			"input_ids", "rid", "session_id", "image_data", "video_data", "audio_data", "return_logprob",
			"logprob_start_len", "top_logprobs_num", "token_ids_logprob", "return_text_in_logprobs",
			"log_metrics", "return_hidden_states", "modalities", "session_params", "lora_path", "priority",
			"routing_key", "conversation_id", "cache_salt", "extra_key", "data_parallel_rank",
			"bootstrap_host", "bootstrap_port", "bootstrap_room", "custom_logit_processor", "custom_labels",
		},
		Outer: []codec.Field{codec.TextField("text", prompt), codec.RawField(codec.FieldStream, codec.JSONBool(r.Settings.Streaming))},
		Inner: []codec.Field{codec.RawField("max_new_tokens", codec.AppendMax(r.Turn.MaxTokens))},
	}
	n.ForceLength(r, "min_new_tokens")
	return n.Finish(dst, r)
}

// sglangDialect reads answers, lists of answers, or chunks of a stream.
type sglangDialect struct {
	*answer.Builder

	texts   cumulative
	counted []int64 // Tokens of each choice so far, by its position
}

func newSGLang(b *answer.Builder) answer.Dialect { return &sglangDialect{Builder: b} }

func (d *sglangDialect) Reset() {
	d.texts.reset()
	d.counted = d.counted[:0]
}

func (d *sglangDialect) Document(doc *answer.Document) bool { return doc.EachObject(d.object) }

// object reads one object; position stands in for its index.
func (d *sglangDialect) object(v *fastjson.Value, position int, data []byte) {
	text, meta := v.Get("text"), v.Get("meta_info")
	if answer.Truthy(v.Get("error")) || string(answer.Str(v.Get("object"))) == "error" {
		d.FailInObject(data)
		return
	}
	if text == nil && meta.GetObject() == nil && v.Get("output_ids") == nil {
		return
	}
	c := d.Choice(v.Get("index"), position)
	if c == nil {
		d.Malformed()
		return
	}
	d.Answered = true
	if meta.GetObject() == nil {
		d.texts.add(d.Builder, c, answer.Str(text))
		return
	}
	answer.KeepFirst(&d.Answer.ResponseID, meta.Get("id"))
	d.countTokens(c, meta)
	d.texts.add(d.Builder, c, answer.Str(text))
	d.SGLangSpeculation(meta, c.Position)
	d.Times.Value("e2e_latency", meta.Get("e2e_latency"), time.Second)
	reason := meta.Get("finish_reason")
	var why *fastjson.Value // an abort has its message in the same place
	if reason.GetObject() != nil {
		why = reason
	}
	d.Finish(c, reason, why, data)
}

// countTokens reads the counts, which are those of one choice so far.
func (d *sglangDialect) countTokens(c *answer.Choice, meta *fastjson.Value) {
	u, ok := answer.ReadUsage(meta)
	if !ok {
		return
	}
	if u.Output.Known() {
		for len(d.counted) <= c.Position {
			d.counted = append(d.counted, 0)
		}
		if more := u.Output.N - d.counted[c.Position]; more > 0 {
			c.Tokens += int32(min(more, math.MaxInt32-int64(c.Tokens)))
			d.counted[c.Position] = u.Output.N
		}
		u.Output.N = 0
		for _, n := range d.counted {
			u.Output.N += n
		}
	}
	d.SetUsage(u)
}
