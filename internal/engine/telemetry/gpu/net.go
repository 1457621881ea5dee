package gpu

// Subtract sets the energies without what the cards used in an idle phase, for the same time; nil = it was not
// measured.
func (p *Phase) Subtract(idle *Phase) {
	if idle == nil || !(idle.Seconds > 0) {
		return
	}
	length := p.Seconds / idle.Seconds
	for i := range p.Vendors {
		s := &p.Vendors[i]
		net, bound, known := 0.0, 0.0, 0
		for j := range p.Devices {
			d := &p.Devices[j]
			if d.Vendor != s.Vendor || d.Repeats || d.Energy == nil {
				continue
			}
			before := idle.device(&d.Identity)
			if before == nil || before.Energy == nil {
				continue
			}
			d.Energy.Net = new(d.Energy.Joules - length*before.Energy.Joules)
			net, bound, known = net+*d.Energy.Net, bound+d.Energy.Bound+length*before.Energy.Bound, known+1
		}
		if known == s.Cards {
			s.Net, s.NetBound = &net, &bound
		}
	}
}

// device returns a device by its identity; nil = it was not seen.
func (p *Phase) device(id *Identity) *Device {
	for i := range p.Devices {
		if d := &p.Devices[i]; d.Host == id.Host && d.UUID == id.UUID && d.Instance == id.Instance {
			return d
		}
	}
	return nil
}
