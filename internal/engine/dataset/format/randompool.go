package format

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/media"
)

// maxPool bounds the records of all pools, which stay in memory.
const maxPool = 32 << 20

// defaultDraws is the number of conversations if none is given.
const defaultDraws = 100

// randomPool makes requests of records that are drawn from pools.
func randomPool() source.Format {
	return source.Format{
		Name:     "random_pool",
		Folder:   true,
		Needs:    "a folder of files with text, image, audio or video",
		Sampling: "shuffle",
		Draws:    true,
		Detect: func(h *source.Head) bool {
			return h.Folder && !h.Table() && h.HasAny("text", "texts", "image", "images", "audio", "audios", "video", "videos") && !h.HasAny("turns")
		},
		Open: openPools,
	}
}

func poolMembers() []member[row] {
	table := append(rowMembers(),
		field("pool", decodeString, func(r *row) *string { return &r.pool }),
		typeMember[row]("random_pool"),
	)
	return slices.DeleteFunc(table, func(m member[row]) bool { return m.name == "timestamp" || m.name == "delay" })
}

// pools are the pools of a dataset.
type pools struct {
	o     source.Options
	names []string // in their order
	rows  map[string][]row
	media *attacher
	batch *batch // nil = a record of each pool
	about source.Description
}

// openPools reads all pools.
func openPools(ctx context.Context, o source.Options) (source.Source, error) {
	p := &pools{o: o, rows: map[string][]row{}, media: newAttacher(o.Open)}
	p.about.Path = o.File.Path
	if err := p.read(ctx); err != nil {
		return nil, err
	}
	if len(p.names) == 0 {
		return nil, errors.New("no records")
	}
	slices.Sort(p.names)
	if err := p.flatten(); err != nil {
		return nil, err
	}
	n := o.Entries
	if n == 0 {
		n = defaultDraws
	}
	return source.NewIndexed(n, func(i int) source.Entry {
		return source.Entry{Number: i, Make: func() (*bench.Conversation, error) { return p.draw(i) }}
	}, func() source.Description { return p.about }), nil
}

// read reads the records, of which as many with problems are skipped as allowed.
func (p *pools) read(ctx context.Context) error {
	f := p.o.File
	f.Folder = true
	decoder := &rowReader{newObject(poolMembers()), p.media}
	size := 0
	return source.EachRecord(ctx, f, p.o.SkipBad, &p.about, func(record file.Record) (problem, err error) {
		if size += len(record.Data); size > maxPool {
			return nil, fmt.Errorf("the pools have more than %d MiB; read a file of this size as single_turn in the order shuffle", maxPool>>20)
		}
		r, _, all := decoder.read(record.Data)
		if len(all) > 0 {
			return all, nil
		}
		name := r.pool
		if name == "" && f.IsFolder() {
			name = record.Place.File
		}
		if p.rows[name] == nil {
			p.names = append(p.names, name)
		}
		p.rows[name] = append(p.rows[name], r)
		return nil, nil
	})
}

// draw makes a request.
func (p *pools) draw(i int) (*bench.Conversation, error) {
	r := p.o.Seed.Index(bench.StreamRandomPool, i)
	var all row
	if p.batch != nil {
		all = p.batch.draw(r)
	} else {
		for _, name := range p.names {
			all.merge(&p.rows[name][bench.Below(r, len(p.rows[name]))], p.label(name))
		}
	}
	t := bench.Turn{Texts: all.texts, Named: all.named, Role: all.role, MaxTokens: all.output, ExtraBody: all.extra}
	for class, to := range mediaOf(&t) {
		var err error
		if *to, err = p.media.attach(media.Class(class), all.media[class].list); err != nil {
			return nil, err
		}
	}
	if err := p.media.finish(&t, &all.media); err != nil {
		return nil, err
	}
	p.o.Complete(&t, i)
	c := wholeRequest(t).Conversation
	c.ID, c.System = fmt.Sprintf("session_%06d", i), p.o.System
	return &c, nil
}

// label returns the name that texts without one have: that of their pool, if it is a part
// of requests and there are several pools.
func (p *pools) label(pool string) string {
	name := strings.TrimSuffix(path.Base(pool), path.Ext(pool))
	if len(p.names) < 2 || !slices.Contains(partNames(), name) {
		return ""
	}
	return name
}

// merge adds what another record has. Of values that a request has only once, the first
// counts.
func (r *row) merge(other *row, label string) {
	if label != "" && len(other.texts) > 0 {
		r.named = append(r.named, bench.NamedTexts{Name: label, Texts: other.texts})
	} else {
		r.texts = append(r.texts, other.texts...)
	}
	r.named = append(r.named, other.named...)
	for class := range r.media {
		if list := other.media[class].list; list != nil {
			r.media[class].member = other.media[class].member
			r.media[class].list = append(r.media[class].list, list...)
		}
	}
	if r.role == "" {
		r.role = other.role
	}
	if r.output == 0 {
		r.output = other.output
	}
	if r.extra == nil {
		r.extra = other.extra
	}
}

// batch draws single texts and media.
type batch struct {
	texts []string
	media [3][]reference
	n     map[string]int
}

// kinds are the names of media in [source.Options.Batch], by class.
func kinds() [3]string {
	return [...]string{media.ClassImage: "images", media.ClassAudio: "audio", media.ClassVideo: "video"}
}

// flatten puts all texts and media into one pool each, if a number other than 1 of what
// the pools have is requested. Names would get lost, so there must be none.
func (p *pools) flatten() error {
	b := &batch{n: p.o.Batch}
	named := false
	for _, name := range p.names {
		for i := range p.rows[name] {
			r := &p.rows[name][i]
			b.texts = append(b.texts, r.texts...)
			named = named || r.named != nil
			for class, a := range r.media {
				b.media[class] = append(b.media[class], a.list...)
				named = named || slices.ContainsFunc(a.list, func(m reference) bool { return m.name != "" || m.uuid != "" })
			}
		}
	}
	requested := len(b.texts) > 0 && b.count("prompts") != 1
	for class, list := range b.media {
		requested = requested || len(list) > 0 && b.count(kinds()[class]) != 1
	}
	switch {
	case !requested:
		return nil
	case len(p.names) > 1:
		return fmt.Errorf("a number of texts or media per request other than 1 needs one pool; there are %d: %s", len(p.names), strings.Join(p.names, ", "))
	case named:
		return errors.New("a number of texts or media per request other than 1 needs records without names and image_uuids")
	}
	p.batch = b
	return nil
}

// count is the number per request of a kind.
func (b *batch) count(kind string) int {
	if n, ok := b.n[kind]; ok {
		return n
	}
	return 1
}

func (b *batch) draw(r *rand.Rand) (out row) {
	for range b.count("prompts") {
		if len(b.texts) > 0 {
			out.texts = append(out.texts, b.texts[bench.Below(r, len(b.texts))])
		}
	}
	for class, list := range b.media {
		if len(list) == 0 {
			continue
		}
		for range b.count(kinds()[class]) {
			out.media[class].list = append(out.media[class].list, list[bench.Below(r, len(list))])
		}
	}
	return out
}
