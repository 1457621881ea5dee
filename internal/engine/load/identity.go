package load

import (
	crand "crypto/rand"
	"math/rand/v2"
	"sync"

	"github.com/google/uuid"
)

// identities makes the ids of requests and sessions of one run: random UUIDs
// (RFC 9562, version 4) from a generator seeded by the system, so
// that an id costs no system call. Safe for concurrent use.
type identities struct {
	mu     sync.Mutex
	random *rand.ChaCha8 // guarded by mu
}

func newIdentities() identities {
	var seed [32]byte
	_, _ = crand.Read(seed[:]) // never fails, see crypto/rand
	return identities{random: rand.NewChaCha8(seed)}
}

// next returns an id that no other request of any run has.
func (i *identities) next() string {
	var id uuid.UUID
	i.mu.Lock()
	_, _ = i.random.Read(id[:]) // never fails
	i.mu.Unlock()
	id[6] = id[6]&0x0f | 0x40 // version 4
	id[8] = id[8]&0x3f | 0x80 // variant of RFC 9562
	return id.String()
}
