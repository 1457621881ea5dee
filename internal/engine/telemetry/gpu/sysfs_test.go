package gpu

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// sysfs is /sys/class/drm of a machine with two cards of AMD, of which the second has less, and one of another vendor.
func sysfs() fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range map[string]string{
		"card0/device/vendor": "0x10de\n", "card0/device/gpu_busy_percent": "50\n",
		"card1/device/vendor": "0x1002\n", "card1/device/device": "0x74a1\n", "card1/device/unique_id": "6692407004340\n",
		"card1/device/product_name": "AMD Instinct MI300X OAM\n", "card1/device/uevent": "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:0c:00.0\n",
		"card1/device/gpu_busy_percent": "97\n", "card1/device/mem_busy_percent": "41\n",
		"card1/device/mem_info_vram_used": "1073741824\n", "card1/device/mem_info_vram_total": "206158430208\n",
		"card1/device/hwmon/hwmon4/power1_input": "611000000\n", "card1/device/hwmon/hwmon4/power1_cap": "750000000\n",
		"card1/device/hwmon/hwmon4/temp1_label": "junction\n", "card1/device/hwmon/hwmon4/temp1_input": "71000\n",
		"card1/device/hwmon/hwmon4/temp2_label": "mem\n", "card1/device/hwmon/hwmon4/temp2_input": "62000\n",
		"card1/device/hwmon/hwmon4/freq1_label": "sclk\n", "card1/device/hwmon/hwmon4/freq1_input": "1900000000\n",
		"card1-DP-1/device/vendor": "0x1002\n",
		"card10/device/vendor":     "0x1002\n", "card10/device/device": "0x744c\n",
		"card10/device/uevent": "PCI_SLOT_NAME=0000:2a:00.0\n", "card10/device/gpu_busy_percent": "N/A\n",
		"card10/device/hwmon/hwmon5/power1_average": "20500000\n",
	} {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func TestSysfsPage(t *testing.T) {
	const first = `gpu_id="0",serial_number="6692407004340",card_series="AMD Instinct MI300X OAM",pci_bus_id="0000:0c:00.0",device="card1",hostname="n1"`
	const second = `gpu_id="1",serial_number="0000:2a:00.0",card_series="AMD GPU 0x744c",pci_bus_id="0000:2a:00.0",device="card10",hostname="n1"`
	want := []string{
		"gpu_clock{" + first + `,clock_type="SYSTEM"} 1900`, "gpu_gfx_activity{" + first + "} 97", "gpu_junction_temperature{" + first + "} 71",
		"gpu_memory_temperature{" + first + "} 62", "gpu_power_cap{" + first + "} 750", "gpu_power_usage{" + first + "} 611",
		"gpu_power_usage{" + second + "} 20.5", "gpu_total_vram{" + first + "} 196608", "gpu_umc_activity{" + first + "} 41",
		"gpu_used_vram{" + first + "} 1024",
	}
	got := strings.Split(strings.TrimSpace(string(SysfsPage(sysfs(), "n1"))), "\n")
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("page\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for name, drm := range map[string]fstest.MapFS{"no card": {}, "a card of another vendor": {"card0/device/vendor": {Data: []byte("0x8086\n")}}} {
		if page := SysfsPage(drm, "n1"); page != nil {
			t.Errorf("%s: %s", name, page)
		}
	}
}
