package la

import (
	"context"
	"math"
	"sync"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/op"
)

// Small problems take a short way, on which there is nothing but the arithmetic: no task, no selection of versions, no
// conversion, no memory that is not used again.
//
//	Factorize, SolveTo, Mul … ─► directly ─┬─► a desk: kernels on the caller's memory and the value's own tile ─► done
//	                                       └─► nil, or not done ─► the way of all other problems
//
// Whatever is not plain makes a direct computation return "not done" before it has changed a result: matrices that are
// not in memory, elements that are not finite or near the ends of the range, shapes that do not fit, a matrix that may
// be singular to working precision, an engine that records or chooses. The other way then finds out what it is. So
// errors are made there only, and a direct computation has none of its own but for a factor that does not exist.

// smallOrder is the largest dimension of a small problem. Up to there the long way takes more than a tenth of the time of
// a factorization (BenchmarkSmall, Zen 4).
const smallOrder = 128

// directly returns a desk for a problem whose largest dimension is given, or nil if the problem is not small or e has to
// see it. The caller calls leave.
func directly[T Element](ctx context.Context, e *Engine, largest int) *desk[T] {
	if !isDirect(ctx, e, largest) {
		return nil
	}
	return takeDesk[T]()
}

// isDirect reports whether directly returns a desk.
func isDirect(ctx context.Context, e *Engine, largest int) bool {
	return largest > 0 && largest <= smallOrder && e.Plain(ctx, largest)
}

// tallRows is the largest number of rows of a small least-squares problem. Beyond it an engine is not plain.
const tallRows = 240

// directlyTall is directly for a least-squares problem with an m×n matrix, m ≥ n.
func directlyTall[T Element](ctx context.Context, e *Engine, m, n int) *desk[T] {
	if n == 0 || n > smallOrder || m > tallRows || !e.Plain(ctx, m) {
		return nil
	}
	return takeDesk[T]()
}

// takeDesk returns a desk. The caller calls leave.
func takeDesk[T Element]() *desk[T] { return desks[T]().Get().(*desk[T]) }

func newDesk[T Element]() *desk[T] {
	d := &desk[T]{Small: op.NewSmall[T](), columns: make([]float64, smallOrder), diagonal: make([]float64, smallOrder),
		vector: make([]T, smallOrder), ipiv: make([]int, smallOrder)}
	d.spectral = op.NewSpectral[T]()
	d.triangles = newSubstitution[T](nil, nil)
	// Made once, as each is an allocation.
	d.inverse.apply = func(x ...[]float64) error { return d.eachVector(x, false) }
	d.inverse.transposed = func(x ...[]float64) error { return d.eachVector(x, true) }
	d.root = func(x ...[]float64) error {
		for _, x := range x {
			v := d.enter(x)
			d.Trsm(false, false, false, d.by.n, 1, d.by.a, d.by.ld, v, 1)
			d.back(x, v)
		}
		return nil
	}
	d.at = func(i, j int) float64 { return math.Abs(float64(d.by.a[i*d.by.ld+j])) }
	d.verdict = func() error {
		err := checkCondition[T](d.of, d.inverse)
		if err == nil && d.by.form == formR {
			err = checkColumns[T](d.at, d.of, d.inverse)
		}
		return err
	}
	return d
}

var (
	desks64 = &sync.Pool{New: func() any { return newDesk[float64]() }}
	desks32 = &sync.Pool{New: func() any { return newDesk[float32]() }}
)

// desks keeps desks from call to call.
func desks[T Element]() *sync.Pool { return scalar.Pick[T](desks32, desks64) }

// leave ends the use of d.
func (d *desk[T]) leave() {
	if d.by.a != nil {
		d.by, d.of = factors[T]{}, norms{}
	}
	d.triangles.ctx, d.triangles.engine, d.triangles.step, d.triangles.triangle[0] = nil, nil, step[T]{}, nil
	desks[T]().Put(d)
}
