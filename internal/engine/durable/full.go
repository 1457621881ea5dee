package durable

import (
	"errors"
	"syscall"
)

// Full reports whether an error means that the disk or the quota of the user is full.
func Full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
