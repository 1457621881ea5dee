//go:build !linux

package systemd

// monotonic returns nothing: there is no systemd.
func monotonic() string { return "" }
