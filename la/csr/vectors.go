package csr

import (
	"context"
	"time"

	"github.com/tessera-la/tessera/la/krylov"
)

// Vectors implements krylov.Keeper. The vectors of an iteration are on the nodes of the blocks:
//
//	            node 1                 node 2
//	A           block 0    block 1     block 2    block 3
//	m elements  part 0     part 1      part 2     part 3       each on the node of its block
//	n elements  the same if m = n, or else one part on some node
//
// For a product, a node needs the elements of each part between the first and the last column that its
// blocks have there. It fetches them from the node that has the part: see halo. This process handles only b
// and x, at the beginning and at the end, and some dozen numbers per block for each dot product.
func (a *Distributed) Vectors(ctx context.Context, operator krylov.Operator) (krylov.Vectors, error) {
	if operator != krylov.Operator(a) {
		return nil, nil
	}
	a.used()
	v := &residents{a: a, rows: &layout{}}
	v.cols = v.rows
	for b := range a.blocks {
		if lo, hi := a.Rows(b); lo < hi {
			v.rows.parts = append(v.rows.parts, part{lo, hi, b})
		}
	}
	if a.rows != a.cols {
		v.cols = &layout{parts: []part{{0, a.cols, -1}}}
	} else if err := a.span(ctx, v.rows.parts); err != nil {
		return nil, err
	}
	// The iteration itself checks for the end of ctx between two steps. The context of the job ends later.
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(finishing):
			cancel(context.Cause(ctx))
		case <-inner.Done():
		}
	})
	v.close = func() {
		stop()
		cancel(nil)
	}
	v.tasks, v.blocks = tasks{job: a.rt.NewJob(inner)}, a.Data(1)
	if a.halo != nil {
		v.receive()
	}
	return v, nil
}

// finishing is how long tasks may run after the end of the context. Meanwhile the current iteration can
// finish, and x comes back to this process.
const finishing = 5 * time.Second
