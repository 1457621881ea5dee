package load

import (
	"sync"
	"testing"

	"github.com/google/uuid"
)

func TestIdentities(t *testing.T) {
	a, b := newIdentities(), newIdentities()
	var mu sync.Mutex
	seen := map[string]bool{}
	var group sync.WaitGroup
	for _, ids := range []*identities{&a, &a, &b} {
		group.Go(func() {
			for range 1000 {
				text := ids.next()
				id, err := uuid.Parse(text)
				if err != nil || id.Version() != 4 || id.Variant() != uuid.RFC4122 || id.String() != text {
					t.Errorf("id %q: %v; want a random UUID as RFC 9562 writes it", text, err)
				}
				mu.Lock()
				if seen[text] {
					t.Errorf("id %q was made twice", text)
				}
				seen[text] = true
				mu.Unlock()
			}
		})
	}
	group.Wait()
}
