//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aiperfd/scripts/lab"
)

const (
	runTimeout   = 5 * time.Minute
	truthTimeout = 10 * time.Second
	lookEvery    = 50 * time.Millisecond
	// ticksPerSecond is USER_HZ, the unit of times in /proc (proc(5)); it is 100 on
	// every platform that Go runs on.
	ticksPerSecond = 100
)

// cost is the resources that a process has used.
type cost struct {
	begin    time.Time
	cpu      time.Duration
	memoryMB float64 // the peak of the resident memory, in 10⁶ bytes
	elapsed  time.Duration
}

// execute runs a program to its end and returns its standard output and its cost.
func execute(ctx context.Context, program string, args ...string) ([]byte, cost, error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, cost{}, fmt.Errorf("start %s: %w", filepath.Base(program), err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	memoryMB, err := watchMemory(cmd.Process.Pid, ended)
	if err != nil {
		return nil, cost{}, fmt.Errorf("run %s: %w\n%s", filepath.Base(program), err, tail(stderr.Bytes()))
	}
	return stdout.Bytes(), cost{
		begin:    begin,
		cpu:      cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
		memoryMB: memoryMB,
		elapsed:  time.Since(begin),
	}, nil
}

// watchMemory waits for the end of a process and returns its peak resident memory, as
// read last. The figure of wait4(2) is unsuitable, because it includes the memory of
// this program when it started the process.
func watchMemory(pid int, ended <-chan error) (memoryMB float64, err error) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return memoryMB, err
		case <-tick.C:
			// The process may end between two readings.
			if mib, err := lab.Memory(pid, "VmHWM"); err == nil {
				memoryMB = max(memoryMB, mib*(1<<20)/1e6)
			}
		}
	}
}

// tail returns the end of a long output.
func tail(b []byte) []byte {
	const most = 2000
	return b[max(0, len(b)-most):]
}

// mockServer is a running simulated server.
type mockServer struct {
	*lab.Program
	certificate string // the file of it; "" = the server speaks http
	truth       string
	offset      int64 // of the truth file, up to which it was read
}

// startMock starts the simulated server of a scenario. dir is for its files.
func startMock(binary, dir string, sc *scenario, https bool) (*mockServer, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	m := &mockServer{truth: filepath.Join(dir, "truth.jsonl")}
	args := []string{
		"--port", "0", "--tokenizer", "words", "--role-chunk", "none", "--truth-limit", "1000",
		"--ttft", sc.ttft.String(), "--itl", sc.itl.String(),
	}
	if !sc.growth {
		args = append(args, "--truth", m.truth)
	}
	if sc.chunks {
		args = append(args, "--truth-chunks")
	}
	if https {
		m.certificate = filepath.Join(dir, "certificate.pem")
		args = append(args, "--tls-self-signed", m.certificate)
	}
	if sc.hosts > 1 {
		args = append(args, "--host", "0.0.0.0")
	}
	var err error
	m.Program, err = lab.Start(binary, dir, "mock", append(args, sc.mock...)...)
	return m, err
}

// end stops the server.
func (m *mockServer) end() error {
	if err := m.Stop(); err != nil {
		return fmt.Errorf("stop mock: %w", err)
	}
	return nil
}

func (m *mockServer) port() string { return m.Addr[strings.LastIndexByte(m.Addr, ':')+1:] }

func (m *mockServer) scheme() string {
	if m.certificate != "" {
		return "https://"
	}
	return "http://"
}

// hosts returns the addresses of the server that a scenario uses.
func (m *mockServer) hosts(sc *scenario) []string {
	hosts := make([]string, max(sc.hosts, 1))
	for i := range hosts {
		hosts[i] = fmt.Sprintf("127.0.0.%d", i+1)
	}
	return hosts
}

// descriptorLimit returns how many files a process that is started here may open.
func descriptorLimit() (int, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("read the limit of file descriptors: %w", err)
	}
	return int(min(limit.Max, math.MaxInt32)), nil
}

// cpu returns the CPU time that the server has used.
func (m *mockServer) cpu() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.Pid))
	if err != nil {
		return 0, fmt.Errorf("read CPU time of the mock: %w", err)
	}
	// The name in parentheses may hold blanks; utime and stime are fields 14 and 15.
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("read CPU time of the mock: %d fields", len(fields))
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	if err1 != nil || err2 != nil {
		return 0, fmt.Errorf("read CPU time of the mock: %q", fields[11:13])
	}
	return time.Duration(user+system) * time.Second / ticksPerSecond, nil
}

// loadAverage returns the load average of the last minute from /proc/loadavg; NaN if it
// cannot be read.
func loadAverage() float64 {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return math.NaN()
	}
	first, _, _ := strings.Cut(string(b), " ")
	v, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// wakeLateness returns how late a machine without load wakes a thread: the p99 of short
// sleeps, in ms. It includes the effects of the host of a virtual machine, as does every
// time that is measured here.
func wakeLateness() float64 {
	const sleeps, length = 2000, 500 * time.Microsecond
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	late := make([]float64, sleeps)
	for i := range late {
		begin := time.Now()
		if err := unix.Nanosleep(&unix.Timespec{Nsec: int64(length)}, nil); err != nil && !errors.Is(err, unix.EINTR) {
			return math.NaN()
		}
		late[i] = (time.Since(begin) - length).Seconds() * 1e3
	}
	return percentile(late, 0.99)
}

// buildRaw compiles the raw client into dir.
func buildRaw(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "epoll")
	for _, compiler := range []string{"gcc", "cc", "clang"} {
		path, err := exec.LookPath(compiler)
		if err != nil {
			continue
		}
		source := filepath.Join("benchmarks", "epoll", "epoll.c")
		if _, _, err := execute(ctx, path, "-O2", "-Wall", "-o", program, source, "-lm"); err != nil {
			return "", fmt.Errorf("build the raw client: %w", err)
		}
		return program, nil
	}
	return "", fmt.Errorf("build the raw client: no C compiler was found (gcc, cc, clang)")
}
