package media

import (
	"strings"

	"github.com/gabriel-vasile/mimetype"
)

// Class is what an object is for its receiver.
type Class uint8

// The classes.
const (
	Picture Class = iota
	Sound
	Film
)

// String returns the class as messages write it.
func (c Class) String() string {
	switch c {
	case Picture:
		return "image"
	case Sound:
		return "audio"
	case Film:
		return "video"
	}
	return "unknown"
}

// types maps what the content says to the type under which servers know it. A
// container of audio alone is often taken for one of video.
func (c Class) types() map[string]string {
	switch c {
	case Picture:
		return map[string]string{
			"image/png": "image/png", "image/apng": "image/png", "image/jpeg": "image/jpeg", "image/gif": "image/gif", "image/webp": "image/webp",
		}
	case Sound:
		return map[string]string{
			"audio/wav": "audio/wav", "audio/mpeg": "audio/mpeg", "audio/flac": "audio/flac", "audio/ogg": "audio/ogg", "audio/aac": "audio/aac",
			"audio/mp4": "audio/mp4", "audio/x-m4a": "audio/mp4", "video/mp4": "audio/mp4", "video/webm": "audio/webm", "application/ogg": "audio/ogg",
		}
	case Film:
		return map[string]string{
			"video/mp4": "video/mp4", "video/x-m4v": "video/mp4", "video/webm": "video/webm", "video/quicktime": "video/quicktime",
			"video/matroska": "video/x-matroska", "video/x-msvideo": "video/x-msvideo", "video/mpeg": "video/mpeg", "video/ogg": "video/ogg",
		}
	}
	return nil
}

// Detect returns the media type of data by its first bytes, for example
// "image/png"; false = it is nothing that servers take as this class, and the
// text says what it is.
func (c Class) Detect(data []byte) (string, bool) {
	found, _, _ := strings.Cut(mimetype.Detect(data).String(), ";")
	known, ok := c.types()[found]
	if !ok {
		return found, false
	}
	return known, true
}

// Accepted lists the types that [Class.Detect] knows, for messages.
func (c Class) Accepted() string {
	switch c {
	case Picture:
		return "PNG, JPEG, GIF or WebP"
	case Sound:
		return "WAV, MP3, FLAC, Ogg, AAC, MP4 or WebM"
	case Film:
		return "MP4, WebM, QuickTime, Matroska, AVI, MPEG or Ogg"
	}
	return ""
}
