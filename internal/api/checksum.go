package api

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
)

// maxChecksums bounds the memory of checksums.
const maxChecksums = 4096

// checksums caches the SHA-256 of files by size and time of modification. The zero
// value is ready to use and safe for concurrent use.
type checksums struct {
	mu    sync.Mutex
	known map[checksumKey]string
}

type checksumKey struct {
	run, name string
	size      int64
	modified  time.Time
}

// of returns the FileInfo and the hexadecimal checksum of a file. It may change the
// offset of the file.
func (c *checksums) of(run, name string, file *os.File) (fs.FileInfo, string, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, "", err
	}
	key := checksumKey{run, name, info.Size(), info.ModTime()}
	c.mu.Lock()
	sum, ok := c.known[key]
	c.mu.Unlock()
	if ok {
		return info, sum, nil
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, io.LimitReader(file, info.Size())); err != nil {
		return nil, "", err
	}
	sum = hex.EncodeToString(hash.Sum(nil))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxChecksums {
		c.known = make(map[checksumKey]string)
	}
	c.known[key] = sum
	return info, sum, nil
}
