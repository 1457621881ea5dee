package monitor

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/verdict"
)

// machineFiles is a machine with an interface of a known speed and one without, whose local ports are 1000 to 1099.
func machineFiles(change map[string]string) map[string]string {
	files := map[string]string{
		"proc/net/netstat":      "TcpExt: SyncookiesSent TCPRcvQDrop Other\nTcpExt: 1 42 3\nIpExt: A\nIpExt: 7\n",
		"proc/net/softnet_stat": "03cf3a51 00000010 0000004a\n0387e0c1 00000001 0000003f\n",
		"proc/net/dev": "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes packets\n" +
			"    lo: 900 1 0 0 0 0 0 0 900 1\n  eth0: 5000 1 0 0 0 0 0 0 7000 1\n  veth1: 5 1 0 0 0 0 0 0 7 1\n",
		"sys/class/net/eth0/speed": "1000\n", "sys/class/net/veth1/speed": "-1\n",
		"proc/sys/net/ipv4/ip_local_port_range": "1000\t1099\n",
		"proc/net/sockstat":                     "sockets: used 9\nTCP: inuse 3 orphan 0 tw 4 alloc 3 mem 0\nUDP: inuse 700 mem 0\n",
	}
	maps.Copy(files, change)
	return files
}

func TestReadNetwork(t *testing.T) {
	got := readNetwork(files(machineFiles(nil)))
	want := &Network{ReceiveDrops: new(int64(42)), Softnet: new(int64(17)), Interfaces: map[string]Interface{
		"eth0": {Speed: 125e6, Received: 5000, Sent: 7000},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Nothing is known of a system that has none of the files.
	if diff := cmp.Diff(&Network{Interfaces: map[string]Interface{}}, readNetwork(files(nil))); diff != "" {
		t.Errorf("without files (-want +got):\n%s", diff)
	}
}

func TestReadConntrack(t *testing.T) {
	got := readNetwork(files(machineFiles(map[string]string{
		"proc/sys/net/netfilter/nf_conntrack_max": "1000\n", "proc/sys/net/netfilter/nf_conntrack_count": "250\n",
	})))
	if got.Conntrack == nil || *got.Conntrack != 0.25 {
		t.Errorf("conntrack %v, want 0.25", got.Conntrack)
	}
}

// Only the ports in the range count, and those of one server: two servers can use the same.
func TestReadPorts(t *testing.T) {
	lines := func(n, first int, server string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "  %d: 0100007F:%04X %s 01 rest\n", i, first+i, server)
		}
		return b.String()
	}
	const head = "  sl  local_address rem_address   st\n"
	for _, test := range []struct {
		name, sockets, tcp string
		want               float64
	}{
		{"few sockets are not counted", "TCP: inuse 20 orphan 0 tw 29 alloc 3\n", head + lines(49, 1000, "0A00007F:1F40"), 0},
		{"one server", "TCP: inuse 60 orphan 0 tw 20 alloc 3\n", head + lines(80, 1000, "0A00007F:1F40"), 0.8},
		{"two servers", "TCP: inuse 60 orphan 0 tw 30 alloc 3\n", head + lines(50, 1000, "0A00007F:1F40") + lines(40, 1000, "0A00007F:1F41"), 0.5},
		{"a server on this machine", "TCP: inuse 90 orphan 0 tw 0 alloc 3\n", head + lines(80, 5000, "0A00007F:03E8") + lines(10, 1090, "0A00007F:1F41"), 0.1},
	} {
		got := readPorts(files(machineFiles(map[string]string{"proc/net/sockstat": test.sockets, "proc/net/tcp": test.tcp})))
		if got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestReadGovernor(t *testing.T) {
	root := files(map[string]string{
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n", "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "3000000\n",
		"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "powersave\n", "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq": "1000000\n",
		"sys/devices/system/cpu/cpufreq/policy0/x": "", "sys/devices/system/cpu/cpu2/online": "1\n",
	})
	if governor, mhz := readGovernor(root, func(int) bool { return true }); governor != "powersave" || mhz != 2000 {
		t.Errorf("governor %q at %v MHz, want powersave at 2000", governor, mhz)
	}
	if governor, mhz := readGovernor(root, func(cpu int) bool { return cpu == 0 }); governor != "performance" || mhz != 3000 {
		t.Errorf("of the first processor: %q at %v MHz, want performance at 3000", governor, mhz)
	}
	if governor, mhz := readGovernor(files(nil), func(int) bool { return true }); governor != "" || mhz != 0 {
		t.Errorf("unknown: %q at %v MHz", governor, mhz)
	}
}

// Intervals in which an interface is above 80 % of its speed, and those without enough local ports, add up.
func TestNetworkSince(t *testing.T) {
	const sec = time.Second
	state := func(at time.Duration, received, sent, drops int64, ports float64) Totals {
		return Totals{At: at, Network: &Network{
			ReceiveDrops: &drops, Ports: ports, Interfaces: map[string]Interface{"eth0": {Speed: 1000, Received: received, Sent: sent}},
		}}
	}
	var s sums
	s.last = state(0, 0, 0, 5, 0)
	begin := s
	s.add(state(1*sec, 900, 100, 5, 0))    // busy
	s.add(state(2*sec, 1000, 950, 7, 0.9)) // busy the other way, and short of ports
	s.add(state(4*sec, 2400, 1000, 7, 0.5))
	got := s.since(&begin).Network
	want := &verdict.Network{
		ReceiveDrops: new(int64(2)), Busy: 2 * sec, PortsShort: sec, Ports: 0.5,
		Interfaces: []verdict.Interface{{Name: "eth0", Speed: 1000, Received: 0.6, Sent: 0.25}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.add(Totals{At: 5 * sec})
	if got := s.since(&begin).Network; got != nil {
		t.Errorf("unknown at the end: %+v", got)
	}
}
