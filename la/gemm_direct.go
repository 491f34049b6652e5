package la

import (
	"context"
	"sync"
	"unsafe"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// product is the call of a kernel for C = alpha·op(A)·op(B) + beta·C on three matrices in memory,
// with all that it points to. Allocating these for a small product would take longer than
// multiplying.
type product[T Element] struct {
	call   versions.Call
	params op.Gemm[T]
	tiles  [3]kernels.Tile[T] // A, B, C
	args   [3]any
	work   versions.Workspace
}

// newProduct returns a product whose call refers to its other fields.
func newProduct[T Element]() *product[T] {
	p := new(product[T])
	for i := range p.tiles {
		p.args[i] = &p.tiles[i]
	}
	p.call.Params, p.call.Args, p.call.Work = &p.params, p.args[:], &p.work
	return p
}

// products64 and products32 keep products from call to call. Between calls a product holds only
// scratch.
var (
	products64 = sync.OnceValue(newProducts[float64])
	products32 = sync.OnceValue(newProducts[float32])
)

func newProducts[T Element]() *sync.Pool {
	return &sync.Pool{New: func() any { return newProduct[T]() }}
}

func products[T Element]() *sync.Pool {
	return scalar.Pick[T](products32, products64)()
}

// directGemm computes a product with one kernel on the calling goroutine. It returns false, and
// does nothing, unless all matrices are in row-major memory and C shares none with the others.
func directGemm[T Element](ctx context.Context, e *Engine, transA, transB blas.Transpose, alpha T, a, b Source[T],
	beta T, c Sink[T]) (done bool, err error) {
	pool := products[T]()
	p := pool.Get().(*product[T])
	defer pool.Put(p)
	ta, okA := asTile[T](a, &p.tiles[0])
	tb, okB := asTile[T](b, &p.tiles[1])
	tc, okC := asTile[T](c, &p.tiles[2])
	if okA && okB && okC && tc == blas.NoTrans && disjoint(&p.tiles[0], &p.tiles[2]) &&
		disjoint(&p.tiles[1], &p.tiles[2]) {
		p.params = op.Gemm[T]{TransA: scalar.Compose[T](transA, ta), TransB: scalar.Compose[T](transB, tb),
			Alpha: alpha, Beta: beta}
		p.call.Ctx = ctx
		done, err = true, engine.Invoke(e, engine.Ops[T](e).Op("gemm"), &p.call)
		p.call.Ctx = nil
	}
	for i := range p.tiles {
		p.tiles[i].Data = nil
	}
	return done, err
}

// asTile makes t the memory of a, or that of the transpose of a: the transposition says which. It
// returns false if a is not in row-major memory, or its Data is too short.
func asTile[T Element](a Source[T], t *kernels.Tile[T]) (blas.Transpose, bool) {
	var g blocked.General[T]
	trans := blas.NoTrans
	switch a := any(a).(type) {
	case blocked.General[T]:
		g = a
	case *mat.Dense:
		g = general[T](a)
	case mat.Transpose:
		d, ok := a.Matrix.(*mat.Dense)
		if !ok {
			return trans, false
		}
		g, trans = general[T](d), blas.Trans
	default:
		return trans, false
	}
	r, c, s := g.Rows, g.Cols, g.Stride
	if r <= 0 || c <= 0 || s < c || len(g.Data) < c || r-1 > (len(g.Data)-c)/s {
		return trans, false
	}
	*t = kernels.Tile[T]{Rows: r, Cols: c, Stride: s, Data: g.Data[:(r-1)*s+c]}
	return trans, true
}

// general returns the memory of d; nothing if T is not float64.
func general[T Element](d *mat.Dense) (g blocked.General[T]) {
	r := d.RawMatrix()
	if data, ok := any(&r.Data).(*[]T); ok {
		g = blocked.General[T]{Rows: r.Rows, Cols: r.Cols, Stride: r.Stride, Data: *data}
	}
	return g
}

// disjoint reports whether the memory ranges of a and c, from the first to the last element, do
// not overlap.
func disjoint[T Element](a, c *kernels.Tile[T]) bool {
	size := unsafe.Sizeof(*new(T))
	p, q := uintptr(unsafe.Pointer(unsafe.SliceData(a.Data))), uintptr(unsafe.Pointer(unsafe.SliceData(c.Data)))
	return p+uintptr(len(a.Data))*size <= q || q+uintptr(len(c.Data))*size <= p
}
