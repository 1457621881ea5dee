package engine

import (
	"math"
	"testing"
	"testing/fstest"
)

func TestResponseMemory(t *testing.T) {
	const gib = 1 << 30
	for _, tt := range []struct {
		name  string
		files map[string]string
		limit int64
		want  int64
	}{
		{"nobody knows", nil, math.MaxInt64, gib},
		{"the machine", map[string]string{"proc/meminfo": "MemTotal:       67108864 kB\nMemFree: 1 kB\n"}, math.MaxInt64, 16 * gib},
		{"a small machine", map[string]string{"proc/meminfo": "MemTotal: 1048576 kB\n"}, math.MaxInt64, 256 << 20},
		{"a container", map[string]string{"proc/meminfo": "MemTotal: 67108864 kB\n", "sys/fs/cgroup/memory.max": "8589934592\n"}, math.MaxInt64, 2 * gib},
		{"a container without a limit", map[string]string{"proc/meminfo": "MemTotal: 67108864 kB\n", "sys/fs/cgroup/memory.max": "max\n"}, math.MaxInt64, 16 * gib},
		{"an old container", map[string]string{"proc/meminfo": "MemTotal: 67108864 kB\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "17179869184\n"}, math.MaxInt64, 4 * gib},
		{"an old container without a limit", map[string]string{"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, math.MaxInt64, gib},
		{"the runtime's own limit", map[string]string{"proc/meminfo": "MemTotal: 67108864 kB\n"}, 4 * gib, gib},
		{"a very small container", map[string]string{"sys/fs/cgroup/memory.max": "134217728\n"}, math.MaxInt64, 64 << 20},
		{"a service", map[string]string{
			"proc/self/cgroup":                                      "0::/system.slice/aiperfd.service\n",
			"sys/fs/cgroup/system.slice/memory.max":                 "max\n",
			"sys/fs/cgroup/system.slice/aiperfd.service/memory.max": "4294967296\n",
		}, math.MaxInt64, gib},
		{"an old service in a slice", map[string]string{
			"proc/self/cgroup": "5:cpu,cpuacct:/other\n4:memory:/a.slice/b\n",
			"sys/fs/cgroup/memory/a.slice/memory.limit_in_bytes": "2147483648\n",
		}, math.MaxInt64, gib / 2},
		{"nonsense", map[string]string{"proc/meminfo": "MemTotal: lots\n", "sys/fs/cgroup/memory.max": "-1\n"}, math.MaxInt64, gib},
	} {
		root := fstest.MapFS{}
		for name, text := range tt.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := responseMemory(root, tt.limit); got != tt.want {
			t.Errorf("%s: %d bytes, want %d", tt.name, got, tt.want)
		}
	}
}
