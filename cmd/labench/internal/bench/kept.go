package bench

import (
	"context"

	"github.com/tessera-la/tessera/la"
)

// kept says where a factorization keeps its state between runs of the program.
type kept struct {
	keep    la.Checkpoint
	resumed int // panels that an earlier run had factored
}

// factorization is a factorization of la, of matrices from an S.
type factorization[S any] interface {
	FactorizeContext(ctx context.Context, a S) error
	FactorizeCheckpoint(ctx context.Context, a S, keep la.Checkpoint) (resumed int, err error)
}

// factor factors a. It saves states if there is a directory for them.
func factor[S any](ctx context.Context, k *kept, f factorization[S], a S) (err error) {
	if k.keep.Dir == "" {
		return f.FactorizeContext(ctx, a)
	}
	k.resumed, err = f.FactorizeCheckpoint(ctx, a, k.keep)
	return err
}

// describe stores the progress of an earlier run.
func (k *kept) describe(r *Result) { r.Resumed = k.resumed }
