package blocked

import (
	"github.com/tessera-la/tessera/kernels"
	"gonum.org/v1/gonum/blas"
)

// Reflectors is the triangular factors T of the QR factorization of an m×n
// matrix in slices of nb columns,
//
//	Q = H(0)·H(1)·…,  H = I − V·T·Vᵀ,
//
// with block reflectors of ib columns, which begin anew with every slice. V is
// in the matrix, below its diagonal.
type Reflectors[T Element] struct {
	m, n, nb, ib int
	tiles        []Tile[T] // one for each slice with reflectors
}

// NewReflectors returns room for the factors of an m×n matrix in slices of nb
// columns. It panics with ErrShape if m or n is negative, or nb or ib less than
// 1.
func NewReflectors[T Element](m, n, nb, ib int) *Reflectors[T] {
	if m < 0 || n < 0 || nb < 1 || ib < 1 {
		panic(ErrShape)
	}
	t := &Reflectors[T]{m: m, n: n, nb: nb, ib: min(ib, nb), tiles: make([]Tile[T], count(min(m, n), nb))}
	for k := range t.tiles {
		t.tiles[k] = newTile[T](t.ib, min(nb, n-k*nb))
	}
	return t
}

// Len returns the number of elementary reflectors, min(m, n).
func (t *Reflectors[T]) Len() int { return min(t.m, t.n) }

// IB returns the width of the block reflectors.
func (t *Reflectors[T]) IB() int { return t.ib }

// Tile returns the triangular factors of slice k, for a kernel that is called
// without a task. It panics with ErrIndex if there is no such slice.
func (t *Reflectors[T]) Tile(k int) *Tile[T] {
	if uint(k) >= uint(len(t.tiles)) {
		panic(ErrIndex)
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
		panic(ErrShape)
	}
}

// SetTau computes the triangular factors from the elementary reflectors in v,
// as LAPACK's xGEQRF leaves them below the diagonal, and the factors of
// [Reflectors.Len] elements. It waits for the job: v must not be written by
// another task.
//
// The columns of T follow from those before and the inner products G = VᵀV,
// which are most of the work and are done by tasks:
//
//	T(0:j, j) = −tau(j)·T(0:j, 0:j)·G(0:j, j),  T(j, j) = tau(j).
//
// It panics with ErrShape if t was not made for v, or tau is of another length.
//
// Reference: LAPACK xLARFT.
func (p *Program[T]) SetTau(t *Reflectors[T], v *Slices[T], tau []T) error {
	t.fits(v)
	if len(tau) != t.Len() {
		panic(ErrShape)
	}
	first := &kernels.Syrk{Uplo: blas.Upper, Trans: blas.Trans, Alpha: 1}
	more := &kernels.Syrk{Uplo: blas.Upper, Trans: blas.Trans, Alpha: 1, Beta: 1}
	type block struct{ k, c, i, n int } // slice, column in it and in the matrix, width
	var blocks []block
	var products []*Tile[T]
	for k := range t.tiles {
		for c := 0; c < min(t.nb, t.Len()-k*t.nb); c += t.ib {
			i := k*t.nb + c
			b := block{k, c, i, min(t.ib, t.nb-c, t.Len()-i)}
			corner, g := newTile[T](b.n, b.n), newTile[T](b.n, b.n)
			whole := &v.tiles[k]
			for r := range b.n {
				copy(corner.Row(r)[:r], whole.Row(i + r)[c:])
				corner.Set(r, r, 1)
			}
			product := p.datum("G", &g)
			p.submit(p.ops.Syrk, first, 0, in(p.datum("V", &corner)), inout(product))
			if rest := v.rows - i - b.n; rest > 0 {
				below := &Tile[T]{Rows: rest, Cols: b.n, Stride: whole.Stride, Data: whole.Data[(i+b.n)*whole.Stride+c:]}
				p.submit(p.ops.Syrk, more, 0, in(p.datum("V", below)), inout(product))
			}
			blocks, products = append(blocks, b), append(products, &g)
		}
	}
	if err := p.job.Wait(); err != nil {
		return err
	}
	for j, b := range blocks {
		triangle(&t.tiles[b.k], b.c, products[j], tau[b.i:b.i+b.n])
	}
	return nil
}

// triangle computes the triangular factor from column c of t on.
func triangle[T Element](t *Tile[T], c int, g *Tile[T], tau []T) {
	z := make([]T, len(tau))
	for j, s := range tau {
		for i := range j {
			z[i] = -s * g.At(i, j)
		}
		for i := range j {
			var sum T
			for l, x := range t.Row(i)[c+i : c+j] {
				sum += x * z[i+l]
			}
			t.Set(i, c+j, sum)
		}
		t.Set(j, c+j, s)
	}
}
