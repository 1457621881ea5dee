package options

import (
	"fmt"
	"strings"
)

// DefaultGPU is the default card.
const DefaultGPU = "h100-sxm"

// MaxGPUs is the maximum number of cards.
const MaxGPUs = 64

// GPU is a model of a card; the figures are rounded from its data sheet.
type GPU struct {
	Name, Title      string
	Memory           float64 // GiB
	Limit, Idle      float64 // W
	Clock, Boost     float64 // MHz, of the processors
	MemoryClock      float64 // MHz
	Coldest, Hottest float64 // °C
}

func gpus() []GPU {
	return []GPU{
		{"h100-sxm", "NVIDIA H100 80GB HBM3", 80, 700, 70, 1350, 1980, 1593, 40, 88},
		{"h100-pcie", "NVIDIA H100 PCIe", 80, 350, 40, 1095, 1830, 1593, 35, 82},
		{"h200", "NVIDIA H200", 141, 700, 70, 1350, 1980, 1593, 40, 88},
		{"b200", "NVIDIA B200", 192, 1200, 100, 1500, 2200, 2000, 40, 90},
		{"a100-sxm", "NVIDIA A100-SXM4-80GB", 80, 400, 50, 1095, 1410, 1593, 40, 85},
		{"l4", "NVIDIA L4", 24, 72, 16, 795, 2040, 6251, 35, 85},
		{"rtx-6000-ada", "NVIDIA RTX 6000 Ada Generation", 48, 300, 30, 915, 2505, 9001, 35, 83},
	}
}

// GPUs returns the names of cards for Options.GPU.
func GPUs() []string {
	var names []string
	for _, g := range gpus() {
		names = append(names, g.Name)
	}
	return names
}

// FindGPU returns the card with a name of [GPUs].
func FindGPU(name string) (GPU, error) {
	for _, g := range gpus() {
		if g.Name == name {
			return g, nil
		}
	}
	return GPU{}, fmt.Errorf("gpu is %q, want one of %s", name, strings.Join(GPUs(), ", "))
}
