//go:build nobus

package main

// busCommands returns the programs of tests of the bus, which this binary does not have.
func busCommands() map[string]func() { return nil }
