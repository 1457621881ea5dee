package collect

import "sync"

// batches is a queue whose elements are taken many at a time: a consumer that is woken for
// each of them costs more than its work. Producers are safe for concurrent use; there is one
// consumer.
type batches[T any] struct {
	most   int
	enough chan struct{} // buffered 1: the consumer should take what there is
	closed chan struct{} // no more elements will be added

	mu      sync.Mutex
	room    sync.Cond // its lock is mu
	waiting []T       // guarded by mu; at most most
	taken   []T       // guarded by mu; what take has returned last, whose memory is used again
}

// newBatches returns an empty queue for a number of elements at most.
func newBatches[T any](most int) *batches[T] {
	b := &batches[T]{most: most, enough: make(chan struct{}, 1), closed: make(chan struct{})}
	b.room.L = &b.mu
	return b
}

// add adds an element, and blocks while the queue is full. The consumer is woken if at least
// enough elements wait, or if the queue is full.
func (b *batches[T]) add(e T, enough int) {
	b.mu.Lock()
	for len(b.waiting) >= b.most {
		b.room.Wait()
	}
	b.waiting = append(b.waiting, e)
	wake := len(b.waiting) >= min(enough, b.most)
	b.mu.Unlock()
	if wake {
		select {
		case b.enough <- struct{}{}:
		default:
		}
	}
}

// take returns what is in the queue, oldest first; it is valid until the next call.
func (b *batches[T]) take() []T {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.taken)
	b.waiting, b.taken = b.taken[:0], b.waiting
	b.room.Broadcast()
	return b.taken
}

// close tells the consumer that no elements will be added.
func (b *batches[T]) close() { close(b.closed) }
