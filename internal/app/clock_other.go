//go:build !linux

package app

// monotonic returns nothing: there is no systemd.
func monotonic() string { return "" }
