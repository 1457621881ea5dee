package monitor

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/engine/verdict"
)

// Network is the running totals of the network of this machine, or of the namespace of this process.
type Network struct {
	ReceiveDrops *int64               // segments that waited in a receive queue that was too long; nil = unknown
	Softnet      *int64               // packets that the kernel had no room for before it looked at them; nil = unknown
	Interfaces   map[string]Interface // whose speed is known
	Ports        float64              // share of the local ports that are in use, 0 to 1, of the server that has most
	Conntrack    *float64             // share of the table of tracked connections, 0 to 1; nil = there is none
}

// Interface is the running totals of an interface.
type Interface struct {
	Speed          float64 // bytes per second, each way
	Received, Sent int64   // bytes
}

// readNetwork reads the totals.
func readNetwork(root fs.FS) *Network {
	n := &Network{
		ReceiveDrops: readReceiveDrops(root), Softnet: readSoftnet(root), Interfaces: readInterfaces(root), Ports: readPorts(root),
	}
	const conntrack = "proc/sys/net/netfilter/nf_conntrack_"
	if most := readNumber(root, conntrack+"max"); most > 0 {
		n.Conntrack = new(float64(readNumber(root, conntrack+"count")) / float64(most))
	}
	return n
}

// readNumber reads a file with one number; 0 if it cannot be read.
func readNumber(root fs.FS, name string) int64 {
	return numbers([]string{strings.TrimSpace(readText(root, name))})[0]
}

// readReceiveDrops reads TCPRcvQDrop of /proc/net/netstat, whose lines come in pairs: names, then numbers.
func readReceiveDrops(root fs.FS) *int64 {
	var names []string
	for line := range strings.Lines(readText(root, "proc/net/netstat")) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "TcpExt:" {
			continue
		}
		if names == nil {
			names = words
			continue
		}
		if i := slices.Index(names, "TCPRcvQDrop"); i > 0 && i < len(words) {
			return &numbers(words[i : i+1])[0]
		}
	}
	return nil
}

// readSoftnet adds up the second column of /proc/net/softnet_stat, which has a line per processor, in hexadecimal.
func readSoftnet(root fs.FS) *int64 {
	var sum *int64
	for line := range strings.Lines(readText(root, "proc/net/softnet_stat")) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		n, err := strconv.ParseInt(words[1], 16, 64)
		if err != nil {
			continue
		}
		if sum == nil {
			sum = new(int64)
		}
		*sum += n
	}
	return sum
}

// readInterfaces reads /proc/net/dev, of the interfaces that say how fast they are. Virtual ones often do not.
func readInterfaces(root fs.FS) map[string]Interface {
	const megabit = 1e6 / 8 // bytes
	out := map[string]Interface{}
	for line := range strings.Lines(readText(root, "proc/net/dev")) {
		name, rest, ok := strings.Cut(line, ":")
		words := strings.Fields(rest)
		if name = strings.TrimSpace(name); !ok || len(words) < 9 || name == "lo" {
			continue
		}
		if speed := readNumber(root, "sys/class/net/"+name+"/speed"); speed > 0 { // -1 = unknown
			n := numbers(words[:9]) // received: bytes packets errs drop fifo frame compressed multicast; sent: bytes
			out[name] = Interface{Speed: float64(speed) * megabit, Received: n[0], Sent: n[8]}
		}
	}
	return out
}

// fewPorts is the share of the local ports in use below which they are not counted one by one.
const fewPorts = 0.5

// readPorts returns the share of the local ports that connections to one server have, of the server that has most.
// Ports can be used again for another server. All sockets are counted first; only if they could be most of the ports,
// those of each server are.
func readPorts(root fs.FS) float64 {
	bounds := strings.Fields(readText(root, "proc/sys/net/ipv4/ip_local_port_range"))
	if len(bounds) != 2 {
		return 0
	}
	n := numbers(bounds)
	first, last := n[0], n[1]
	if first <= 0 || last < first {
		return 0
	}
	all := float64(last - first + 1)
	sockets := int64(0)
	for line := range strings.Lines(readText(root, "proc/net/sockstat") + readText(root, "proc/net/sockstat6")) {
		words := strings.Fields(line)
		for i := 1; i+1 < len(words) && strings.HasPrefix(words[0], "TCP"); i += 2 {
			if words[i] == "inuse" || words[i] == "tw" {
				sockets += numbers(words[i+1 : i+2])[0]
			}
		}
	}
	if float64(sockets) < fewPorts*all {
		return 0
	}
	most := 0
	servers := map[string]int{}
	for _, name := range []string{"proc/net/tcp", "proc/net/tcp6"} {
		for line := range strings.Lines(readText(root, name)) {
			words := strings.Fields(line) // sl local_address rem_address …, addresses as hex:port
			if len(words) < 3 {
				continue
			}
			_, hex, _ := strings.Cut(words[1], ":")
			if port, err := strconv.ParseInt(hex, 16, 32); err == nil && port >= first && port <= last {
				servers[words[2]]++
				most = max(most, servers[words[2]])
			}
		}
	}
	return float64(most) / all
}

// readGovernor returns how the kernel chooses the frequency of the processors, and their frequency in MHz: the mean of
// those that are allowed. Empty and 0 = unknown.
func readGovernor(root fs.FS, allowed func(cpu int) bool) (governor string, mhz float64) {
	const dir = "sys/devices/system/cpu"
	entries, err := fs.ReadDir(root, dir)
	if err != nil {
		return "", 0
	}
	count := 0.0
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), "cpu")
		cpu, err := strconv.Atoi(number)
		if !ok || err != nil || !allowed(cpu) {
			continue
		}
		at := dir + "/" + e.Name() + "/cpufreq/"
		one := strings.TrimSpace(readText(root, at+"scaling_governor"))
		if one == "" {
			continue
		}
		if governor == "" || one == "powersave" { // the slowest counts
			governor = one
		}
		const kilo = 1000
		mhz, count = mhz+float64(readNumber(root, at+"scaling_cur_freq"))/kilo, count+1
	}
	if count > 0 {
		mhz /= count
	}
	return governor, mhz
}

// The share of the speed of an interface, or of the local ports, above which the client may have to wait for them.
const scarceAbove = 0.8

// netSums adds up samples of the network.
type netSums struct {
	busy  time.Duration // time with an interface above scarceAbove of its speed
	short time.Duration // time with more than scarceAbove of the local ports in use
}

// add adds what happened between two samples.
func (s *netSums) add(now, then *Network, span time.Duration) {
	if now == nil || then == nil {
		return
	}
	for name, nic := range now.Interfaces {
		before, ok := then.Interfaces[name]
		moved := max(nic.Received-before.Received, nic.Sent-before.Sent)
		if ok && float64(moved) > scarceAbove*nic.Speed*span.Seconds() {
			s.busy += span
			break
		}
	}
	if now.Ports > scarceAbove {
		s.short += span
	}
}

// networkSince returns what happened between two samples, with the sums up to each.
func networkSince(now, then *Network, sum, before netSums, window time.Duration) *verdict.Network {
	if now == nil || then == nil || window <= 0 {
		return nil
	}
	out := &verdict.Network{
		ReceiveDrops: grown(now.ReceiveDrops, then.ReceiveDrops), Softnet: grown(now.Softnet, then.Softnet),
		Busy: sum.busy - before.busy, PortsShort: sum.short - before.short, Ports: now.Ports, Conntrack: now.Conntrack,
	}
	for name, nic := range now.Interfaces {
		was, ok := then.Interfaces[name]
		if !ok {
			continue
		}
		all := nic.Speed * window.Seconds()
		out.Interfaces = append(out.Interfaces, verdict.Interface{
			Name: name, Speed: nic.Speed,
			Received: float64(max(0, nic.Received-was.Received)) / all, Sent: float64(max(0, nic.Sent-was.Sent)) / all,
		})
	}
	slices.SortFunc(out.Interfaces, func(a, b verdict.Interface) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// grown returns the difference of two counters; nil if one is unknown.
func grown(now, then *int64) *int64 {
	if now == nil || then == nil {
		return nil
	}
	return new(max(0, *now-*then))
}
