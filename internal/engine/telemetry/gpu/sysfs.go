package gpu

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// amdVendor is the number of AMD on the PCI bus.
const amdVendor = "0x1002"

// What divides the values of the driver, which are in µW, m°C, Hz and bytes.
const (
	micro    = 1e6
	milli    = 1e3
	mebibyte = 1 << 20
)

// SysfsPage reads the cards of the driver amdgpu from the folder /sys/class/drm and returns them as AMD's device
// metrics exporter does; nil = there is no card. What a card lacks is left out. The files are those of
// docs.kernel.org/gpu/amdgpu/thermal.html and driver-misc.html.
func SysfsPage(drm fs.FS, host string) []byte {
	var page strings.Builder
	for index, card := range sysfsCards(drm) {
		device := path.Join(card, "device")
		text := func(name string) string { return readLine(drm, path.Join(device, name)) }
		slot := ""
		for line := range strings.Lines(readAll(drm, path.Join(device, "uevent"))) {
			if value, ok := strings.CutPrefix(line, "PCI_SLOT_NAME="); ok {
				slot = strings.TrimSpace(value)
			}
		}
		labels := fmt.Sprintf("gpu_id=%q,serial_number=%q,card_series=%q,pci_bus_id=%q,device=%q,hostname=%q", strconv.Itoa(index),
			cmp.Or(text("unique_id"), slot, card), cmp.Or(text("product_name"), "AMD GPU "+text("device")), slot, card, host)
		put := func(family, more, file string, scale float64) bool {
			v, err := strconv.ParseFloat(readLine(drm, file), 64)
			if err == nil {
				fmt.Fprintf(&page, "%s{%s%s} %s\n", family, labels, more, strconv.FormatFloat(v/scale, 'g', -1, 64))
			}
			return err == nil
		}
		put("gpu_gfx_activity", "", path.Join(device, "gpu_busy_percent"), 1)
		put("gpu_umc_activity", "", path.Join(device, "mem_busy_percent"), 1)
		put("gpu_used_vram", "", path.Join(device, "mem_info_vram_used"), mebibyte)
		put("gpu_total_vram", "", path.Join(device, "mem_info_vram_total"), mebibyte)
		monitors, _ := fs.Glob(drm, path.Join(device, "hwmon", "hwmon*")) // the pattern is right
		for _, hwmon := range monitors {
			if !put("gpu_power_usage", "", path.Join(hwmon, "power1_average"), micro) {
				put("gpu_power_usage", "", path.Join(hwmon, "power1_input"), micro) // of newer cards
			}
			put("gpu_power_cap", "", path.Join(hwmon, "power1_cap"), micro)
			put("gpu_edge_temperature", "", labelled(drm, hwmon, "temp", "edge"), milli)
			put("gpu_junction_temperature", "", labelled(drm, hwmon, "temp", "junction"), milli)
			put("gpu_memory_temperature", "", labelled(drm, hwmon, "temp", "mem"), milli)
			put("gpu_clock", `,clock_type="SYSTEM"`, labelled(drm, hwmon, "freq", "sclk"), micro)
			put("gpu_clock", `,clock_type="MEMORY"`, labelled(drm, hwmon, "freq", "mclk"), micro)
		}
	}
	if page.Len() == 0 {
		return nil
	}
	return []byte(page.String())
}

// sysfsCards returns the folders of AMD's cards in the order of their numbers.
func sysfsCards(drm fs.FS) []string {
	number := func(card string) (int, error) { return strconv.Atoi(strings.TrimPrefix(card, "card")) }
	all, _ := fs.Glob(drm, "card*") // the pattern is right
	all = slices.DeleteFunc(all, func(card string) bool {
		_, err := number(card) // connectors have the names of their cards and more
		return err != nil || readLine(drm, path.Join(card, "device", "vendor")) != amdVendor
	})
	slices.SortFunc(all, func(a, b string) int {
		x, _ := number(a)
		y, _ := number(b)
		return cmp.Compare(x, y)
	})
	return all
}

// labelled returns the file with the value of the sensor of a kind that has a label; "." = there is none.
func labelled(drm fs.FS, hwmon, kind, label string) string {
	names, _ := fs.Glob(drm, path.Join(hwmon, kind+"*_label")) // the pattern is right
	for _, name := range names {
		if readLine(drm, name) == label {
			return strings.TrimSuffix(name, "_label") + "_input"
		}
	}
	return "."
}

// readAll returns a file; empty = it cannot be read.
func readAll(drm fs.FS, name string) string {
	f, err := drm.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	const most = 4096 // a page of memory: no file of the driver has more
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return ""
	}
	return string(text)
}

// readLine returns a file without blanks around it; empty = it cannot be read.
func readLine(drm fs.FS, name string) string { return strings.TrimSpace(readAll(drm, name)) }
