package web

import (
	"context"
	"fmt"
	"io"
	"sync"
)

// budget bounds the bytes of messages and values on their way to this node. Each takes its
// announced size as a whole before its bytes are read, and gives it back when they have arrived. So
// the holder of a part needs no more, and others wait only for senders that send: nodes that fetch
// from each other do not deadlock. Memory is allocated as bytes arrive.
type budget struct {
	most int64

	mu      sync.Mutex // a leaf
	used    int64
	waiting []*claim // in order of arrival
}

// claim waits for a part of a budget.
type claim struct {
	bytes int64
	has   chan struct{} // closed when granted
}

// take waits until there is room for the bytes; more than the whole budget passes alone. The error
// is the cause of the end of ctx.
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
			b.next() // c may have blocked later claims
			return context.Cause(ctx)
		}
	}
	return nil // it was granted meanwhile
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

// next grants waiting claims in order while there is room. The caller holds mu.
func (b *budget) next() {
	for len(b.waiting) > 0 && b.fits(b.waiting[0].bytes) {
		c := b.waiting[0]
		b.waiting[0], b.waiting = nil, b.waiting[1:]
		b.used += c.bytes
		close(c.has)
	}
}

// readSmall reads r, at most most bytes, to its end. Memory grows with the bytes received.
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

// sizeError says that a body is too large.
type sizeError struct{ most int }

func (e *sizeError) Error() string { return fmt.Sprintf("a body of more than %d bytes", e.most) }
