package monitor

import (
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/verdict"
)

// files makes a file system of texts.
func files(texts map[string]string) fs.FS {
	out := fstest.MapFS{}
	for name, text := range texts {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func TestReadMachine(t *testing.T) {
	stat := "cpu  600 60 60 6000 60 6 6 60 0 0\n" +
		"cpu0 100 10 20 1000 5 1 2 7 50 0\n" +
		"cpu1 200 10 20 2000 5 1 2 8 0 0\n" +
		"cpu2 300 40 20 3000 50 4 2 45 0 0\n" +
		"intr 1 2 3\nctxt 9\n"
	root := files(map[string]string{"proc/stat": stat})
	got := readMachine(root, func(cpu int) bool { return cpu != 2 })
	want := &Machine{Cores: 2, Busy: 3660 * time.Millisecond, Idle: 30100 * time.Millisecond, Steal: 150 * time.Millisecond}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("machine (-want +got):\n%s", d)
	}
	if got := readMachine(root, func(int) bool { return false }); got != nil {
		t.Errorf("no allowed processor: %+v", got)
	}
	if got := readMachine(files(nil), func(int) bool { return true }); got != nil {
		t.Errorf("no /proc: %+v", got)
	}
}

// A thread that ends takes its total with it; the sum never falls.
func TestThreads(t *testing.T) {
	var th threads
	const dir = "proc/self/task/"
	steps := []struct {
		files map[string]string
		want  *verdict.RunQueue
	}{
		{map[string]string{dir + "1/schedstat": "100 1000 5\n", dir + "2/schedstat": "100 2000 6\n"}, &verdict.RunQueue{Wait: 3000, Slices: 11}},
		{map[string]string{dir + "1/schedstat": "200 1500 7\n"}, &verdict.RunQueue{Wait: 3500, Slices: 13}},
		{map[string]string{dir + "1/schedstat": "200 1500 7\n", dir + "2/schedstat": "1 10 1\n"}, &verdict.RunQueue{Wait: 3510, Slices: 14}},
		{map[string]string{dir + "1/schedstat": "10 20 1\n", dir + "2/schedstat": "1 10 1\n"}, &verdict.RunQueue{Wait: 3530, Slices: 15}},
		{map[string]string{dir + "1/comm": "x"}, nil},
		{nil, nil},
	}
	for i, s := range steps {
		if d := cmp.Diff(s.want, th.read(files(s.files))); d != "" {
			t.Errorf("step %d (-want +got):\n%s", i, d)
		}
	}
}

func TestReadCgroup(t *testing.T) {
	const v2 = "sys/fs/cgroup/"
	tests := map[string]struct {
		files map[string]string
		want  *verdict.Cgroup
	}{
		"v2, in a name space": {
			map[string]string{"proc/self/cgroup": "0::/\n", v2 + "cpu.max": "150000 100000\n", v2 + "cpu.stat": "usage_usec 5\nnr_throttled 3\nthrottled_usec 2500\n"},
			&verdict.Cgroup{Quota: 1.5, Throttled: 2500 * time.Microsecond},
		},
		"v2, a group above is tighter": {
			map[string]string{
				"proc/self/cgroup": "0::/pods/a\n", v2 + "pods/a/cpu.max": "max 100000\n",
				v2 + "pods/cpu.max": "50000 100000\n", v2 + "pods/cpu.stat": "throttled_usec 1\n", v2 + "cpu.max": "400000 100000\n",
			},
			&verdict.Cgroup{Quota: 0.5, Throttled: time.Microsecond},
		},
		"v2, without limit": {map[string]string{"proc/self/cgroup": "0::/a\n", v2 + "a/cpu.max": "max 100000\n"}, nil},
		"v1": {
			map[string]string{
				"proc/self/cgroup": "5:memory:/x\n4:cpu,cpuacct:/x\n0::/\n", v2 + "cpu,cpuacct/x/cpu.cfs_quota_us": "200000\n",
				v2 + "cpu,cpuacct/x/cpu.cfs_period_us": "100000\n", v2 + "cpu,cpuacct/x/cpu.stat": "nr_periods 1\nthrottled_time 77\n",
			},
			&verdict.Cgroup{Quota: 2, Throttled: 77},
		},
		"v1, the path is that of the host": {
			map[string]string{"proc/self/cgroup": "1:cpu:/docker/abc\n", v2 + "cpu/cpu.cfs_quota_us": "100000\n", v2 + "cpu/cpu.cfs_period_us": "100000\n"},
			&verdict.Cgroup{Quota: 1},
		},
		"v1, without limit": {map[string]string{"proc/self/cgroup": "1:cpu:/\n", v2 + "cpu/cpu.cfs_quota_us": "-1\n", v2 + "cpu/cpu.cfs_period_us": "100000\n"}, nil},
		"nonsense":          {map[string]string{"proc/self/cgroup": "0::/\nx\n", v2 + "cpu.max": "1 2 3\n"}, nil},
		"none":              {nil, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, readCgroup(files(tt.files))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestReadRSS(t *testing.T) {
	root := files(map[string]string{"proc/self/statm": "1000 250 30 1 0 99 0\n"})
	if got := readRSS(root, 4096); got != 250*4096 {
		t.Errorf("RSS = %d, want %d", got, 250*4096)
	}
	if got := readRSS(files(nil), 4096); got != 0 {
		t.Errorf("RSS without /proc = %d", got)
	}
}
