package media

import (
	"strings"

	"github.com/gabriel-vasile/mimetype"
)

// Class is the kind of media of an object.
type Class uint8

// The classes.
const (
	ClassImage Class = iota
	ClassAudio
	ClassVideo
)

// String returns the class as messages write it.
func (c Class) String() string {
	switch c {
	case ClassImage:
		return "image"
	case ClassAudio:
		return "audio"
	case ClassVideo:
		return "video"
	}
	return "unknown"
}

// types maps detected media types to the types that servers accept. A container with
// only audio is often detected as video.
func (c Class) types() map[string]string {
	switch c {
	case ClassImage:
		return map[string]string{
			"image/png": "image/png", "image/apng": "image/png", "image/jpeg": "image/jpeg", "image/gif": "image/gif", "image/webp": "image/webp",
		}
	case ClassAudio:
		return map[string]string{
			"audio/wav": "audio/wav", "audio/mpeg": "audio/mpeg", "audio/flac": "audio/flac", "audio/ogg": "audio/ogg", "audio/aac": "audio/aac",
			"audio/mp4": "audio/mp4", "audio/x-m4a": "audio/mp4", "video/mp4": "audio/mp4", "video/webm": "audio/webm", "application/ogg": "audio/ogg",
		}
	case ClassVideo:
		return map[string]string{
			"video/mp4": "video/mp4", "video/x-m4v": "video/mp4", "video/webm": "video/webm", "video/quicktime": "video/quicktime",
			"video/matroska": "video/x-matroska", "video/x-msvideo": "video/x-msvideo", "video/mpeg": "video/mpeg", "video/ogg": "video/ogg",
		}
	}
	return nil
}

// Detect returns the media type of data by its first bytes, for example
// "image/png"; false = servers do not accept it as this class, and the text is the
// detected type.
func (c Class) Detect(data []byte) (string, bool) {
	found, _, _ := strings.Cut(mimetype.Detect(data).String(), ";")
	known, ok := c.types()[found]
	if !ok {
		return found, false
	}
	return known, true
}

// Accepted lists the types that [Class.Detect] accepts, for messages.
func (c Class) Accepted() string {
	switch c {
	case ClassImage:
		return "PNG, JPEG, GIF or WebP"
	case ClassAudio:
		return "WAV, MP3, FLAC, Ogg, AAC, MP4 or WebM"
	case ClassVideo:
		return "MP4, WebM, QuickTime, Matroska, AVI, MPEG or Ogg"
	}
	return ""
}
