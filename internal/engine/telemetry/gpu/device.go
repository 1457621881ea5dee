package gpu

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/engine/telemetry/window"
)

// The vendors, as AIPerf names platforms.
const (
	NVIDIA = "nvidia"
	AMD    = "amd"
)

// Page is what was read of one exporter.
type Page struct {
	URL     string // redacted
	History *window.History
	// Refresh is how often the values change, if that is known; 0 = it is estimated.
	Refresh time.Duration
}

// Identity says which device it is. A device is known by its host, its id and its instance, never by its
// index, which several hosts have.
type Identity struct {
	Vendor    string `json:"vendor" enums:"nvidia,amd"`
	Index     int    `json:"index"` // on its host; -1 = unknown
	UUID      string `json:"uuid"`
	Name      string `json:"name"`
	Host      string `json:"host"`
	Instance  string `json:"instance,omitempty"` // of a card that is divided (MIG, partitions)
	Profile   string `json:"profile,omitempty"`  // of the instance
	PCI       string `json:"pci_bus_id,omitempty"`
	Device    string `json:"device,omitempty"` // such as nvidia0
	Namespace string `json:"namespace,omitempty"`
	Pod       string `json:"pod,omitempty"`
	Source    string `json:"source"` // the page, redacted
}

// card identifies the card of a device: its instances share it.
func (id *Identity) card() string { return id.Vendor + "\x00" + id.Host + "\x00" + id.UUID }

func (id *Identity) key() string { return id.card() + "\x00" + id.Instance }

// Label is the device in a sentence, such as "GPU 0 of node1".
func (id *Identity) Label() string {
	text := "GPU"
	if id.Index >= 0 {
		text += " " + strconv.Itoa(id.Index)
	} else if id.UUID != "" {
		text += " " + id.UUID
	}
	if id.Instance != "" {
		text += " instance " + id.Instance
	}
	if id.Host != "" {
		text += " of " + id.Host
	}
	return text
}

// part is the groups of a family that belong to a device.
type part struct {
	family *window.Family
	groups []*window.Group
}

// device is a device with what is known of it.
type device struct {
	Identity
	page     *Page
	parts    map[string]*part // by family
	repeated bool             // another instance stands for the card
}

// identify returns which device a series belongs to; ok = false if it belongs to none.
func identify(page *Page, family string, g *window.Group) (id Identity, ok bool) {
	label := func(names ...string) string {
		for _, n := range names {
			if v := g.Label(n); v != "" {
				return v
			}
		}
		return ""
	}
	id = Identity{Index: -1, Source: page.URL, Namespace: g.Label("namespace"), Pod: g.Label("pod"), Host: label("Hostname", "hostname")}
	switch {
	case strings.HasPrefix(family, "DCGM_"):
		id.Vendor, id.UUID, id.Name = NVIDIA, label("UUID", "uuid"), g.Label("modelName")
		id.Instance, id.Profile = g.Label("GPU_I_ID"), g.Label("GPU_I_PROFILE")
		id.PCI, id.Device = g.Label("pci_bus_id"), g.Label("device")
	case strings.HasPrefix(family, "gpu_") && g.Label("gpu_id") != "":
		id.Vendor, id.UUID, id.Name = AMD, label("gpu_uuid", "serial_number"), label("card_series", "card_model")
		id.PCI, id.Device = g.Label("pci_bus_id"), g.Label("device")
		if g.Label("gpu_compute_partition_type") != "" && !slices.Contains([]string{"none", "spx"}, g.Label("gpu_compute_partition_type")) {
			id.Instance, id.Profile = g.Label("gpu_partition_id"), g.Label("gpu_compute_partition_type")
		}
	default:
		return id, false
	}
	index := label("gpu", "gpu_id")
	if i, err := strconv.Atoi(index); err == nil && i >= 0 {
		id.Index = i
	}
	id.UUID = cmp.Or(id.UUID, index)
	if id.Host == "" {
		if u, err := url.Parse(page.URL); err == nil {
			id.Host = u.Host
		}
	}
	return id, id.UUID != ""
}

// MaxDevices is how many devices are followed; further ones are left out.
const MaxDevices = 1024

// find returns the devices of all pages by host and index. One that several pages have is that of the first.
func find(pages []Page) []*device {
	known := map[string]*device{}
	var out []*device
	for i := range pages {
		page := &pages[i]
		for _, f := range page.History.Families {
			for _, g := range f.Groups {
				id, ok := identify(page, f.Name, g)
				if !ok {
					continue
				}
				d := known[id.key()]
				if d == nil && len(out) < MaxDevices {
					d = &device{Identity: id, page: page, parts: map[string]*part{}}
					known[id.key()] = d
					out = append(out, d)
				}
				if d == nil || d.page != page {
					continue
				}
				p := d.parts[f.Name]
				if p == nil {
					p = &part{family: f}
					d.parts[f.Name] = p
				}
				p.groups = append(p.groups, g)
			}
		}
	}
	out = slices.DeleteFunc(out, func(d *device) bool { return !d.measured() })
	slices.SortStableFunc(out, func(a, b *device) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Index, b.Index), cmp.Compare(len(a.Instance), len(b.Instance)),
			cmp.Compare(a.Instance, b.Instance))
	})
	first := map[string]bool{}
	for _, d := range out {
		d.repeated = first[d.card()]
		first[d.card()] = true
	}
	return out
}

// measured reports whether a device has a canonical metric: links and switches have none.
func (d *device) measured() bool {
	return slices.ContainsFunc(Fields(), func(f Field) bool {
		_, ok := d.source(&f)
		return ok
	})
}

// reading is where a device has a canonical metric.
type reading struct {
	Source
	family *window.Family
	groups []*window.Group
}

// source returns where a device has a canonical metric; ok = false if it has not.
func (d *device) source(f *Field) (out reading, ok bool) {
	for _, s := range f.Sources {
		p := d.parts[s.Family]
		if p == nil {
			continue
		}
		groups := p.groups
		if s.Label != "" {
			groups = slices.DeleteFunc(slices.Clone(groups), func(g *window.Group) bool {
				return !strings.Contains(strings.ToUpper(g.Label(s.Label)), s.Value)
			})
		}
		if s.Filled {
			groups = slices.DeleteFunc(slices.Clone(groups), func(g *window.Group) bool { return !anyPositive(d.page.History.Steps(g)) })
		}
		if len(groups) > 0 {
			return reading{s, p.family, groups}, true
		}
	}
	return reading{}, false
}

func anyPositive(steps []window.Step) bool {
	return slices.ContainsFunc(steps, func(s window.Step) bool { return s.Value > 0 })
}

// steps returns the canonical values of a level in a window; nil = the device does not have it. Several series,
// such as the clocks of the parts of a chip, count with their mean.
func (d *device) steps(f *Field, w window.Window) []window.Step {
	r, ok := d.source(f)
	if !ok || r.family.Kind == window.Histogram {
		return nil
	}
	var all [][]window.Step
	for _, g := range r.groups {
		if steps := d.page.History.Within(g, w); steps != nil {
			all = append(all, scale(steps, r.Scale))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return window.Combine(window.Mean, all...)
}

func scale(steps []window.Step, by float64) []window.Step {
	if by == 1 {
		return steps
	}
	out := make([]window.Step, len(steps))
	for i, s := range steps {
		out[i] = window.Step{At: s.At, Value: s.Value / by}
	}
	return out
}

// samples returns the canonical values at each reading of the page; nil = the device does not have it.
func (d *device) samples(f *Field) []window.Step {
	r, ok := d.source(f)
	if !ok {
		return nil
	}
	steps := scale(d.page.History.Samples(r.groups[0]), r.Scale)
	return slices.DeleteFunc(slices.Clone(steps), func(s window.Step) bool { return math.IsNaN(s.Value) })
}

// field returns a canonical metric by its name.
func field(name string) *Field {
	for _, f := range Fields() {
		if f.Name == name {
			return &f
		}
	}
	return nil
}
