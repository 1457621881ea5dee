package endpoint

import (
	"math"
	"time"

	"aiperfd/internal/engine/bench"

	"github.com/valyala/fastjson"
)

const nameSGLang = "sglang_generate"

// sglang is SGLang's native API.
func sglang() Kind {
	return Kind{
		Name: nameSGLang, Path: "/generate", RootPath: true, Title: "LLM Metrics",
		Caps:   bench.Caps{Streams: true, ProducesTokens: true, TokenizesInput: true, System: true},
		Encode: encodeSGLang,
		Decode: decodeWith(&grammar{dialect: newSGLang, lists: true, end: endMarker}),
	}
}

// encodeSGLang writes a body for POST /generate (SGLang documentation, "Sampling
// parameters").
func encodeSGLang(dst []byte, r *Request) ([]byte, error) {
	prompt, err := onePrompt(r, nameSGLang)
	if err != nil {
		return dst, err
	}
	n := nested{
		object: "sampling_params",
		top: []string{
			"input_ids", "rid", "session_id", "image_data", "video_data", "audio_data", "return_logprob",
			"logprob_start_len", "top_logprobs_num", "token_ids_logprob", "return_text_in_logprobs",
			"log_metrics", "return_hidden_states", "modalities", "session_params", "lora_path", "priority",
			"routing_key", "conversation_id", "cache_salt", "extra_key", "data_parallel_rank",
			"bootstrap_host", "bootstrap_port", "bootstrap_room", "custom_logit_processor", "custom_labels",
		},
		outer: []Field{{"text", appendString(nil, prompt)}, {fieldStream, jsonBool(r.Settings.Streaming)}},
		inner: []Field{{"max_new_tokens", appendMax(r.Turn.MaxTokens)}},
	}
	return n.finish(dst, r)
}

// sglangDialect reads answers, lists of answers, or chunks of a stream.
type sglangDialect struct {
	*builder

	texts   cumulative
	counted []int64 // tokens of each choice so far, by its position
}

func newSGLang(b *builder) dialect { return &sglangDialect{builder: b} }

func (d *sglangDialect) reset() {
	d.texts.reset()
	d.counted = d.counted[:0]
}

func (d *sglangDialect) document(doc *document) bool { return doc.eachObject(d.object) }

// object reads one object; position stands in for its index.
func (d *sglangDialect) object(v *fastjson.Value, position int, data []byte) {
	text, meta := v.Get("text"), v.Get("meta_info")
	if truthy(v.Get("error")) || string(str(v.Get("object"))) == "error" {
		d.failInObject(data)
		return
	}
	if text == nil && meta.GetObject() == nil && v.Get("output_ids") == nil {
		return
	}
	c := d.choice(v.Get("index"), position)
	if c == nil {
		d.malformed()
		return
	}
	d.answered = true
	if meta.GetObject() == nil {
		d.texts.add(d.builder, c, str(text))
		return
	}
	keepFirst(&d.answer.ResponseID, meta.Get("id"))
	d.countTokens(c, meta)
	d.texts.add(d.builder, c, str(text))
	d.times.value("e2e_latency", meta.Get("e2e_latency"), time.Second)
	reason := meta.Get("finish_reason")
	var why *fastjson.Value // an abort says in the same place what has happened
	if reason.GetObject() != nil {
		why = reason
	}
	d.finish(c, reason, why, data)
}

// countTokens reads the counts, which are those of one choice so far.
func (d *sglangDialect) countTokens(c *choice, meta *fastjson.Value) {
	u, ok := readUsage(meta)
	if !ok {
		return
	}
	if u.output.known() {
		for len(d.counted) <= c.position {
			d.counted = append(d.counted, 0)
		}
		if more := u.output.n - d.counted[c.position]; more > 0 {
			c.tokens += int32(min(more, math.MaxInt32-int64(c.tokens)))
			d.counted[c.position] = u.output.n
		}
		u.output.n = 0
		for _, n := range d.counted {
			u.output.n += n
		}
	}
	d.setUsage(u)
}
