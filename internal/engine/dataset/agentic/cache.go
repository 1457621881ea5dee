package agentic

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/durable"
)

// The files of a cache: graphs by the digest of the traces that they were made of and the rules, and the digest by
// the names, sizes and times of files, so that files which have not changed need not be read.
const (
	graphsEnd   = ".agx"
	referEnd    = ".ref"
	cacheMagic  = "aiperfd-agx/2\n"
	cacheHeader = len(cacheMagic) + sha256.Size
	cacheBytes  = 1 << 30 // of all files with graphs; the oldest are removed
	cachedFrom  = 4 << 20 // bytes of files that are worth it
	referCost   = 4 << 10 // bytes of the disk that a small file takes
	writing     = ".writing-"
)

// cache is a folder with graphs of traces that were read. What is damaged in it is removed, and what cannot be
// written is not kept.
type cache struct{ folder string }

// key names the state of files and the rules; "" = they are not cached.
func (c cache) key(f *file.File, o *Options) string {
	state, size, ok := f.State()
	if c.folder == "" || !ok || size < cachedFrom {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s%+v\n%s", cacheMagic, o.Rules, state))
	return hex.EncodeToString(sum[:])
}

// open returns the graphs of files; nil = they are not in the cache.
func (c cache) open(key string) *cachedTraces {
	if key == "" {
		return nil
	}
	refer := filepath.Join(c.folder, key+referEnd)
	name, err := os.ReadFile(refer)
	if err != nil {
		return nil
	}
	digest, err := hex.DecodeString(string(name))
	if err == nil && len(digest) == sha256.Size {
		path := filepath.Join(c.folder, string(name)+graphsEnd)
		t, err := openCached(path)
		if err == nil {
			now := time.Now()
			_ = os.Chtimes(path, now, now) // the oldest are those that were not used for longest
			return t
		}
		if !errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(path)
		}
	}
	_ = os.Remove(refer)
	return nil
}

// cachedTraces reads graphs of a cache.
type cachedTraces struct {
	file *os.File
	in   *bufio.Reader
	data []byte
}

// openCached opens a file with graphs, after it has checked all of it.
func openCached(path string) (*cachedTraces, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	header := make([]byte, cacheHeader)
	sum := sha256.New()
	if _, err = io.ReadFull(f, header); err == nil {
		_, err = io.Copy(sum, f)
	}
	if err == nil && (string(header[:len(cacheMagic)]) != cacheMagic || !bytes.Equal(header[len(cacheMagic):], sum.Sum(nil))) {
		err = errPacked
	}
	if err == nil {
		_, err = f.Seek(int64(cacheHeader), io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &cachedTraces{file: f, in: bufio.NewReaderSize(f, 64<<10)}, nil
}

// next returns the next trace; io.EOF = there are no more.
func (t *cachedTraces) next() (*packedTrace, error) {
	size, err := binary.ReadUvarint(t.in)
	if err != nil {
		return nil, err
	}
	if size > maxRecord {
		return nil, errPacked
	}
	t.data = slices.Grow(t.data[:0], int(size))[:size]
	if _, err := io.ReadFull(t.in, t.data); err != nil {
		return nil, errPacked
	}
	return unpackTrace(t.data)
}

// cacheWriter keeps the graphs of a reading. After an error it keeps nothing.
type cacheWriter struct {
	cache    cache
	key      string
	file     *os.File
	out      *bufio.Writer
	sum      hash.Hash // of what was written
	contents hash.Hash // of the traces that were read
	packer   packer
	err      error
}

// write begins to keep graphs; nil = they are not kept.
func (c cache) write(key string, o *Options) *cacheWriter {
	if key == "" || os.MkdirAll(c.folder, 0o700) != nil {
		return nil
	}
	f, err := os.CreateTemp(c.folder, writing+"*")
	if err != nil {
		return nil
	}
	w := &cacheWriter{cache: c, key: key, file: f, sum: sha256.New(), contents: sha256.New()}
	w.out = bufio.NewWriterSize(io.MultiWriter(f, w.sum), 256<<10)
	fmt.Fprintf(w.contents, "%s%+v\n", cacheMagic, o.Rules) // never fails
	_, w.err = f.Write(make([]byte, cacheHeader))
	return w
}

// add keeps a trace, whose record has a digest.
func (w *cacheWriter) add(t *packedTrace, digest []byte) {
	fmt.Fprintf(w.contents, "%v %x\n", t.place, digest)
	data := w.packer.pack(t)
	_, err := w.out.Write(binary.AppendUvarint(nil, uint64(len(data))))
	_, err2 := w.out.Write(data)
	w.err = cmp.Or(w.err, err, err2)
}

// finish ends the keeping; whole = all traces of the files were added, and none had problems.
func (w *cacheWriter) finish(whole bool) {
	err := cmp.Or(w.err, w.out.Flush())
	if err == nil && whole {
		_, err = w.file.WriteAt(append([]byte(cacheMagic), w.sum.Sum(nil)...), 0)
	}
	err = cmp.Or(err, w.file.Close())
	name := hex.EncodeToString(w.contents.Sum(nil))
	if err != nil || !whole || os.Rename(w.file.Name(), filepath.Join(w.cache.folder, name+graphsEnd)) != nil {
		_ = os.Remove(w.file.Name())
		return
	}
	_ = durable.WriteFile(filepath.Join(w.cache.folder, w.key+referEnd), durable.Private, []byte(name))
	w.cache.prune(cacheBytes)
}

// prune removes the files that were not used for longest until all together have so many bytes, and what was written
// a day ago and not finished.
func (c cache) prune(most int64) {
	entries, err := os.ReadDir(c.folder)
	if err != nil {
		return
	}
	var all []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil || !info.Mode().IsRegular():
		case strings.HasPrefix(e.Name(), writing) && time.Since(info.ModTime()) > 24*time.Hour:
			_ = os.Remove(filepath.Join(c.folder, e.Name()))
		case strings.HasSuffix(e.Name(), graphsEnd), strings.HasSuffix(e.Name(), referEnd):
			all = append(all, info)
		}
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	size := int64(0)
	for _, info := range all {
		if size += info.Size() + referCost; size > most {
			_ = os.Remove(filepath.Join(c.folder, info.Name()))
		}
	}
}
