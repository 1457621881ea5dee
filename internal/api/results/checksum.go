package results

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/plainjson"
)

// maxChecksums bounds the checksums in memory.
const maxChecksums = 4096

// checksumFile keeps the checksums of the files of a run in its folder. Its name starts with
// a dot, so that it is not an artifact.
const checksumFile = ".checksums.json"

// checksums knows the SHA-256 of the files of runs. Each is computed once, when a client
// first asks for it after the end of the run, one at a time however many clients ask, and
// kept in the folder of the run. The zero value is ready to use and safe for concurrent
// use.
type checksums struct {
	mu      sync.Mutex
	known   map[version]string
	read    map[string]bool // by run: the file was read
	hashing sync.Mutex      // held while a file is read, on purpose: one at a time
	saving  sync.Mutex      // held while a file is written, on purpose
	hashed  int             // guarded by hashing; files that were read, for tests
}

// version is a version of a file.
type version struct {
	run, name string
	size      int64
	modified  time.Time // UTC
}

// stored is one entry of checksumFile.
type stored struct {
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
	v := version{f.run, name, info.Size(), info.ModTime().UTC()}
	if sum, ok := c.lookup(f, v); ok {
		return info, sum, false, nil
	}
	c.hashing.Lock()
	defer c.hashing.Unlock()
	if sum, ok := c.lookup(f, v); ok { // another client has asked for it, too
		return info, sum, false, nil
	}
	c.hashed++
	hash := sha256.New()
	if _, err := io.Copy(hash, io.LimitReader(file, v.size)); err != nil {
		return nil, "", false, err
	}
	sum = hex.EncodeToString(hash.Sum(nil))
	c.put(v, sum)
	return info, sum, true, nil
}

// lookup returns a checksum that is in memory or in the folder.
func (c *checksums) lookup(f *folder, v version) (string, bool) {
	c.mu.Lock()
	sum, ok := c.known[v]
	read := c.read[f.run]
	c.mu.Unlock()
	if ok || read {
		return sum, ok
	}
	data, err := f.ReadFile(checksumFile)
	var all []stored
	if err != nil || json.Unmarshal(data, &all) != nil {
		all = nil // they are computed again
	}
	for _, s := range all {
		c.put(version{f.run, s.Name, s.Size, s.Modified.UTC()}, s.SHA256)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read == nil {
		c.read = make(map[string]bool)
	}
	c.read[f.run] = true
	sum, ok = c.known[v]
	return sum, ok
}

// put adds a checksum to memory. If that is full, all are read again when needed.
func (c *checksums) put(v version, sum string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxChecksums {
		c.known, c.read = make(map[version]string), nil
	}
	c.known[v] = sum
}

// save writes the checksums of a run that are in memory into its folder.
func (c *checksums) save(f *folder) error {
	c.saving.Lock()
	defer c.saving.Unlock()
	var all []stored
	c.mu.Lock()
	for v, sum := range c.known {
		if v.run == f.run {
			all = append(all, stored{v.name, v.size, v.modified, sum})
		}
	}
	c.mu.Unlock()
	data, err := plainjson.Marshal(all)
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(f.Name(), checksumFile), durable.Private, data)
}
