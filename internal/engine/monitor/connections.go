package monitor

import "math"

// otherFiles are the files of a process besides its connections to servers: of its
// store, of the results of runs, and its clients.
const otherFiles = 64

// Connections returns how many connections to servers a process can have that may open
// so many files.
func Connections(files uint64) int {
	return int(min(max(files, otherFiles+1)-otherFiles, math.MaxInt32))
}

// RaiseConnections raises the limit of open files so that the process can have n
// connections to servers, and returns how many it can have; ok = false if it is not known.
func RaiseConnections(n int) (possible int, ok bool) {
	files, ok := RaiseFileLimit(uint64(max(n, 0)) + otherFiles)
	return Connections(files), ok
}
