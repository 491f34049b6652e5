package web

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
	"github.com/valyala/fasthttp"
)

// Fetch implements [transport.Transport]. If no byte moves for a time it tries another connection,
// once.
func (n *node) Fetch(ctx context.Context, from string, r transport.Ref, wait time.Duration, into versions.Value) error {
	var stalled *transport.StalledError
	err := n.fetch(ctx, from, r, wait, into)
	if !errors.As(err, &stalled) || ctx.Err() != nil {
		return err
	}
	n.opt.Log.Warn("no byte of a value comes: another connection is tried", "node", n.opt.Name, "from", from, "value",
		fmt.Sprint(r), "for", stalled.For)
	if x, address := n.members.find(from); x != nil {
		n.host(address).bulk.CloseIdleConnections()
	}
	before := stalled.For
	if err = n.fetch(ctx, from, r, 0, into); errors.As(err, &stalled) {
		stalled.For += before
	} else if cut := (*transport.UnreachableError)(nil); errors.As(err, &cut) && ctx.Err() == nil {
		err = &transport.UnreachableError{Node: from,
			Err: errors.Join(&transport.StalledError{Node: from, For: before}, cut.Err)}
	}
	return err
}

// fetch is Fetch over one connection.
func (n *node) fetch(ctx context.Context, from string, r transport.Ref, wait time.Duration, into versions.Value) error {
	if !n.open() {
		return transport.ErrClosed
	}
	address := n.address()
	if from != n.opt.Name {
		x, a := n.members.find(from)
		if x == nil {
			return &transport.UnreachableError{Node: from}
		}
		address = a
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	h := n.host(address)
	q, a := n.request(fasthttp.MethodGet, address, "/v1/value?"+query(r)), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(q)
	defer h.release(a)
	if wait > 0 {
		q.Header.Set(headerWait, wait.String())
	}
	if err := h.bulk.Do(q, a); err != nil {
		if errors.Is(err, fasthttp.ErrTimeout) { // fasthttp reports a stall as a time-out
			err = &transport.StalledError{Node: from, For: n.idle()}
		}
		return &transport.UnreachableError{Node: from, Err: err}
	}
	switch a.StatusCode() {
	case fasthttp.StatusOK:
	case fasthttp.StatusNotFound:
		return &transport.NotHereError{Node: from, Ref: r}
	default:
		why, _ := readSmall(a.BodyStream(), reasonMost)
		return &transport.UnreachableError{Node: from, Err: &refusal{status: a.StatusCode(), why: string(why)}}
	}
	return n.receive(ctx, from, r, a, into)
}

// receive decodes the value in an answer, and checks its checksum.
func (n *node) receive(ctx context.Context, from string, r transport.Ref, a *fasthttp.Response,
	into versions.Value) error {
	size := int64(a.Header.ContentLength()) - sumBytes
	if string(a.Header.Peek(headerSum)) != sumLast || size < 0 {
		return &transport.ChecksumError{Node: from, Ref: r}
	}
	if err := n.admit(ctx, from, r, size); err != nil {
		return err
	}
	defer n.budget.give(size)
	stream := &sumReader{r: a.BodyStream(), ctx: ctx}
	value := io.LimitReader(stream, size)
	err := into.Decode(value)
	if err == nil {
		_, err = io.Copy(io.Discard, value) // bytes that Decode leaves are wrong, and count for the checksum
	}
	sum, want := stream.sum, [sumBytes]byte{}
	if err == nil {
		_, err = io.ReadFull(stream, want[:])
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case stream.err != nil:
		return &transport.UnreachableError{Node: from, Err: cmp.Or(stalledBy(from, stream.err), stream.err)}
	case err == nil && sum != binary.LittleEndian.Uint32(want[:]):
		return &transport.ChecksumError{Node: from, Ref: r}
	}
	return err
}

// admit waits until the budget has room for a value. The error is a *transport.TooLargeError if it
// never has, an *transport.UnreachableError if it has none for as long as the sender would wait, or
// the end of ctx.
func (n *node) admit(ctx context.Context, from string, r transport.Ref, size int64) error {
	if n.opt.Memory > 0 && size > n.opt.Memory {
		return fmt.Errorf("transport: node %s sends %v: %w", from, r,
			&transport.TooLargeError{Size: int(min(size, math.MaxInt)), Limit: int(min(n.opt.Memory, math.MaxInt))})
	}
	within, cancel := context.WithTimeoutCause(ctx, 5*n.opt.Timeout, errNoRoom)
	defer cancel()
	err := n.budget.take(within, size)
	if errors.Is(err, errNoRoom) {
		err = &transport.UnreachableError{Node: from, Err: fmt.Errorf("%w of %d bytes of %v", err, size, r)}
	}
	return err
}

// errNoRoom says that the budget has no room for a value.
var errNoRoom = errors.New("others on their way leave no room for a value")

// sumReader computes the checksum of the bytes that it reads, until ctx ends.
type sumReader struct {
	r   io.Reader
	ctx context.Context
	sum uint32
	err error // of r, except io.EOF
}

// Read implements [io.Reader].
func (s *sumReader) Read(b []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	n, err := s.r.Read(b)
	s.sum = crc32.Update(s.sum, castagnoli, b[:n])
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}
