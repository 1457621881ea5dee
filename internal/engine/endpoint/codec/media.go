package codec

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

// AppendMediaURL appends the location of media, as a JSON string: its URL, or a data URI
// (RFC 2397) with its content. It is empty if only the UUID is sent.
func AppendMediaURL(dst []byte, m *bench.Media) []byte {
	if m.URL != "" || m.Data == nil && m.UUID != "" {
		return AppendString(dst, m.URL)
	}
	dst = append(dst, `"data:`...)
	dst = append(dst, m.MIME...)
	dst = append(dst, ";base64,"...)
	return append(AppendBase64(dst, m), '"')
}

// AppendMediaData appends what media holds, as a JSON string of base64.
func AppendMediaData(dst []byte, m *bench.Media) []byte {
	return append(AppendBase64(append(dst, '"'), m), '"')
}

// AppendBase64 appends what media holds, in base64 without quotes.
func AppendBase64(dst []byte, m *bench.Media) []byte {
	return base64.StdEncoding.AppendEncode(dst, m.Data)
}

// AppendInputAudio appends the value of OpenAI's part input_audio.
func AppendInputAudio(dst []byte, m *bench.Media) []byte {
	return AppendObject(dst, []Field{{"data", AppendMediaData(nil, m)}, TextField("format", audioFormat(m.MIME))})
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

// MediaURI returns the location of media: its URL, or a data URI with its content.
func MediaURI(m *bench.Media) []byte {
	if m.URL != "" {
		return []byte(m.URL)
	}
	return AppendBase64([]byte("data:"+m.MIME+";base64,"), m)
}
