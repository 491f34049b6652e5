package web

import (
	"context"
	"fmt"
	"io"
	"sync"
)

// budget bounds the bytes of messages and values that are on their way to this node. Each takes what
// it announces as a whole before its bytes are read, and gives it back when they are there. So what
// has taken needs nothing more, and who waits does so for senders that send: nodes that fetch values
// from each other do not wait in a circle. Memory is another matter: it comes with the bytes.
type budget struct {
	most int64

	mu      sync.Mutex // a leaf
	used    int64
	waiting []*claim // the first first
}

// claim is what waits for its part of a budget.
type claim struct {
	bytes int64
	has   chan struct{} // closed when it has it
}

// take waits until there is room for so many bytes: something that is larger than all passes alone.
// The error is the cause of the end of ctx.
func (b *budget) take(ctx context.Context, bytes int64) error {
	b.mu.Lock()
	if len(b.waiting) == 0 && b.fits(bytes) {
		b.used += bytes
		b.mu.Unlock()
		return nil
	}
	c := &claim{bytes, make(chan struct{})}
	b.waiting = append(b.waiting, c)
	b.mu.Unlock()
	select {
	case <-c.has:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, x := range b.waiting {
		if x == c {
			b.waiting = append(b.waiting[:i], b.waiting[i+1:]...)
			b.next() // it may have been in the way
			return context.Cause(ctx)
		}
	}
	return nil // it was given meanwhile
}

// give gives bytes back.
func (b *budget) give(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= bytes
	b.next()
}

// fits reports whether there is room. The caller holds mu.
func (b *budget) fits(bytes int64) bool { return b.used == 0 || bytes <= b.most-b.used }

// next gives those who wait what there is room for, in their order. The caller holds mu.
func (b *budget) next() {
	for len(b.waiting) > 0 && b.fits(b.waiting[0].bytes) {
		c := b.waiting[0]
		b.waiting[0], b.waiting = nil, b.waiting[1:]
		b.used += c.bytes
		close(c.has)
	}
}

// readSmall reads what has to be small, to its end. Memory comes with its bytes.
func readSmall(r io.Reader, most int) ([]byte, error) {
	if r == nil {
		return nil, nil
	}
	b, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err == nil && len(b) > most {
		err = &sizeError{most}
	}
	return b, err
}

// sizeError says that a body is larger than it may be.
type sizeError struct{ most int }

func (e *sizeError) Error() string { return fmt.Sprintf("a body of more than %d bytes", e.most) }
