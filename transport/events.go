package transport

import "sync"

// Events is a queue of events for a node. All transports keep Start's promise with it: events are
// delivered in the order in which they were added, one at a time, and Add does not wait.
type Events struct {
	mu   sync.Mutex // a leaf
	list []Event
	news chan struct{} // capacity 1: list has some
}

// NewEvents returns an empty queue.
func NewEvents() *Events { return &Events{news: make(chan struct{}, 1)} }

// Add appends e.
func (x *Events) Add(e Event) {
	x.mu.Lock()
	x.list = append(x.list, e)
	x.mu.Unlock()
	select {
	case x.news <- struct{}{}:
	default:
	}
}

// Tell calls f for the events until end is closed. A transport calls it once.
func (x *Events) Tell(end <-chan struct{}, f func(Event)) {
	for {
		select {
		case <-end:
			return
		case <-x.news:
		}
		x.mu.Lock()
		list := x.list
		x.list = nil
		x.mu.Unlock()
		for _, e := range list {
			select {
			case <-end:
				return
			default:
				f(e)
			}
		}
	}
}
