// Package monitor watches the process that it runs in, and the machine under it,
// while a benchmark goes on: how late a goroutine is woken, how long goroutines
// and threads wait for a processor, how much of the processors this process and
// others use. What it sees is judged by package verdict.
package monitor
