// Package monitor observes the process that it runs in, and the machine, during a
// benchmark: how late a goroutine wakes up, how long goroutines and threads wait for
// a processor, how much processor time this process and others use, and how much
// memory it may use. It is the only reader of /proc and control groups. Package
// verdict judges the observations.
package monitor
