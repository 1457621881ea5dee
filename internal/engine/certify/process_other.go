//go:build !unix

package certify

import "time"

func processTime() *time.Duration { return nil }
