package media

import (
	"bytes"
	"encoding/binary"
)

// Seconds returns the length of audio by the header of a WAV (RIFF) or FLAC (RFC 9639)
// file; 0 = it is not known.
func Seconds(file []byte) float64 {
	switch {
	case bytes.HasPrefix(file, []byte("RIFF")) && len(file) >= 12 && string(file[8:12]) == "WAVE":
		return wavSeconds(file[12:])
	case bytes.HasPrefix(file, []byte("fLaC")) && len(file) >= 26:
		// The first block is STREAMINFO: after 10 bytes, 20 bits have the rate and, 8 bits
		// later, 36 bits the number of samples.
		bits := binary.BigEndian.Uint64(file[18:])
		if rate := bits >> 44; rate > 0 {
			return float64(bits&(1<<36-1)) / float64(rate)
		}
	}
	return 0
}

// wavSeconds reads the chunks of a WAV file.
func wavSeconds(chunks []byte) float64 {
	var perSecond uint32
	for len(chunks) >= 8 {
		id, size := string(chunks[:4]), binary.LittleEndian.Uint32(chunks[4:])
		chunks = chunks[8:]
		switch {
		case id == "fmt " && len(chunks) >= 12:
			perSecond = binary.LittleEndian.Uint32(chunks[8:])
		case id == "data" && perSecond > 0:
			// A writer of a stream does not know the size.
			return float64(min(int64(size), int64(len(chunks)))) / float64(perSecond)
		}
		if int64(len(chunks)) < int64(size)+int64(size&1) {
			return 0
		}
		chunks = chunks[size+size%2:]
	}
	return 0
}
