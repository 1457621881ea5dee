package api

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

// maxChecksums bounds the memory of checksums.
const maxChecksums = 4096

// checksumFile keeps the checksums of the files of a run in its folder. Its name starts
// with a dot, so that it is not an artifact.
const checksumFile = ".checksums.json"

// checksums knows the SHA-256 of the files of runs. Each is computed once, when a client
// first asks for it after the end of the run, one at a time however many clients ask, and
// kept in the folder of the run. The zero value is ready to use and safe for concurrent
// use.
type checksums struct {
	hash    func(io.Reader) (string, error) // nil = SHA-256; tests count
	flights singleflight.Group

	mu      sync.Mutex
	known   map[checksumKey]string
	read    map[string]bool // by run: the file was read
	hashing sync.Mutex      // held while a file is read, on purpose: one at a time
	saving  sync.Mutex      // held while a file is written, on purpose
}

// checksumKey is a version of a file.
type checksumKey struct {
	run, name string
	size      int64
	modified  time.Time // UTC
}

// storedChecksum is one entry of checksumFile.
type storedChecksum struct {
	Name     string    `json:"name"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified_at"`
	SHA256   string    `json:"sha256"`
}

// of returns the FileInfo and the hexadecimal checksum of a file of a folder. computed is
// true if it was not known. It may change the offset of the file.
func (c *checksums) of(f *folder, name string, file *os.File) (info fs.FileInfo, sum string, computed bool, err error) {
	if info, err = file.Stat(); err != nil {
		return nil, "", false, err
	}
	key := checksumKey{f.id, name, info.Size(), info.ModTime().UTC()}
	if sum, ok := c.lookup(f, key); ok {
		return info, sum, false, nil
	}
	result, err, _ := c.flights.Do(fmt.Sprint(key), func() (any, error) {
		c.hashing.Lock()
		defer c.hashing.Unlock()
		if sum, ok := c.lookup(f, key); ok { // since the flight before this one
			return sum, nil
		}
		hash := c.hash
		if hash == nil {
			hash = sha256sum
		}
		sum, err := hash(io.LimitReader(file, key.size))
		if err == nil {
			c.put(key, sum)
		}
		return sum, err
	})
	if err != nil {
		return nil, "", false, err
	}
	return info, result.(string), true, nil //nolint:forcetypeassert // of the function above
}

func sha256sum(r io.Reader) (string, error) {
	hash := sha256.New()
	if _, err := io.Copy(hash, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// lookup returns a checksum that is in memory or in the folder.
func (c *checksums) lookup(f *folder, key checksumKey) (string, bool) {
	c.mu.Lock()
	sum, ok := c.known[key]
	read := c.read[f.id]
	c.mu.Unlock()
	if ok || read {
		return sum, ok
	}
	data, err := f.ReadFile(checksumFile)
	var stored []storedChecksum
	if err != nil || json.Unmarshal(data, &stored) != nil {
		stored = nil // they are computed again
	}
	for _, s := range stored {
		c.put(checksumKey{f.id, s.Name, s.Size, s.Modified.UTC()}, s.SHA256)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read == nil {
		c.read = make(map[string]bool)
	}
	c.read[f.id] = true
	sum, ok = c.known[key]
	return sum, ok
}

// put adds a checksum to memory. If that is full, all are read again when needed.
func (c *checksums) put(key checksumKey, sum string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxChecksums {
		c.known, c.read = make(map[checksumKey]string), nil
	}
	c.known[key] = sum
}

// save writes the checksums of a run that are in memory into its folder.
func (c *checksums) save(f *folder) error {
	c.saving.Lock()
	defer c.saving.Unlock()
	var stored []storedChecksum
	c.mu.Lock()
	for key, sum := range c.known {
		if key.run == f.id {
			stored = append(stored, storedChecksum{key.name, key.size, key.modified, sum})
		}
	}
	c.mu.Unlock()
	data, err := plainjson.Marshal(stored)
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(f.Name(), checksumFile), durable.Private, data)
}
