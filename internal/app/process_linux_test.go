package app

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"aiperfd/internal/api/access"
)

// systemd gives the daemon a Unix socket, and is told when it is ready, reads its files
// again, and stops.
func TestSupervised(t *testing.T) {
	dir := t.TempDir()
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer notify.Close()
	t.Setenv("NOTIFY_SOCKET", notify.LocalAddr().String())
	t.Setenv("WATCHDOG_USEC", "3600000000") // one sign of life at the start
	notifier, err := NewNotifier()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "api.sock"))
	if err != nil {
		t.Fatal(err)
	}
	tokens := filepath.Join(dir, "tokens")
	if err := os.WriteFile(tokens, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	guard, err := access.New(access.Options{TokenFile: tokens, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tokens, []byte("not a token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(ctx, DaemonOptions{
			Host: HostOf(listener), DataDir: filepath.Join(dir, "data"), Log: zerolog.New(&log), Access: guard,
			Process: ProcessOptions{Listener: listener, Notifier: notifier},
		})
	}()
	buffer := make([]byte, 1024)
	next := func() string {
		n, err := notify.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		line, _, _ := strings.Cut(string(buffer[:n]), "\n")
		return line
	}
	got := []string{next(), next()}
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", listener.Addr().String())
	}}}
	resp, err := client.Get("http://localhost/readyz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	client.CloseIdleConnections()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("/readyz of a daemon that is ready: %d", resp.StatusCode)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	got = append(got, next(), next())
	stop()
	got = append(got, next())
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
	want := []string{"READY=1", "WATCHDOG=1", "RELOADING=1", "READY=1", "STOPPING=1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if strings.Contains(log.String(), "were read again") {
		t.Error("the log says that the files were read again, but they could not be used")
	}
	at := -1
	for _, step := range []string{"stopping: new runs are refused", "stopping: no run is active", "stopping: the API is closed", `"stopped"`} {
		next := strings.Index(log.String(), step)
		if next <= at {
			t.Errorf("the log does not have %q at its place:\n%s", step, log.String())
		}
		at = next
	}
}

// A Unix socket has no port for a port file.
func TestListenerKinds(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "api.sock"))
	if err != nil {
		t.Fatal(err)
	}
	p := ProcessOptions{Listener: l}
	if _, err := p.listen(t.Context(), &DaemonOptions{PortFile: filepath.Join(dir, "port")}); err == nil || !strings.Contains(err.Error(), "has no port") {
		t.Errorf("a port file for a Unix socket: %v, want an error", err)
	}
	if l, err := net.DialTimeout("unix", filepath.Join(dir, "api.sock"), time.Second); err == nil {
		l.Close()
		t.Error("the socket is still open after the error")
	}
}
