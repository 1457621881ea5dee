package format

import (
	"fmt"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/media"
)

// singleTurn reads independent requests, one per record.
func singleTurn() source.Format {
	return source.Format{
		Name: "single_turn",
		Doc: "One request per line (JSONL; gzip and zstd are recognised). Records with the same `session_id` are " +
			"sent one after the other, each as a complete request without history.",
		Fields: singleTurnDocs(),
		New: func(o *source.Options) func(file.Record) ([]source.Row, []string) {
			d, a := newRowDecoder(), newAttacher(o.Open)
			return func(record file.Record) ([]source.Row, []string) {
				r, problems := d.decode(record.Data)
				if len(problems) > 0 {
					return nil, problems
				}
				t, finish, problems := r.turn(a)
				if len(problems) > 0 {
					return nil, problems
				}
				return []source.Row{{
					Session:      r.session,
					Conversation: bench.Conversation{Mode: bench.MessageArrayWithResponses, Turns: []bench.Turn{t}},
					Finish:       finish,
				}}, nil
			}
		},
	}
}

// turn returns the turn of a record, the function that reads its files, nil if there are
// none, and the problems of its media.
func (r *row) turn(a *attacher) (t bench.Turn, finish func([]bench.Turn) error, problems []string) {
	t = bench.Turn{Texts: r.texts, Named: r.named, Role: r.role, MaxTokens: bench.Tokens(r.output), ExtraBody: r.extra}
	if r.delay != nil {
		t.Delay = source.Milliseconds(*r.delay, nil)
	}
	files := false
	for class, to := range [...]*[]bench.Media{media.ClassImage: &t.Images, media.ClassAudio: &t.Audios, media.ClassVideo: &t.Videos} {
		list, named, err := a.attach(media.Class(class), r.media[class].list)
		if err != nil {
			problems = append(problems, r.media[class].member+": "+err.Error())
		}
		*to, files = list, files || named
	}
	if files {
		refs := r.media
		finish = func(turns []bench.Turn) error { return a.read(&turns[0], &refs) }
	}
	return t, finish, problems
}

// read reads the files that the media of a turn name.
func (a *attacher) read(t *bench.Turn, refs *[3]attachment) error {
	for class, to := range [...]*[]bench.Media{media.ClassImage: &t.Images, media.ClassAudio: &t.Audios, media.ClassVideo: &t.Videos} {
		list, err := a.whole(media.Class(class), refs[class].list, *to)
		if err != nil {
			return fmt.Errorf("%s: %w", refs[class].member, err)
		}
		*to = list
	}
	return nil
}
