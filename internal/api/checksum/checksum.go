// Package checksum computes the SHA-256 of the files of runs, each once.
package checksum

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/plainjson"
)

// most bounds the checksums in memory.
const most = 4096

// File keeps the checksums of the files of a run in its folder. Its name starts with a dot,
// so that it is not an artifact.
const File = ".checksums.json"

// Cache knows the SHA-256 of the files of runs. Each is computed once, when a client
// first asks for it after the end of the run, one at a time however many clients ask, and
// kept in the folder of the run. The zero value is ready to use and safe for concurrent
// use.
type Cache struct {
	// Hash computes a checksum; nil = SHA256. Tests count.
	Hash    func(io.Reader) (string, error)
	flights singleflight.Group

	mu      sync.Mutex
	known   map[key]string
	read    map[string]bool // by run: the file was read
	hashing sync.Mutex      // held while a file is read, on purpose: one at a time
	saving  sync.Mutex      // held while a file is written, on purpose
}

// key is a version of a file.
type key struct {
	run, name string
	size      int64
	modified  time.Time // UTC
}

// stored is one entry of File.
type stored struct {
	Name     string    `json:"name"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified_at"`
	SHA256   string    `json:"sha256"`
}

// Folder is the folder of a run.
type Folder struct {
	*os.Root
	Run string // id
}

// Of returns the FileInfo and the hexadecimal checksum of a file of a folder. computed is
// true if it was not known. It may change the offset of the file.
func (c *Cache) Of(f Folder, name string, file *os.File) (info fs.FileInfo, sum string, computed bool, err error) {
	if info, err = file.Stat(); err != nil {
		return nil, "", false, err
	}
	k := key{f.Run, name, info.Size(), info.ModTime().UTC()}
	if sum, ok := c.lookup(f, k); ok {
		return info, sum, false, nil
	}
	result, err, _ := c.flights.Do(fmt.Sprint(k), func() (any, error) {
		c.hashing.Lock()
		defer c.hashing.Unlock()
		if sum, ok := c.lookup(f, k); ok { // since the flight before this one
			return sum, nil
		}
		hash := c.Hash
		if hash == nil {
			hash = SHA256
		}
		sum, err := hash(io.LimitReader(file, k.size))
		if err == nil {
			c.put(k, sum)
		}
		return sum, err
	})
	if err != nil {
		return nil, "", false, err
	}
	return info, result.(string), true, nil //nolint:forcetypeassert // of the function above
}

// SHA256 returns the hexadecimal SHA-256 of what a reader has.
func SHA256(r io.Reader) (string, error) {
	hash := sha256.New()
	if _, err := io.Copy(hash, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// lookup returns a checksum that is in memory or in the folder.
func (c *Cache) lookup(f Folder, k key) (string, bool) {
	c.mu.Lock()
	sum, ok := c.known[k]
	read := c.read[f.Run]
	c.mu.Unlock()
	if ok || read {
		return sum, ok
	}
	data, err := f.ReadFile(File)
	var all []stored
	if err != nil || json.Unmarshal(data, &all) != nil {
		all = nil // they are computed again
	}
	for _, s := range all {
		c.put(key{f.Run, s.Name, s.Size, s.Modified.UTC()}, s.SHA256)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read == nil {
		c.read = make(map[string]bool)
	}
	c.read[f.Run] = true
	sum, ok = c.known[k]
	return sum, ok
}

// put adds a checksum to memory. If that is full, all are read again when needed.
func (c *Cache) put(k key, sum string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= most {
		c.known, c.read = make(map[key]string), nil
	}
	c.known[k] = sum
}

// Save writes the checksums of a run that are in memory into its folder.
func (c *Cache) Save(f Folder) error {
	c.saving.Lock()
	defer c.saving.Unlock()
	var all []stored
	c.mu.Lock()
	for k, sum := range c.known {
		if k.run == f.Run {
			all = append(all, stored{k.name, k.size, k.modified, sum})
		}
	}
	c.mu.Unlock()
	data, err := plainjson.Marshal(all)
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(f.Name(), File), durable.Private, data)
}
