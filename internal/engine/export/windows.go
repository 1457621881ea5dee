package export

// windowsObject returns the windows by name, each with its bounds and rates.
func windowsObject(all []Window) object {
	out := object{}
	for i := range all {
		w := &all[i]
		one := object{{"method", w.Method}, {"absent", w.Absent}}
		if !w.Absent {
			one.addTime("start_time", w.Start)
			one.addTime("end_time", w.End)
			one.add("seconds", w.End.Sub(w.Start).Seconds())
			for j := range w.Results {
				one.addMetric(&w.Results[j])
			}
		}
		out.add(w.Name, one)
	}
	return out
}
