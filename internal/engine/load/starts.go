package load

// starts gives the sessions of a phase places in a schedule, in the order in which they
// are drawn. Its calls do not overlap.
type starts interface {
	// place sets when a session is due; false = it is outside the schedule. An error ends
	// the phase.
	place(s *session) (in bool, err error)
}

var (
	_ starts = (*schedule)(nil)
	_ starts = (*users)(nil)
)
