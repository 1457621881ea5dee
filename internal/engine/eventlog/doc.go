// Package eventlog stores the events of a streamed response compactly. The events
// of a stream are nearly equal, so an event that differs from an earlier one only
// inside JSON strings, or in numbers, is stored as these differences: about twelve
// bytes instead of three hundred. The bytes of every event can be restored exactly,
// whether they are JSON or not.
package eventlog
