package compare

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Workload returns a digest of what a document asks servers for: runs with equal ones are comparable. What lies at or
// below the JSON pointers in allow is left out.
func Workload(document json.RawMessage, allow ...string) (string, error) {
	leaves, err := flatten(document)
	if err != nil {
		return "", fmt.Errorf("decode configuration: %w", err)
	}
	var lines []string
	for _, l := range leaves {
		if classOf(l.pointer) == load && !allowed(l.pointer, allow) {
			lines = append(lines, l.pointer+" "+l.text)
		}
	}
	slices.Sort(lines)
	const shown = 8 // bytes: digests are compared within one baseline
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:shown]), nil
}
