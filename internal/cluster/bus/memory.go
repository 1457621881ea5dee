package bus

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a bus within a process, for tests: its participants meet in it. It works in the virtual time of
// testing/synctest. The zero Memory is ready for use, delivers every message at once and must not be copied.
type Memory struct {
	mu      sync.Mutex
	fate    func(Delivery) []time.Duration
	conns   map[string][]*memoryConn // by id
	subs    map[string][]*memorySub  // by shelf
	objects map[string][]byte
}

// Delivery is a message on its way to one receiver.
type Delivery struct {
	From, To string // ids of the participants
	Subject  string
	Reply    bool // it is the answer to a message of that subject
	Payload  []byte
}

// queued is how many messages a subscription holds for its handler at most.
const queued = 1 << 16

// Disturb lets a function decide what becomes of each delivery from now on: it returns after which times a copy is
// delivered. So none is a loss, two are a double, and different delays change the order. nil = each is delivered at
// once. The function must not use the bus.
func (m *Memory) Disturb(fate func(Delivery) []time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fate = fate
}

// Cut breaks the connections of a participant, or restores them. What is on its way to it is lost.
func (m *Memory) Cut(id string, broken bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.conns[id] {
		c.broken = broken
	}
}

// Connect returns the connection of a participant.
func (m *Memory) Connect(id string, p Permissions) Bus {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.conns == nil {
		m.conns = map[string][]*memoryConn{}
		m.subs = map[string][]*memorySub{}
		m.objects = map[string][]byte{}
	}
	c := &memoryConn{network: m, id: id, permissions: p}
	m.conns[id] = append(m.conns[id], c)
	return c
}

// memoryConn is a connection. Its fields below permissions are guarded by the mutex of its network.
type memoryConn struct {
	network     *Memory
	id          string
	permissions Permissions

	broken  bool
	closed  bool
	subs    []*memorySub
	waiting sync.WaitGroup // for the goroutines of subscriptions
}

var _ Bus = (*memoryConn)(nil)

// memorySub is a subscription.
type memorySub struct {
	conn    *memoryConn
	pattern string
	stop    chan struct{} // is closed when the subscription ends
	wake    chan struct{} // holds a token if the queue may have messages

	// The mutex of the network guards these.
	ended bool
	queue []Message
}

// shelf returns where the subscriptions to a subject are kept: by its first three tokens, so that there are few beside
// each other even if there are thousands of workers. Subjects with wildcards there are on the shelf "".
func shelf(subject string) string {
	end, tokens := 0, 0
	for end < len(subject) && (subject[end] != '.' || tokens < 2) {
		if subject[end] == '.' {
			tokens++
		}
		end++
	}
	if strings.ContainsAny(subject[:end], "*>") {
		return ""
	}
	return subject[:end]
}

// answerFunc answers a message in the name of who has received it.
type answerFunc func(from *memoryConn, payload []byte) error

// usable returns why nothing can be sent. The network is locked.
func (c *memoryConn) usable() error {
	switch {
	case c.closed:
		return ErrClosed
	case c.broken:
		return ErrDisconnected
	}
	return nil
}

// send delivers a message to all who have subscribed, and returns how many they are. answer may be nil.
func (c *memoryConn) send(ctx context.Context, subject string, payload []byte, answer answerFunc) (int, error) {
	switch err := CheckSubject(subject, false); {
	case err != nil:
		return 0, err
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case len(payload) > MaxPayload:
		return 0, ErrTooLarge
	case !c.permissions.MayPublish(subject):
		return 0, ErrDenied
	}
	m := c.network
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := c.usable(); err != nil {
		return 0, err
	}
	receivers := 0
	for _, s := range slices.Concat(m.subs[""], m.subs[shelf(subject)]) {
		if !Matches(s.pattern, subject) {
			continue
		}
		receivers++
		message := Message{Subject: subject, Payload: bytes.Clone(payload)}
		if answer != nil {
			message.answer = func(p []byte) error { return answer(s.conn, p) }
		}
		m.carry(Delivery{From: c.id, To: s.conn.id, Subject: subject, Payload: payload}, func() { s.enqueue(message) })
	}
	return receivers, nil
}

// carry performs a delivery as often and as late as the network is told to. The network is locked, and deliver is
// called with it locked.
func (m *Memory) carry(d Delivery, deliver func()) {
	delays := []time.Duration{0}
	if m.fate != nil {
		delays = m.fate(d)
	}
	for _, delay := range delays {
		if delay <= 0 {
			deliver()
			continue
		}
		time.AfterFunc(delay, func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			deliver()
		})
	}
}

// enqueue hands a message to the handler, or loses it. The network is locked.
func (s *memorySub) enqueue(message Message) {
	if s.ended || s.conn.usable() != nil || len(s.queue) == queued {
		return
	}
	s.queue = append(s.queue, message)
	select {
	case s.wake <- struct{}{}:
	default: // it has the token
	}
}

// Request implements Bus.
func (c *memoryConn) Request(ctx context.Context, subject string, payload []byte) ([]byte, error) {
	ctx, cancel := WithPatience(ctx)
	defer cancel()
	answers := make(chan []byte, 1) // for the first one; others are lost
	reply := func(from *memoryConn, p []byte) error {
		if len(p) > MaxPayload {
			return ErrTooLarge
		}
		m := c.network
		m.mu.Lock()
		defer m.mu.Unlock()
		if err := from.usable(); err != nil {
			return err
		}
		p = bytes.Clone(p)
		m.carry(Delivery{From: from.id, To: c.id, Subject: subject, Reply: true, Payload: p}, func() {
			if c.usable() != nil {
				return
			}
			select {
			case answers <- p:
			default:
			}
		})
		return nil
	}
	switch receivers, err := c.send(ctx, subject, payload, reply); {
	case err != nil:
		return nil, err
	case receivers == 0:
		return nil, ErrNoReceiver
	}
	select {
	case answer := <-answers:
		return answer, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Publish implements Bus.
func (c *memoryConn) Publish(ctx context.Context, subject string, payload []byte) error {
	_, err := c.send(ctx, subject, payload, nil)
	return err
}

// Subscribe implements Bus.
func (c *memoryConn) Subscribe(ctx context.Context, subject string, handle Handler) (cancel func(), err error) {
	switch err := CheckSubject(subject, true); {
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !c.permissions.MaySubscribe(subject):
		return nil, ErrDenied
	}
	s := &memorySub{conn: c, pattern: subject, stop: make(chan struct{}), wake: make(chan struct{}, 1)}
	m := c.network
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := c.usable(); err != nil {
		return nil, err
	}
	c.subs = append(c.subs, s)
	m.subs[shelf(subject)] = append(m.subs[shelf(subject)], s)
	c.waiting.Go(func() { s.handle(handle) })
	return sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		c.remove(s)
	}), nil
}

// handle calls a handler for each message until the subscription ends.
func (s *memorySub) handle(handle Handler) {
	for {
		select {
		case <-s.stop:
			return
		case <-s.wake:
		}
		for message, ok := s.next(); ok; message, ok = s.next() {
			handle(message)
		}
	}
}

// next takes the first message off the queue; false = there is none, or the subscription has ended.
func (s *memorySub) next() (m Message, ok bool) {
	network := s.conn.network
	network.mu.Lock()
	defer network.mu.Unlock()
	if len(s.queue) == 0 {
		return m, false
	}
	m, s.queue = s.queue[0], s.queue[1:]
	return m, true
}

// remove ends a subscription, unless it has ended. The network is locked.
func (c *memoryConn) remove(s *memorySub) {
	if s.ended {
		return
	}
	same := func(other *memorySub) bool { return other == s }
	c.subs = slices.DeleteFunc(c.subs, same)
	place := shelf(s.pattern)
	c.network.subs[place] = slices.DeleteFunc(c.network.subs[place], same)
	s.ended, s.queue = true, nil
	close(s.stop)
}

// Put implements Bus.
func (c *memoryConn) Put(ctx context.Context, name string, content io.Reader) error {
	switch {
	case !ValidName(name):
		return ErrName
	case !c.permissions.Put:
		return ErrDenied
	}
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	m := c.network
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := c.usable(); err != nil {
		return err
	}
	m.objects[name] = data
	return ctx.Err()
}

// Get implements Bus.
func (c *memoryConn) Get(ctx context.Context, name string, to io.Writer) error {
	if !ValidName(name) {
		return ErrName
	}
	m := c.network
	m.mu.Lock()
	err := c.usable()
	data, ok := m.objects[name]
	m.mu.Unlock()
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case !ok:
		return ErrNotFound
	}
	_, err = to.Write(data)
	return err
}

// Close implements Bus.
func (c *memoryConn) Close() {
	m := c.network
	m.mu.Lock()
	c.closed = true
	for len(c.subs) > 0 {
		c.remove(c.subs[0])
	}
	m.conns[c.id] = slices.DeleteFunc(m.conns[c.id], func(other *memoryConn) bool { return other == c })
	m.mu.Unlock()
	c.waiting.Wait()
}
