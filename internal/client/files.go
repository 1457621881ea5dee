package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"aiperfd/internal/api/wire"
)

// Files returns the files of a run.
func (c *Client) Files(ctx context.Context, id string) (*wire.ResultFiles, error) {
	return decoded[wire.ResultFiles](c.get(ctx, runPath(id, "/results/list"), nil))
}

// File returns the content of a file of a run, which has at most limit bytes.
func (c *Client) File(ctx context.Context, id string, f *wire.ResultFile, limit int64) ([]byte, error) {
	if f.Size > limit {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", f.Name, f.Size, limit)
	}
	out, err := c.call(ctx, request{method: http.MethodGet, path: filePath(id, f.Name), repeat: true})
	if err != nil {
		return nil, err
	}
	return out.body, nil
}

// filePath is the path of a file of a run. The address that the list states is not used,
// so that a token is sent to this server only.
func filePath(id, name string) string {
	return runPath(id, "/results/files/") + (&url.URL{Path: name}).EscapedPath()
}

// Saved is what became of a file.
type Saved string

// What can become of a file.
const (
	SavedNew  Saved = "downloaded"
	SavedRest Saved = "resumed"   // the first part was there
	SavedSame Saved = "unchanged" // it was there
)

// Download is the download of the files of a run to a folder.
type Download struct {
	Run      string
	Folder   *os.Root
	Replace  bool                       // files that exist and differ are replaced; else they are an error
	Progress func(name string, n int64) // called with the number of bytes that are there; nil = not
}

var digest = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Save downloads a file, and checks its size and checksum. While it is incomplete it has
// another name, from which a later call goes on.
func (c *Client) Save(ctx context.Context, d *Download, f *wire.ResultFile) (Saved, error) {
	if err := checkName(f); err != nil {
		return "", err
	}
	name := filepath.FromSlash(f.Name)
	switch same, err := sameFile(d.Folder, name, f); {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", err
	case same:
		return SavedSame, nil
	case err == nil && !d.Replace:
		return "", fmt.Errorf("%s: %w", filepath.Join(d.Folder.Name(), name), fs.ErrExist)
	}
	if err := d.Folder.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return "", err
	}
	const digits = 12
	part := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+"."+f.SHA256[:digits]+".part")
	resumed, err := c.fill(ctx, d, f, part)
	if err != nil {
		return "", fmt.Errorf("download %s: %w", f.Name, err)
	}
	if err := d.Folder.Rename(part, name); err != nil {
		return "", err
	}
	if resumed {
		return SavedRest, nil
	}
	return SavedNew, nil
}

// checkName rejects names that could leave the folder or hide in it, and descriptions
// that cannot be checked.
func checkName(f *wire.ResultFile) error {
	local := filepath.IsLocal(filepath.FromSlash(f.Name)) && path.Clean(f.Name) == f.Name && !strings.ContainsAny(f.Name, `\:`)
	hidden := strings.HasPrefix(f.Name, ".") || strings.Contains(f.Name, "/.")
	if !local || hidden || strings.ContainsFunc(f.Name, unicode.IsControl) {
		return fmt.Errorf("the daemon names a file %q, which is not a safe name in a folder", f.Name)
	}
	if !digest.MatchString(f.SHA256) || f.Size < 0 {
		return fmt.Errorf("the daemon states no checksum of %q", f.Name)
	}
	return nil
}

// sameFile reports whether a file exists with the size and checksum of f. A file that
// does not exist is fs.ErrNotExist.
func sameFile(root *os.Root, name string, f *wire.ResultFile) (bool, error) {
	info, err := root.Stat(name)
	switch {
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%s is no regular file", filepath.Join(root.Name(), name))
	case info.Size() != f.Size:
		return false, nil
	}
	file, err := root.Open(name)
	if err != nil {
		return false, err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return false, err
	}
	return hex.EncodeToString(sum.Sum(nil)) == f.SHA256, nil
}

// partial is a file that is not complete yet.
type partial struct {
	from *Client
	run  string
	file *os.File
	sum  hash.Hash // of what is there
	size int64     // bytes that are there
	want *wire.ResultFile
	tell func(name string, n int64)
}

// fill completes the file part, and reports whether a part of it was there.
func (c *Client) fill(ctx context.Context, d *Download, f *wire.ResultFile, part string) (resumed bool, err error) {
	file, err := d.Folder.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return false, err
	}
	p := &partial{from: c, run: d.Run, file: file, sum: sha256.New(), want: f, tell: d.Progress}
	defer func() { err = errors.Join(err, file.Close()) }()
	if p.size, err = io.Copy(p.sum, file); err != nil {
		return false, err
	}
	resumed = p.size > 0
	if p.size > f.Size {
		if err := p.restart(); err != nil {
			return false, err
		}
	}
	if err := p.complete(ctx); err != nil {
		return false, err
	}
	if hex.EncodeToString(p.sum.Sum(nil)) != f.SHA256 { // the part that was there may have been damaged
		resumed = false
		if err := p.restart(); err != nil {
			return false, err
		}
		if err := p.complete(ctx); err != nil {
			return false, err
		}
		if got := hex.EncodeToString(p.sum.Sum(nil)); got != f.SHA256 {
			return false, errors.Join(fmt.Errorf("the content has the SHA-256 %s; the daemon states %s", got, f.SHA256), p.restart())
		}
	}
	return resumed, file.Sync()
}

// restart removes what is there.
func (p *partial) restart() error {
	p.size = 0
	p.sum.Reset()
	if err := p.file.Truncate(0); err != nil {
		return err
	}
	_, err := p.file.Seek(0, io.SeekStart)
	return err
}

// Write implements io.Writer.
func (p *partial) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	p.sum.Write(b[:n])
	p.size += int64(n)
	if p.tell != nil {
		p.tell(p.want.Name, p.size)
	}
	return n, err
}

// complete requests what is missing. After a lost connection it goes on, unless several
// attempts in a row get nothing.
func (p *partial) complete(ctx context.Context) error {
	for failed := 0; p.size < p.want.Size; {
		before := p.size
		err := p.rest(ctx)
		if err == nil {
			continue
		}
		if p.size > before {
			failed = 0
		}
		pause, again := pauseAfter(err, failed)
		if !again || Sleep(ctx, pause) != nil {
			return err
		}
		failed++
	}
	return nil
}

// rest requests what is missing once.
func (p *partial) rest(ctx context.Context) error {
	header := map[string]string{"Accept-Encoding": "identity"}
	if p.size > 0 {
		header["Range"], header["If-Range"] = fmt.Sprintf("bytes=%d-", p.size), `"`+p.want.SHA256+`"`
	}
	resp, err := p.from.send(ctx, request{method: http.MethodGet, path: filePath(p.run, p.want.Name), header: header})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if p.size > 0 && resp.StatusCode != http.StatusPartialContent {
		if err := p.restart(); err != nil {
			return err
		}
	}
	if got, want := resp.Header.Get("Etag"), `"`+p.want.SHA256+`"`; got != want {
		return fmt.Errorf("the file has changed: its ETag is %s, not %s", got, want)
	}
	counted := &reader{from: io.LimitReader(resp.Body, p.want.Size-p.size)}
	_, err = io.Copy(p, counted)
	switch {
	case counted.err != nil:
		return unreachable(ctx, p.from.Server(), counted.err)
	case err != nil:
		return err
	case p.size < p.want.Size:
		return &Unreachable{p.from.Server(), io.ErrUnexpectedEOF}
	}
	return nil
}

// reader remembers the error of a reader, to tell it from those of a writer.
type reader struct {
	from io.Reader
	err  error
}

// Read implements io.Reader.
func (r *reader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}
