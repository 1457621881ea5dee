// Package sealed lets a controller hand documents with secrets to its workers over a bus that it does not trust. A worker
// makes a key at its start and proves, when it joins, that the key is that of somebody who knows a token. The controller
// seals documents to the key, in a way that only somebody who knows the same token, or its hash, can. A bus sees neither.
package sealed

import (
	"crypto/ecdh"
	"crypto/hmac"
	"crypto/hpke"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// The sizes of what travels, in bytes.
const (
	PublicSize = 32 // a public key
	NonceSize  = 16
	MACSize    = sha256.Size
)

// Fresh is how old a proof may be, and how far ahead its clock: wall clocks of two machines are compared nowhere else.
const Fresh = 10 * time.Minute

// The purposes of keys that come from a token, so that one thing never passes for another.
const (
	forProof = "aiperfd join v1"
	forSeal  = "aiperfd part v1"
)

// What may be wrong with what has come.
var (
	ErrStale = errors.New("the proof of the worker is from another time: are the clocks right?")
	ErrSeal  = errors.New("what was sealed is not for this worker and run, or not from somebody who knows its token")
)

// Sum is the SHA-256 of a token, as token files have it.
type Sum = [sha256.Size]byte

// Key is the key of a worker. It is safe for concurrent use.
type Key struct {
	private hpke.PrivateKey
	public  []byte
}

// NewKey makes a key. It lives in memory only.
func NewKey() (*Key, error) {
	private, err := kem().GenerateKey()
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return &Key{private, private.PublicKey().Bytes()}, nil
}

// kem, and below kdf and aead: RFC 9180 with X25519, HKDF-SHA256 and AES-256-GCM.
func kem() hpke.KEM { return hpke.DHKEM(ecdh.X25519()) }

// Public returns the public key, of PublicSize bytes.
func (k *Key) Public() []byte { return k.public }

// Instance returns the instance id of the worker with a public key: 32 hex digits of its hash.
func Instance(public []byte) string {
	sum := sha256.Sum256(public)
	return hex.EncodeToString(sum[:16])
}

// Proof says that who sends a public key knows a token.
type Proof struct {
	Nonce []byte `json:"nonce"`
	Time  int64  `json:"time"` // Unix seconds
	MAC   []byte `json:"mac"`
}

// Prove returns the proof for a public key and the name of a worker.
func Prove(token string, public []byte, name string, now time.Time) Proof {
	p := Proof{Nonce: make([]byte, NonceSize), Time: now.Unix()}
	rand.Read(p.Nonce)
	p.MAC = p.mac(sha256.Sum256([]byte(token)), public, name)
	return p
}

func (p *Proof) mac(sum Sum, public []byte, name string) []byte {
	return mac(sum, forProof, public, []byte(name), p.Nonce, binary.BigEndian.AppendUint64(nil, uint64(p.Time)))
}

// mac authenticates parts, each with its length.
func mac(sum Sum, purpose string, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, sum[:])
	for _, part := range append([][]byte{[]byte(purpose)}, parts...) {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write(part)
	}
	return h.Sum(nil)
}

// Holds reports whether the proof was made with the token of a sum. The time that it takes does not depend on how wrong
// it is. It does not look at the clock, see [Proof.Current].
func (p *Proof) Holds(sum Sum, public []byte, name string) bool {
	return len(p.Nonce) == NonceSize && len(public) == PublicSize && hmac.Equal(p.MAC, p.mac(sum, public, name))
}

// Current returns ErrStale unless the proof is fresh. A proof that is sent again by somebody else helps only the worker
// whose key it is.
func (p *Proof) Current(now time.Time) error {
	if age := now.Sub(time.Unix(p.Time, 0)); age > Fresh || age < -Fresh {
		return ErrStale
	}
	return nil
}

// Seal seals a part of a run to the public key of a worker that knows the token of a sum. What it returns is less than
// 128 bytes longer.
func Seal(sum Sum, public []byte, run string, part []byte) ([]byte, error) {
	key, err := kem().NewPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("seal a part of a run: %w", err)
	}
	box, err := hpke.Seal(key, hpke.HKDFSHA256(), hpke.AES256GCM(), info(run), part)
	if err != nil {
		return nil, fmt.Errorf("seal a part of a run: %w", err)
	}
	return append(mac(sum, forSeal, public, []byte(run), box), box...), nil
}

// info binds what is sealed to a run.
func info(run string) []byte { return []byte(forSeal + " " + run) }

// Open returns the part of a run that was sealed to the key by somebody who knows the token; ErrSeal if it was not.
func (k *Key) Open(token, run string, sealed []byte) ([]byte, error) {
	if len(sealed) < MACSize {
		return nil, ErrSeal
	}
	tag, box := sealed[:MACSize], sealed[MACSize:]
	if !hmac.Equal(tag, mac(sha256.Sum256([]byte(token)), forSeal, k.public, []byte(run), box)) {
		return nil, ErrSeal
	}
	part, err := hpke.Open(k.private, hpke.HKDFSHA256(), hpke.AES256GCM(), info(run), box)
	if err != nil {
		return nil, ErrSeal
	}
	return part, nil
}
