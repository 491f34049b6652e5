package qr

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Reflectors holds the triangular factors T of the QR factorization of an m×n
// matrix in slices of nb columns,
//
//	Q = H(0)·H(1)·…,  H = I − V·T·Vᵀ,
//
// with block reflectors of ib columns, which begin anew with every slice. V is
// in the matrix, below its diagonal.
type Reflectors[T blocked.Element] struct {
	m, n, nb, ib int
	tiles        []blocked.Tile[T] // one for each slice with reflectors
}

// NewReflectors returns room for the factors of an m×n matrix in slices of nb
// columns. It panics with ErrShape if m or n is negative, or nb or ib less than
// 1.
func NewReflectors[T blocked.Element](m, n, nb, ib int) *Reflectors[T] {
	if m < 0 || n < 0 || nb < 1 || ib < 1 {
		panic(blocked.ErrShape)
	}
	t := &Reflectors[T]{m: m, n: n, nb: nb, ib: min(ib, nb), tiles: make([]blocked.Tile[T], tiles.Count(min(m, n), nb))}
	for k := range t.tiles {
		t.tiles[k] = tiles.NewTile[T](t.ib, min(nb, n-k*nb))
	}
	return t
}

// Len returns the number of elementary reflectors, min(m, n).
func (t *Reflectors[T]) Len() int { return min(t.m, t.n) }

// IB returns the width of the block reflectors.
func (t *Reflectors[T]) IB() int { return t.ib }

// Tile returns the triangular factors of slice k, for a kernel that is called
// without a task. It panics with ErrIndex if there is no such slice.
func (t *Reflectors[T]) Tile(k int) *blocked.Tile[T] {
	if uint(k) >= uint(len(t.tiles)) {
		panic(blocked.ErrIndex)
	}
	return &t.tiles[k]
}

// Tau writes the factors of the elementary reflectors, H = I − tau·v·vᵀ, to dst,
// which has [Reflectors.Len] elements: LAPACK's tau.
func (t *Reflectors[T]) Tau(dst []T) {
	for i := range dst[:t.Len()] {
		c := i % t.nb
		dst[i] = t.tiles[i/t.nb].At(c%t.ib, c)
	}
}

// fits panics with ErrShape unless t is made for v.
func (t *Reflectors[T]) fits(v *Slices[T]) {
	if v.byRows || v.rows != t.m || v.cols != t.n || v.nb != t.nb {
		panic(blocked.ErrShape)
	}
}

// SetTau submits the computation of the triangular factors from the elementary
// reflectors in v, as LAPACK's xGEQRF leaves them below the diagonal, and their factors
// tau, of [Reflectors.Len] elements. Until the job's Wait neither v nor tau may change.
//
// Each column of T follows from the columns before it and the inner products G = VᵀV,
// which are most of the work: see [op.Larft].
//
// It panics with ErrShape if t was not made for v, or tau is of another length.
//
// Reference: LAPACK xLARFT.
func SetTau[T kernels.Element](p *blocked.Program[T], t *Reflectors[T], v *Slices[T], tau []T) error {
	t.fits(v)
	if len(tau) != t.Len() {
		panic(blocked.ErrShape)
	}
	tasks := submit.Of(p)
	data := factors(tasks, t)
	for k := range t.tiles {
		for c := 0; c < min(t.nb, t.Len()-k*t.nb); c += t.ib {
			i := k*t.nb + c
			n := min(t.ib, t.nb-c, t.Len()-i)
			g := innerProducts(tasks, v, k, c, n)
			row := &blocked.Tile[T]{Rows: 1, Cols: n, Stride: n, Data: tau[i : i+n]}
			tasks.Submit(tasks.Op("larft"), &op.Larft{Column: c}, 0, submit.In(g), submit.In(tasks.Datum("tau", row)), submit.InOut(&data[k]))
		}
	}
	return tasks.Err
}

// innerProducts submits the computation of G = VᵀV for the n reflectors from column c of slice k on, and returns G.
func innerProducts[T blocked.Element](tasks *submit.Tasks[T], v *Slices[T], k, c, n int) *graph.Datum {
	slice, i := &v.tiles[k], k*v.nb+c
	rows := func(first, count int) graph.Operand {
		return submit.In(tasks.Datum("V", &blocked.Tile[T]{Rows: count, Cols: n, Stride: slice.Stride, Data: slice.Data[first*slice.Stride+c:]}))
	}
	// The first n rows of V are a unit lower triangle, and R is stored above it: the product is of a copy.
	triangle, product := tiles.NewTile[T](n, n), tiles.NewTile[T](n, n)
	top, g := tasks.Datum("V", &triangle), tasks.Datum("G", &product)
	tasks.Submit(tasks.Op("lacpy"), &op.Lacpy{Uplo: blas.Lower}, 0, rows(i, n), submit.Out(top))
	tasks.Submit(tasks.Op("laset"), &op.Laset[T]{Uplo: blas.Upper, Beta: 1}, 0, submit.InOut(top))
	tasks.Submit(tasks.Op("syrk"), &op.Syrk[T]{Uplo: blas.Upper, Trans: blas.Trans, Alpha: 1}, 0, submit.In(top), submit.InOut(g))
	if rest := v.rows - i - n; rest > 0 {
		tasks.Submit(tasks.Op("syrk"), &op.Syrk[T]{Uplo: blas.Upper, Trans: blas.Trans, Alpha: 1, Beta: 1}, 0, rows(i+n, rest), submit.InOut(g))
	}
	return g
}

// factors returns t as data.
func factors[T blocked.Element](p *submit.Tasks[T], t *Reflectors[T]) []graph.Datum {
	return p.Data(t, "T", len(t.tiles), 1, func(k, _ int) (versions.Value, int) { return &t.tiles[k], 0 })
}
