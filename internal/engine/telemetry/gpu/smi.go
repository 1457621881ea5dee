package gpu

import (
	"fmt"
	"strconv"
	"strings"
)

// smiFields are what nvidia-smi is asked for, and the names of DCGM that the values get; those of the first five
// are none. The unit of each is that of DCGM.
func smiFields() [][2]string {
	return [][2]string{
		{"index", ""}, {"uuid", ""}, {"name", ""}, {"pci.bus_id", ""}, {"count", ""},
		{"power.draw", "DCGM_FI_DEV_POWER_USAGE"}, {"power.limit", "DCGM_FI_DEV_POWER_MGMT_LIMIT"},
		{"utilization.gpu", "DCGM_FI_DEV_GPU_UTIL"}, {"utilization.memory", "DCGM_FI_DEV_MEM_COPY_UTIL"},
		{"memory.used", "DCGM_FI_DEV_FB_USED"}, {"memory.total", "DCGM_FI_DEV_FB_TOTAL"},
		{"clocks.sm", "DCGM_FI_DEV_SM_CLOCK"}, {"clocks.mem", "DCGM_FI_DEV_MEM_CLOCK"},
		{"temperature.gpu", "DCGM_FI_DEV_GPU_TEMP"}, {"temperature.memory", "DCGM_FI_DEV_MEMORY_TEMP"},
		{"clocks_throttle_reasons.active", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"},
	}
}

// LocalPeriod is the time between two readings of the cards of this machine, in milliseconds.
const LocalPeriod = 200

// SMIArguments returns the arguments with which nvidia-smi writes a line per card again and again.
func SMIArguments() []string {
	var names []string
	for _, f := range smiFields() {
		names = append(names, f[0])
	}
	return []string{"--query-gpu=" + strings.Join(names, ","), "--format=csv,noheader,nounits", "-lms", strconv.Itoa(LocalPeriod)}
}

// SMIRounds collects lines of nvidia-smi to rounds, which have a line per card.
type SMIRounds struct {
	Host string
	page strings.Builder
	seen int
}

// Add adds a line. It returns a page as DCGM's exporter writes it once the round is complete; err = the line is none
// of nvidia-smi's.
func (r *SMIRounds) Add(line string) (page []byte, err error) {
	parts := strings.Split(line, ",")
	fields := smiFields()
	if len(parts) != len(fields) {
		const most = 200
		return nil, fmt.Errorf("nvidia-smi: %.*s", most, strings.TrimSpace(line))
	}
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	count, err := strconv.Atoi(parts[4])
	if err != nil || count < 1 {
		return nil, fmt.Errorf("nvidia-smi: the number of cards is %q", parts[4])
	}
	labels := fmt.Sprintf("gpu=%q,UUID=%q,modelName=%q,pci_bus_id=%q,device=%q,Hostname=%q",
		parts[0], parts[1], parts[2], parts[3], "nvidia"+parts[0], r.Host)
	for i, f := range fields {
		if f[1] == "" {
			continue
		}
		v, err := strconv.ParseFloat(parts[i], 64)
		if hex, ok := strings.CutPrefix(parts[i], "0x"); ok {
			var bits uint64
			bits, err = strconv.ParseUint(hex, 16, 64)
			v = float64(bits)
		}
		if err == nil { // otherwise the card does not have it: [N/A]
			fmt.Fprintf(&r.page, "%s{%s} %s\n", f[1], labels, strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	if r.seen++; r.seen < count {
		return nil, nil
	}
	page = []byte(r.page.String())
	r.page.Reset()
	r.seen = 0
	return page, nil
}
