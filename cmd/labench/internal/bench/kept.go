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
	Factorize(a S, opts ...la.CallOption) error
}

// factor factors a. It saves states if there is a directory for them.
func factor[S any](ctx context.Context, k *kept, f factorization[S], a S) error {
	return f.Factorize(a, la.WithContext(ctx), k.option())
}

// option returns the option of a call that saves states, nil if there is no directory for them.
func (k *kept) option() la.CallOption {
	if k.keep.Dir == "" {
		return nil
	}
	keep := k.keep
	keep.Resumed = &k.resumed
	return keep
}

// describe stores the progress of an earlier run.
func (k *kept) describe(r *Result) { r.Resumed = k.resumed }
