// Package template has the codecs of APIs that the user describes, and of unknown ones.
package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/codec"
	"aiperfd/internal/engine/jinja"
)

// Kind is an API that the user describes: a body with variables, and the place in an
// answer the output stands. As a row of [Kinds] it has neither; see [New].
func Kind() codec.Kind {
	return codec.Kind{
		Name: "template", Title: "LLM Metrics", Caps: genericCaps(),
		Encode: func(dst []byte, _ *codec.Request) ([]byte, error) {
			return dst, errors.New("endpoint type template needs endpoint.template.body")
		},
		Decode: answer.Decode(genericGrammar(nil)),
	}
}

// Raw is an API of which nothing is known: the data has whole bodies.
func Raw() codec.Kind {
	return codec.Kind{
		Name: "raw", Title: "LLM Metrics", Caps: genericCaps(),
		Encode: func(dst []byte, _ *codec.Request) ([]byte, error) {
			return dst, errors.New("endpoint type raw sends bodies of the dataset as they are, and this turn has none (payload)")
		},
		Decode: answer.Decode(genericGrammar(nil)),
	}
}

// genericCaps are the capabilities that such an API may have.
func genericCaps() bench.Caps {
	return bench.Caps{
		Named:   true,
		Streams: true, ProducesTokens: true, TokenizesInput: true, Reasoning: true,
		System: true, History: true, Images: true, Audio: true, Video: true,
	}
}

// New returns the type template for a body in Jinja's language and the
// place of the output in an answer: a JMESPath, a JSONPath if it starts with $,
// or empty or "text" if the decoder is to find it. The name of a built-in
// template (nv-embedqa) may stand for the body.
//
// A body may use text, texts, image, images, audio, audios, video, videos (data
// URIs, or URLs), query, queries, passage, passages, texts_by_name, messages (those
// of the type chat), model, max_tokens, stream, system and role. Printed between
// quotes, a text is escaped; the filter tojson makes a whole JSON value of
// anything. The result must be one JSON object; extra inputs are merged over it.
func New(body, responseField string) (codec.Kind, error) {
	if named, ok := namedTemplates()[body]; ok {
		body = named
	}
	parsed, err := parseJinja(body)
	if err != nil {
		return codec.Kind{}, err
	}
	var find finder
	if responseField != "" && responseField != "text" {
		if find, err = parseField(responseField); err != nil {
			return codec.Kind{}, err
		}
	}
	k := Kind()
	k.Encode = func(dst []byte, r *codec.Request) ([]byte, error) { return encodeTemplate(parsed, dst, r) }
	k.Decode = answer.Decode(genericGrammar(find))
	return k, nil
}

// namedTemplates are those that AIPerf has names for.
func namedTemplates() map[string]string {
	return map[string]string{"nv-embedqa": `{"text": {{ texts|tojson }}}`}
}

func encodeTemplate(t *jinja.Template, dst []byte, r *codec.Request) ([]byte, error) {
	const shown = 200 // characters of a body that is no JSON
	text, err := t.Render(variables(r))
	if err != nil {
		return dst, err
	}
	fields, err := codec.Fields(text)
	if err != nil {
		return dst, fmt.Errorf("endpoint.template.body must make a JSON object: %w, in %s", err, answer.Clip(string(text[:min(len(text), shown)])))
	}
	b := &codec.Body{Fields: fields}
	return b.Finish(dst, r, codec.FieldMaxTokens)
}

// variables are the parts of a request that a body may use.
func variables(r *codec.Request) map[string]any {
	t := &r.Turn
	role := t.Role
	if role == "" {
		role = "user"
	}
	v := map[string]any{
		"texts": jinjaTexts(t.Texts), "text": first(t.Texts), "model": jinjaText(codec.ModelOf(r)), "role": jinjaText(role),
		"system": jinjaText(r.System), "stream": r.Settings.Streaming, "max_tokens": nil,
		"messages": messagesOf(r),
	}
	if t.MaxTokens > 0 {
		v["max_tokens"] = int(t.MaxTokens)
	}
	for name, media := range map[string][]bench.Media{"image": t.Images, "audio": t.Audios, "video": t.Videos} {
		urls := make([]string, len(media))
		for i := range media {
			quoted := codec.AppendMediaURL(nil, &media[i])
			_ = json.Unmarshal(quoted, &urls[i]) // it is a JSON string of ours
		}
		v[name], v[name+"s"] = first(urls), jinjaTexts(urls)
	}
	v["query"], v["queries"] = jinjaText(""), []any{}
	v["passage"], v["passages"] = jinjaText(""), []any{}
	byName := map[string]any{}
	for _, named := range t.Named {
		list := jinjaTexts(named.Texts)
		byName[named.Name] = list
		switch strings.TrimSuffix(named.Name, "s") {
		case "query", "querie":
			v["query"], v["queries"] = first(named.Texts), list
		case "passage", "document":
			v["passage"], v["passages"] = first(named.Texts), list
		}
	}
	v["texts_by_name"] = byName
	return v
}

// first returns the first of some texts, or an empty one.
func first(texts []string) jinjaText {
	if len(texts) == 0 {
		return ""
	}
	return jinjaText(texts[0])
}

// messagesOf returns the conversation as the type chat sends it.
func messagesOf(r *codec.Request) any {
	var messages []any
	if json.Unmarshal(codec.AppendMessages(nil, r), &messages) != nil {
		return []any{} // never: it is our own JSON
	}
	return texts(messages)
}

// texts makes texts of all strings in a JSON value.
func texts(v any) any {
	switch v := v.(type) {
	case string:
		return jinjaText(v)
	case []any:
		for i := range v {
			v[i] = texts(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = texts(v[key])
		}
	}
	return v
}
