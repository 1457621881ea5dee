package app

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// ExitInterrupted is the exit code of a process that a signal ended: 128 + SIGINT,
// as shells report it.
const ExitInterrupted = 130

// onSignals calls the given functions on the first, second … SIGINT, SIGTERM or
// SIGHUP, and exits on the one after the last. A SIGHUP that the parent ignores
// (nohup) stays ignored. The returned function restores the default behaviour and
// waits until a function that is being called has returned.
func onSignals(on ...func(os.Signal)) (stop func()) { return onSignalsOrKeys(nil, on...) }

// onSignalsOrKeys is [onSignals] for a process that also receives signals from a channel, as
// keys; nil = none.
func onSignalsOrKeys(keys <-chan os.Signal, on ...func(os.Signal)) (stop func()) {
	which := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		which = append(which, syscall.SIGHUP)
	}
	return onThese(which, keys, on...)
}

// onStops is [onSignals] without SIGHUP, for processes in which it has another meaning.
func onStops(on ...func(os.Signal)) (stop func()) {
	return onThese([]os.Signal{os.Interrupt, syscall.SIGTERM}, nil, on...)
}

func onThese(which []os.Signal, keys <-chan os.Signal, on ...func(os.Signal)) (stop func()) {
	signals := make(chan os.Signal, len(on)+1)
	signal.Notify(signals, which...)
	done := make(chan struct{})
	var handler sync.WaitGroup
	handler.Go(func() {
		for n := 0; ; n++ {
			var s os.Signal
			select {
			case s = <-signals:
			case s = <-keys:
			case <-done:
				return
			}
			if n >= len(on) {
				os.Exit(ExitInterrupted)
			}
			on[n](s)
		}
	})
	return func() {
		signal.Stop(signals)
		close(done)
		handler.Wait()
	}
}
