package sealed

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

const token, run = "aiperfd_TOKEN", "0123456789abcdef0123456789abcdef"

func newKey(t *testing.T) *Key {
	t.Helper()
	k, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Secrets reach the worker that they are for, and nobody else reads or forges them.
func TestSeal(t *testing.T) {
	k, sum := newKey(t), sha256.Sum256([]byte(token))
	secrets := []byte(`{"api_key":"sk-canary"}`)
	box, err := Seal(sum, k.Public(), run, secrets)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := k.Open(token, run, box); err != nil || !bytes.Equal(got, secrets) {
		t.Errorf("%q, %v, want %q", got, err, secrets)
	}
	if bytes.Contains(box, []byte("canary")) || bytes.Contains(box, sum[:]) || bytes.Contains(box, []byte(token)) {
		t.Error("what travels shows the secrets or the token")
	}
	again, err := Seal(sum, k.Public(), run, secrets)
	if err != nil || bytes.Equal(again, box) {
		t.Errorf("sealed twice: the same bytes, %v", err)
	}
	refuse := func(what string, k *Key, token, run string, box []byte) {
		t.Helper()
		if got, err := k.Open(token, run, box); !errors.Is(err, ErrSeal) || got != nil {
			t.Errorf("%s: %q, %v, want %v", what, got, err, ErrSeal)
		}
	}
	refuse("another worker", newKey(t), token, run, box)
	refuse("another token", k, "aiperfd_OTHER", run, box)
	refuse("another run", k, token, strings.Repeat("f", 32), box)
	for i := range box {
		changed := slices.Clone(box)
		changed[i] ^= 1
		refuse("a changed byte", k, token, run, changed)
		refuse("a part", k, token, run, box[:i])
	}
	// Whoever has the public key, but not the token, seals in vain.
	forged, err := Seal(sha256.Sum256([]byte("guess")), k.Public(), run, []byte("forged"))
	if err != nil {
		t.Fatal(err)
	}
	refuse("forged secrets", k, token, run, forged)

	if _, err := Seal(sum, k.Public()[1:], run, secrets); err == nil {
		t.Error("a short public key was accepted")
	}
	if box, err := Seal(sum, k.Public(), run, make([]byte, 1<<20)); err != nil || len(box) >= 1<<20+128 {
		t.Errorf("sealed: %d bytes, %v", len(box), err)
	}
	if box, err := Seal(sum, k.Public(), run, nil); err != nil {
		t.Error(err)
	} else if got, err := k.Open(token, run, box); err != nil || len(got) != 0 {
		t.Errorf("no secrets: %q, %v", got, err)
	}
}

func TestProof(t *testing.T) {
	k, sum := newKey(t), sha256.Sum256([]byte(token))
	now := time.Unix(1_800_000_000, 0)
	p := Prove(token, k.Public(), "eu-1", now)
	if !p.Holds(sum, k.Public(), "eu-1") {
		t.Fatal("a proof does not hold")
	}
	other := Prove(token, k.Public(), "eu-1", now)
	if bytes.Equal(p.MAC, other.MAC) {
		t.Error("two proofs are equal")
	}
	for name, change := range map[string]func(p *Proof, sum *Sum, public *[]byte, name *string){
		"another token": func(_ *Proof, sum *Sum, _ *[]byte, _ *string) { sum[0] ^= 1 },
		"another key":   func(_ *Proof, _ *Sum, public *[]byte, _ *string) { *public = newKey(t).Public() },
		"a short key":   func(_ *Proof, _ *Sum, public *[]byte, _ *string) { *public = (*public)[1:] },
		"another name":  func(_ *Proof, _ *Sum, _ *[]byte, name *string) { *name = "eu-2" },
		"another nonce": func(p *Proof, _ *Sum, _ *[]byte, _ *string) { p.Nonce = other.Nonce },
		"no nonce":      func(p *Proof, _ *Sum, _ *[]byte, _ *string) { p.Nonce = nil },
		"another time":  func(p *Proof, _ *Sum, _ *[]byte, _ *string) { p.Time++ },
		"no MAC":        func(p *Proof, _ *Sum, _ *[]byte, _ *string) { p.MAC = nil },
		"a part of it":  func(p *Proof, _ *Sum, _ *[]byte, _ *string) { p.MAC = p.MAC[:16] },
	} {
		p, sum, public, worker := p, sum, k.Public(), "eu-1"
		change(&p, &sum, &public, &worker)
		if p.Holds(sum, public, worker) {
			t.Errorf("%s: the proof holds", name)
		}
	}
	for age, want := range map[time.Duration]error{
		0: nil, Fresh: nil, -Fresh: nil, Fresh + time.Second: ErrStale, -Fresh - time.Second: ErrStale,
	} {
		if err := p.Current(now.Add(age)); !errors.Is(err, want) {
			t.Errorf("after %v: %v, want %v", age, err, want)
		}
	}
}

func TestInstance(t *testing.T) {
	a, b := newKey(t), newKey(t)
	if id := Instance(a.Public()); len(id) != 32 || id != Instance(a.Public()) || id == Instance(b.Public()) {
		t.Errorf("instance %s, and %s of another key", id, Instance(b.Public()))
	}
	if got, want := Instance(make([]byte, PublicSize)), "66687aadf862bd776c8fc18b8e9f8e20"; got != want {
		t.Errorf("instance of zeros: %s, want %s", got, want)
	}
}
