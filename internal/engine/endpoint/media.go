package endpoint

import (
	"encoding/base64"
	"strings"

	"aiperfd/internal/engine/bench"
)

// mediaSize estimates the length of media in a body.
func mediaSize(media []bench.Media) int {
	const perPart = 64
	n := 0
	for i := range media {
		n += perPart + len(media[i].URL) + base64.StdEncoding.EncodedLen(len(media[i].Data))
	}
	return n
}

// appendMediaURL appends where media is, as a JSON string: its URL, or a data URI
// (RFC 2397) with what it holds.
func appendMediaURL(dst []byte, m *bench.Media) []byte {
	if m.URL != "" {
		return appendString(dst, m.URL)
	}
	dst = append(dst, `"data:`...)
	dst = append(dst, m.MIME...)
	dst = append(dst, ";base64,"...)
	return append(appendBase64(dst, m), '"')
}

// appendBase64 appends what media holds, in base64 without quotes.
func appendBase64(dst []byte, m *bench.Media) []byte {
	return base64.StdEncoding.AppendEncode(dst, m.Data)
}

// appendInputAudio appends the value of OpenAI's part input_audio.
func appendInputAudio(dst []byte, m *bench.Media) []byte {
	dst = append(dst, `{"data":"`...)
	dst = appendBase64(dst, m)
	dst = append(dst, `","format":`...)
	return append(appendString(dst, audioFormat(m.MIME)), '}')
}

// audioFormat returns OpenAI's name of a format of audio.
func audioFormat(mime string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(mime, "audio/"), "x-")
	switch name {
	case "mpeg":
		return "mp3"
	case "wave":
		return "wav"
	}
	return name
}

// mediaURI is where media is: its URL, or a data URI with what it holds.
func mediaURI(m *bench.Media) []byte {
	if m.URL != "" {
		return []byte(m.URL)
	}
	return appendBase64([]byte("data:"+m.MIME+";base64,"), m)
}
