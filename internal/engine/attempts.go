package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"aiperfd/internal/engine/durable"
)

// attemptsFile counts, in the folder of a run, how often its recovery has begun.
const attemptsFile = ".recovery"

// maxAttempts is how often the recovery of a run may begin before the process gives it
// up: results that end the process each time must not end the service.
const maxAttempts = 3

// attempt is a recovery of a run that has begun; the zero attempt is none.
type attempt struct {
	path   string
	number int // from 1
}

// beginTry counts a recovery before it begins. The error is for a run whose recovery has
// ended the process before.
func beginTry(dir string) (attempt, error) {
	a := attempt{path: filepath.Join(dir, attemptsFile)}
	text, err := os.ReadFile(a.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return attempt{}, fmt.Errorf("count attempts: %w", err)
	}
	before, _ := strconv.Atoi(strings.TrimSpace(string(text))) // damaged = none
	if before >= maxAttempts {
		return a, fmt.Errorf("the process ended during each of %d attempts to recover the results", before)
	}
	a.number = before + 1
	return a, a.store(a.number)
}

// undo takes the attempt back: the process ends in order.
func (a attempt) undo() {
	if a.number == 1 || a.number > 1 && a.store(a.number-1) != nil {
		_ = os.Remove(a.path) // which needs no space; else it counts, which does no harm once
	}
}

// end forgets all attempts.
func (a attempt) end() {
	if a.path != "" {
		_ = os.Remove(a.path) // mostly it exists; else nothing is to be done
	}
}

func (a attempt) store(n int) error {
	if err := durable.WriteFile(a.path, durable.Private, []byte(strconv.Itoa(n)+"\n")); err != nil {
		return fmt.Errorf("count attempts: %w", err)
	}
	return nil
}
