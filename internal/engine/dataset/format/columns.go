package format

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/media"
)

// usualColumns returns the names that the columns usually have, which are tried in this
// order if the user names none; they are those of guidellm 0.8.1, and for the output tokens
// those of vllm bench and of other formats.
func usualColumns() source.Columns {
	return source.Columns{
		Prompt:       []string{"prompt", "instruction", "question", "input", "context", "content", "conversation", "turn", "text"},
		System:       []string{"system_prompt", "system", "prefix"},
		OutputTokens: []string{"output_tokens_count", "completion_tokens_count", "output_tokens", "output_length", "max_tokens"},
		Image:        []string{"image", "picture", "photo", "img"},
	}
}

// columns reads tables and records whose columns the user names.
func columns() source.Format {
	return source.Format{
		Name:    "columns",
		Columns: true,
		Needs:   "a prompt, or a table",
		Detect: func(h *source.Head) bool {
			return !h.HasAny("Request tokens", "timestamp_start_unix_ms") && // traces
				(h.Table() || hasPrompt(h) && !h.HasAny("messages", "turns", "input_length", "text_input", "payload", "chat_id"))
		},
		New: func(o *source.Options) source.Decoder {
			return Table{Columns: o.Columns}.decoder(o)
		},
	}
}

// hasPrompt reports whether a record has a usual name of a prompt, other than text, with
// which other formats begin.
func hasPrompt(h *source.Head) bool {
	names := slices.DeleteFunc(usualColumns().Prompt, func(name string) bool { return name == "text" })
	return !h.Folder && h.HasAny(names...)
}

// Table says how the rows of a table become conversations.
type Table struct {
	Columns  source.Columns
	Audio    string // column with the audio of the first turn; empty = none
	Template string // the prompt, in which {name} is the text of a column; empty = the prompt column
	Fixed    string // the same prompt for every row; empty = none
	First    bool   // a list of prompts or messages is one turn: its first one
	// Skip leaves out rows without a prompt, an image or audio that the table should
	// have, and images after the first; otherwise they are problems.
	Skip bool
	// Seconds bounds the audio; longer clips are left out. 0 = no bound.
	Seconds float64
}

// Format returns the table as a format.
func (t Table) Format(name string) source.Format {
	return source.Format{Name: name, New: t.decoder}
}

// decoder returns the function that decodes the rows of one pass.
func (t Table) decoder(o *source.Options) source.Decoder {
	d := &tableDecoder{Table: t, usual: usualColumns(), attacher: newAttacher(o.Open)}
	return d.decode
}

// tableDecoder decodes the rows of a table.
type tableDecoder struct {
	Table
	usual    source.Columns
	attacher *attacher
	row      map[string]json.RawMessage
}

// skipped is why a row is left out.
type skipped string

// Error implements error.
func (s skipped) Error() string { return string(s) }

// leftOut returns the row that is left out because of an error of type skipped.
func leftOut(err error) (row source.Row, ok bool) {
	why, ok := errors.AsType[skipped](err)
	return source.Row{Skip: string(why)}, ok
}

func (d *tableDecoder) decode(record file.Record) (source.Row, error) {
	d.row = nil
	if !utf8.Valid(record.Data) {
		return source.Row{}, errors.New("the record is not valid UTF-8")
	}
	if err := json.Unmarshal(record.Data, &d.row); err != nil || d.row == nil {
		return source.Row{}, notObject(record.Data, err)
	}
	var problems source.Problems
	check := func(err error) {
		if err != nil {
			problems = append(problems, err.Error())
		}
	}
	turns, err := d.turns()
	if row, ok := leftOut(err); ok {
		return row, nil
	}
	check(err)
	if len(turns) == 0 {
		turns = make([]bench.Turn, 1) // to find the other problems
	}
	c := bench.Conversation{Turns: turns}
	c.System, err = d.text("system", d.Columns.System, d.usual.System)
	check(err)
	n, err := d.outputTokens()
	check(err)
	for i := range turns {
		turns[i].MaxTokens = n
	}
	finish, err := d.media(&turns[0])
	if row, ok := leftOut(err); ok {
		return row, nil
	}
	check(err)
	return source.Row{Conversation: c, Finish: finish}, problems.OrNil()
}

// find returns the value of a column: of the first of the given names, or else of the
// usual ones, that the row has. It is nil if it is absent or null; of given names one
// must exist.
func (d *tableDecoder) find(what string, given, usual []string) (name string, value json.RawMessage, err error) {
	names := given
	if len(given) == 0 {
		names = usual
	}
	for _, name := range names {
		if v, ok := d.row[name]; ok {
			if string(v) == "null" {
				v = nil
			}
			return name, v, nil
		}
	}
	if len(given) > 0 {
		return "", nil, fmt.Errorf("no column %q for the %s; the columns are %s", strings.Join(given, `" or "`), what, d.columnNames())
	}
	return "", nil, nil
}

// columnNames lists the columns of the row.
func (d *tableDecoder) columnNames() string {
	const most = 20
	names := slices.Sorted(maps.Keys(d.row))
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return file.Clip(strings.Join(names, ", "))
}

// text returns the text of a column; empty = there is none.
func (d *tableDecoder) text(what string, given, usual []string) (text string, err error) {
	name, v, err := d.find(what, given, usual)
	if v == nil || err != nil {
		return "", err
	}
	if json.Unmarshal(v, &text) != nil {
		return "", fmt.Errorf("column %s: must be text, not %s", name, file.Clip(string(v)))
	}
	return text, nil
}

// turns returns the turns of the row.
func (d *tableDecoder) turns() ([]bench.Turn, error) {
	var prompts []string
	switch {
	case d.Fixed != "":
		prompts = []string{d.Fixed}
	case d.Template != "":
		text, err := d.fill()
		if err != nil {
			return nil, err
		}
		prompts = []string{text}
	default:
		name, v, err := d.find("prompt", d.Columns.Prompt, d.usual.Prompt)
		switch {
		case err != nil:
			return nil, err
		case name == "":
			return nil, fmt.Errorf("no column for the prompt: name it (--prompt-column); the columns are %s", d.columnNames())
		}
		if prompts, err = prompt(v); err != nil {
			return nil, fmt.Errorf("column %s: %w", name, err)
		}
		if d.First && len(prompts) > 1 {
			prompts = prompts[:1]
		}
		if len(prompts) == 0 && !d.Skip {
			return nil, fmt.Errorf("column %s: the prompt is empty", name)
		}
	}
	var turns []bench.Turn
	for _, p := range prompts {
		turns = append(turns, bench.Turn{Texts: []string{p}})
	}
	if len(turns) == 0 {
		return nil, skipped("without a prompt")
	}
	return turns, nil
}

// prompt returns the texts of a prompt column that are not empty.
func prompt(v json.RawMessage) ([]string, error) {
	if v == nil {
		return nil, nil
	}
	var texts []string
	switch v[0] {
	case '"':
		texts = make([]string, 1)
		if err := json.Unmarshal(v, &texts[0]); err != nil {
			return nil, err
		}
	case '[':
		var items []json.RawMessage
		if err := json.Unmarshal(v, &items); err != nil {
			return nil, err
		}
		for i, item := range items {
			text, user, err := message(item)
			if err != nil {
				return nil, fmt.Errorf("item %d: %w", i, err)
			}
			if user {
				texts = append(texts, text)
			}
		}
	default:
		return nil, fmt.Errorf("must be text, a list of texts, or a list of chat messages, not %s", file.Clip(string(v)))
	}
	return slices.DeleteFunc(texts, func(s string) bool { return strings.TrimSpace(s) == "" }), nil
}

// message returns the text of an item of a prompt: a text, or a chat message, which may
// be in a list of its own. user is false for messages whose author is not the user.
func message(v json.RawMessage) (text string, user bool, err error) {
	if json.Unmarshal(v, &text) == nil {
		return text, true, nil
	}
	var nested []json.RawMessage
	if json.Unmarshal(v, &nested) == nil && len(nested) > 0 {
		v = nested[0]
	}
	var m struct {
		Role, From, Content, Value *string
	}
	if json.Unmarshal(v, &m) != nil {
		return "", false, fmt.Errorf("must be text or a chat message with text, not %s", file.Clip(string(v)))
	}
	for _, role := range []*string{m.Role, m.From} {
		if role != nil && *role != "user" && *role != "human" {
			return "", false, nil
		}
	}
	for _, s := range []*string{m.Content, m.Value} {
		if s != nil {
			// The mark where the image of a row belongs.
			return strings.TrimSpace(strings.ReplaceAll(*s, "<image>", "")), true, nil
		}
	}
	return "", false, fmt.Errorf("a chat message needs role and content, or from and value, not %s", file.Clip(string(v)))
}

// fill fills the template.
func (d *tableDecoder) fill() (string, error) {
	var out strings.Builder
	rest := d.Template
	for {
		before, after, ok := strings.Cut(rest, "{")
		out.WriteString(before)
		if !ok {
			return out.String(), nil
		}
		name, tail, _ := strings.Cut(after, "}")
		text, err := d.text("prompt", []string{name}, nil)
		if err != nil {
			return "", err
		}
		out.WriteString(text)
		rest = tail
	}
}

// outputTokens returns the cap of a row; 0 = none. A number in a CSV file is text.
func (d *tableDecoder) outputTokens() (bench.Tokens, error) {
	name, v, err := d.find("output tokens", d.Columns.OutputTokens, d.usual.OutputTokens)
	digits := strings.Trim(string(v), `"`)
	if err != nil || strings.TrimSpace(digits) == "" {
		return 0, err
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if err != nil || n < 1 || n > maxOutputTokens || n != float64(int64(n)) {
		return 0, fmt.Errorf("column %s: must be an integer from 1 to %d, not %s", name, maxOutputTokens, file.Clip(string(v)))
	}
	return bench.Tokens(n), nil
}

// maxOutputTokens is above every length that a model can produce.
const maxOutputTokens = 1 << 31

// media attaches the image and the audio of a row, and returns the function that reads
// their files, if there are any.
func (d *tableDecoder) media(t *bench.Turn) (finish func([]bench.Turn) error, err error) {
	image, err := d.attachment("image", d.Columns.Image, d.usual.Image)
	if err != nil {
		return nil, err
	}
	var audio attachment
	if d.Audio != "" {
		if audio, err = d.attachment("audio", []string{d.Audio}, nil); err != nil {
			return nil, err
		}
	}
	switch {
	case d.Skip && len(d.Columns.Image) > 0 && image.list == nil:
		return nil, skipped("without an image")
	case d.Skip && d.Audio != "" && audio.list == nil:
		return nil, skipped("without audio")
	case d.Skip && len(image.list) > 1:
		image.list = image.list[:1]
	}
	r := row{media: [3]attachment{media.ClassImage: image, media.ClassAudio: audio}}
	for class, to := range mediaOf(t) {
		if *to, err = d.attacher.attach(media.Class(class), r.media[class].list); err != nil {
			return nil, fmt.Errorf("column %s: %w", r.media[class].member, err)
		}
	}
	if d.Seconds > 0 && len(t.Audios) > 0 && media.Seconds(t.Audios[0].Data) > d.Seconds {
		return nil, skipped(fmt.Sprintf("of more than %v s", d.Seconds))
	}
	if !r.hasFiles(t) {
		return nil, nil
	}
	return func(turns []bench.Turn) error { return d.attacher.finish(&turns[0], &r.media) }, nil
}

// attachment reads a column of media: references, or the structs of Hugging Face with
// the bytes of a file.
func (d *tableDecoder) attachment(what string, given, usual []string) (attachment, error) {
	name, v, err := d.find(what, given, usual)
	if v == nil || err != nil {
		return attachment{}, err
	}
	items := []json.RawMessage{v}
	if v[0] == '[' {
		if err := json.Unmarshal(v, &items); err != nil {
			return attachment{}, err
		}
	}
	a := attachment{member: name}
	for _, item := range items {
		var text string
		var stored struct{ Bytes, Path *string }
		switch {
		case string(item) == "null" || string(item) == `""`:
			continue
		case json.Unmarshal(item, &text) == nil:
		case json.Unmarshal(item, &stored) != nil:
			return attachment{}, fmt.Errorf("column %s: must be text or {bytes, path}, not %s", name, file.Clip(string(item)))
		case stored.Bytes != nil:
			text = "data:application/octet-stream;base64," + *stored.Bytes // its type is detected
		case stored.Path != nil:
			text = *stored.Path
		default:
			continue
		}
		a.list = append(a.list, reference{text: text})
	}
	return a, nil
}
