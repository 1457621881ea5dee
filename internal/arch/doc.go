// Package arch holds no code: its tests keep the architecture of the whole
// repository as docs/architecture.md describes it. They read the source files,
// so they see what no other test can: who imports whom, who starts goroutines, which
// files lean on each other, how large areas, types and functions are, and what must not
// be written anywhere. Sizes that may only shrink are in ratchets.txt.
package arch
