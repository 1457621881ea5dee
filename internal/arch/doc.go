// Package arch holds no code: its tests keep the architecture of the whole
// repository as docs/architecture.md describes it. They read the source files,
// so they see what no other test can: who imports whom, who starts goroutines,
// how large packages, types and functions are, and what must not be written anywhere.
package arch
