//go:build amd64 || arm64

package transport

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/transport/netpath"
)

// insideNamespace tells the copy of the test that runs in a network namespace of its own.
const insideNamespace = "AIPERFD_TEST_NETWORK"

// TestPathInNamespace sends requests through a network that delays each packet by 10 ms and loses some in one
// direction: a TUN device in a namespace of its own, whose packets the test itself carries back. The kernel's counts
// must show the round trip, and the loss in its direction alone.
func TestPathInNamespace(t *testing.T) {
	if os.Getenv(insideNamespace) != "" {
		testPath(t)
		return
	}
	if testing.Short() {
		t.Skip("takes seconds of real time")
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPathInNamespace$", "-test.v")
	child.Env = append(os.Environ(), insideNamespace+"=1")
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := child.CombinedOutput()
	if len(out) == 0 && err != nil {
		t.Skipf("this machine has no namespaces for users: %v", err)
	}
	if strings.Contains(string(out), "SKIP") {
		t.Skipf("%s", out)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// network carries the packets of a TUN device. A packet to the address beyond it comes back with source and
// destination exchanged, so that a server on this side answers it.
type network struct {
	tun      *os.File
	port     atomic.Int32
	lose     atomic.Int32 // to whom packets with data are lost: 0 = nobody, 1 = the server, 2 = the client
	dataSeen [3]int
}

const oneWay = 10 * time.Millisecond

// carry carries packets until the device is closed.
func (n *network) carry() {
	type packet struct {
		bytes []byte
		due   time.Time
	}
	flight := make(chan packet, 1<<16)
	go func() {
		for p := range flight {
			timer := time.NewTimer(time.Until(p.due))
			<-timer.C
			_, _ = n.tun.Write(p.bytes) // what is refused is lost
		}
	}()
	defer close(flight)
	buffer := make([]byte, 1<<16)
	for {
		size, err := n.tun.Read(buffer)
		if err != nil {
			return
		}
		b := append([]byte(nil), buffer[:size]...)
		if len(b) < 40 || b[0]>>4 != 4 || b[9] != unix.IPPROTO_TCP || n.loses(b) {
			continue
		}
		var from [4]byte
		copy(from[:], b[12:16])
		copy(b[12:16], b[16:20])
		copy(b[16:20], from[:]) // the checksums stay right: they are sums
		flight <- packet{b, time.Now().Add(oneWay)}
	}
}

// loses reports whether a packet is one of the 2 % of those with data that get lost.
func (n *network) loses(b []byte) bool {
	const every = 50
	head := int(b[0]&15) * 4
	tcp := b[head:]
	if len(tcp) <= int(tcp[12]>>4)*4 {
		return false
	}
	to := 2
	if int32(binary.BigEndian.Uint16(tcp[2:])) == n.port.Load() {
		to = 1
	}
	if int32(to) != n.lose.Load() {
		return false
	}
	n.dataSeen[to]++
	return n.dataSeen[to]%every == 0
}

// openTUN opens a device with an address.
func openTUN(t *testing.T) *os.File {
	t.Helper()
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("SKIP: there are no TUN devices: %v", err)
	}
	var request struct {
		name  [unix.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}
	copy(request.name[:], "path0")
	request.flags = unix.IFF_TUN | unix.IFF_NO_PI
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TUNSETIFF, uintptr(unsafe.Pointer(&request))); errno != 0 {
		t.Skipf("SKIP: a TUN device cannot be made: %v", errno)
	}
	for _, args := range []string{"addr add 10.77.0.1/24 dev path0", "link set path0 up", "link set lo up"} {
		if out, err := exec.CommandContext(t.Context(), "ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Skipf("SKIP: ip %s: %v: %s", args, err, out)
		}
	}
	return os.NewFile(uintptr(fd), "tun")
}

func testPath(t *testing.T) {
	n := &network{tun: openTUN(t)}
	listener, err := net.Listen("tcp", "10.77.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n.port.Store(int32(listener.Addr().(*net.TCPAddr).Port))
	go n.carry()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size := 100
		if r.Header.Get("Large") != "" {
			size = 100 << 10
		}
		w.Write(make([]byte, size))
	}))
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	defer server.Close()
	at, _ := url.Parse(fmt.Sprintf("http://10.77.0.2:%d/", n.port.Load()))
	for _, tt := range []struct {
		name  string
		lose  int32
		proxy bool // net/http in place of the event loop
		check func(s netpath.Stat, known int) string
	}{
		{"clean", 0, false, clean},
		{"clean, net/http", 0, true, clean},
		{"lost to the server", 1, false, func(s netpath.Stat, known int) string {
			if s.Retransmitted == 0 || s.OutOfOrder > 0 || s.Affected == 0 || known == 0 {
				return "want retransmissions, nothing out of order, and affected responses"
			}
			return ""
		}},
		{"lost from the server", 2, false, func(s netpath.Stat, known int) string {
			if s.OutOfOrder == 0 || 5*s.Retransmitted > s.OutOfOrder || s.Affected == 0 || known == 0 {
				return "want segments out of order, hardly any retransmission, and affected responses"
			}
			return ""
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log := &netpath.Log{}
			o := Options{Clock: bench.NewClock(), Path: log, MaxIdle: 16}
			if tt.proxy {
				o.Dial = (&net.Dialer{}).DialContext
			}
			c := New(o)
			n.lose.Store(tt.lose)
			w := log.Open()
			known, median := n.load(t, c, at, tt.lose == 2)
			c.ReadPaths()
			stats := w.Stats()
			c.Close()
			if len(stats) != 1 {
				t.Fatalf("%d targets, want 1", len(stats))
			}
			s := stats[0]
			if s.Responses != 8*25 || s.Target != at.Host {
				t.Errorf("%d responses of %s, want 200 of %s", s.Responses, s.Target, at.Host)
			}
			// A busy machine carries packets late, and sees late that it has written; half of the answers took longer
			// than the shortest round trip on any machine.
			if margin := 500 * time.Microsecond; s.MinRTT < 2*oneWay-margin || s.MinRTT > median {
				t.Errorf("the shortest round trip took %v, want 20 ms to %v", s.MinRTT, median)
			}
			if problem := tt.check(s, known); problem != "" {
				t.Errorf("%s\n%+v", problem, s)
			}
			t.Logf("%+v", s)
		})
	}
}

func clean(s netpath.Stat, known int) string {
	if s.Retransmitted > 0 || s.OutOfOrder > 0 || s.Affected > 0 || known > 0 {
		return "want no loss"
	}
	return ""
}

// load sends 25 requests on each of 8 connections and returns how many exchanges say that they have lost something,
// and the median of the times from their starts to the first bytes of the answers.
func (*network) load(t *testing.T, c *Client, at *url.URL, large bool) (affected int, median time.Duration) {
	t.Helper()
	header := http.Header{}
	if large {
		header.Set("Large", "1")
	}
	var lost atomic.Int64
	var all sync.WaitGroup
	waits := make(chan time.Duration, 8*25)
	for range 8 {
		all.Go(func() {
			for range 25 {
				x := c.Do(t.Context(), &Request{URL: at, Header: header, Body: []byte("{}")})
				if x.Response.Failure != nil {
					t.Errorf("a request failed: %v", x.Response.Failure)
				}
				if p := x.Conn.Path; p.Retransmitted > 0 || p.OutOfOrder > 0 {
					lost.Add(1)
				}
				waits <- x.Stamps.FirstByte - x.Stamps.Start
				x.Release()
			}
		})
	}
	all.Wait()
	close(waits)
	sorted := slices.Sorted(func(yield func(time.Duration) bool) {
		for wait := range waits {
			if !yield(wait) {
				return
			}
		}
	})
	return int(lost.Load()), sorted[len(sorted)/2]
}
