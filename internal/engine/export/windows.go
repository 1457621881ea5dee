package export

// windows writes the windows by name, each with its bounds and rates.
func (s *summary) windows(all []Window) {
	s.key("windows")
	s.raw = append(s.raw, '{')
	for i := range all {
		w := &all[i]
		s.key(w.Name)
		s.raw = append(s.raw, '{')
		s.text("method", w.Method)
		s.value("absent", w.Absent)
		if !w.Absent {
			s.time("start_time", w.Start)
			s.time("end_time", w.End)
			s.number("seconds", w.End.Sub(w.Start).Seconds())
			for j := range w.Results {
				s.metric(&w.Results[j])
			}
		}
		s.raw = append(s.raw, '}')
	}
	s.raw = append(s.raw, '}')
}
