package cpu

import (
	"testing"

	"gonum.org/v1/gonum/blas"
)

// panics returns what f panics with, or nil.
func panics(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

func TestMisuse(t *testing.T) {
	a, b, c := make([]float64, 12), make([]float64, 12), make([]float64, 12)
	for name, r := range float64s() {
		w := make([]float64, r.Work(4))
		gemm := func(tA, tB blas.Transpose, m, n, k, lda, ldb, ldc int) func() {
			return func() { r.Gemm(tA, tB, m, n, k, 1, a, lda, b, ldb, 1, c, ldc, w) }
		}
		syrk := func(u blas.Uplo, tr blas.Transpose, n, k, lda, ldc int) func() {
			return func() { r.Syrk(u, tr, n, k, 1, a, lda, 1, c, ldc, w) }
		}
		trsm := func(s blas.Side, u blas.Uplo, tr blas.Transpose, d blas.Diag, m, n, lda, ldb int) func() {
			return func() { r.Trsm(s, u, tr, d, m, n, 1, a, lda, b, ldb, w) }
		}
		potrf := func(u blas.Uplo, n, lda int) func() {
			return func() { r.Potrf(u, n, a, lda, w) }
		}
		for i, v := range []struct {
			call func()
			want Error
		}{
			{gemm(0, blas.NoTrans, 3, 4, 3, 3, 4, 4), ErrTranspose},
			{gemm(blas.NoTrans, 'x', 3, 4, 3, 3, 4, 4), ErrTranspose},
			{gemm(blas.NoTrans, blas.NoTrans, -1, 4, 3, 3, 4, 4), ErrDim},
			{gemm(blas.NoTrans, blas.NoTrans, 3, 4, -1, 3, 4, 4), ErrDim},
			{gemm(blas.NoTrans, blas.NoTrans, 3, 4, 3, 2, 4, 4), ErrStride},
			{gemm(blas.NoTrans, blas.Trans, 3, 4, 3, 3, 2, 4), ErrStride},
			{gemm(blas.NoTrans, blas.NoTrans, 3, 4, 3, 3, 4, 3), ErrStride},
			{gemm(blas.NoTrans, blas.NoTrans, 4, 4, 3, 3, 4, 4), ErrShort},
			{gemm(blas.Trans, blas.NoTrans, 3, 4, 3, 5, 4, 4), ErrShort},
			{syrk(blas.All, blas.NoTrans, 3, 3, 3, 3), ErrUplo},
			{syrk(blas.Lower, 0, 3, 3, 3, 3), ErrTranspose},
			{syrk(blas.Lower, blas.NoTrans, 3, 3, 2, 3), ErrStride},
			{syrk(blas.Lower, blas.NoTrans, 4, 3, 3, 4), ErrShort},
			{trsm(0, blas.Lower, blas.NoTrans, blas.Unit, 3, 3, 3, 3), ErrSide},
			{trsm(blas.Left, 0, blas.NoTrans, blas.Unit, 3, 3, 3, 3), ErrUplo},
			{trsm(blas.Left, blas.Lower, 0, blas.Unit, 3, 3, 3, 3), ErrTranspose},
			{trsm(blas.Left, blas.Lower, blas.NoTrans, 0, 3, 3, 3, 3), ErrDiag},
			{trsm(blas.Right, blas.Lower, blas.NoTrans, blas.Unit, 3, 4, 4, 4), ErrShort},
			{potrf(0, 3, 3), ErrUplo},
			{potrf(blas.Lower, -1, 3), ErrDim},
			{potrf(blas.Upper, 3, 2), ErrStride},
			{potrf(blas.Upper, 4, 4), ErrShort},
		} {
			if got := panics(v.call); got != v.want {
				t.Errorf("%s, case %d: panic %v, want %v", name, i, got, v.want)
			}
		}
	}
}

// The smallest scratch that Work allows is enough for every shape, and a
// routine that is given none says so.
func TestWork(t *testing.T) {
	p := Portable[float64]()
	for _, d := range []int{1, 5, 12, 13, 31, 33, 129, 300} {
		x, y, z := randomSlice[float64](d*d), randomSlice[float64](d*d), randomSlice[float64](d*d)
		w := make([]float64, p.Work(d))
		p.Gemm(blas.Trans, blas.Trans, d, d, d, 1, x, d, y, d, 1, z, d, w)
		p.Syrk(blas.Upper, blas.Trans, d, d, 1, x, d, 1, z, d, w)
		p.Trsm(blas.Right, blas.Upper, blas.Trans, blas.Unit, d, d, 1, x, d, z, d, w)
		p.Potrf(blas.Upper, d, z, d, w)
	}
	if w := p.Work(1 << 20); w > 200_000 {
		t.Errorf("scratch for large calls is %d elements", w)
	}
	x, y, z := randomSlice[float64](64*64), randomSlice[float64](64*64), make([]float64, 64*64)
	if got := panics(func() { p.Gemm(blas.NoTrans, blas.NoTrans, 64, 64, 64, 1, x, 64, y, 64, 0, z, 64, nil) }); got != ErrWork {
		t.Errorf("gemm without scratch: panic %v", got)
	}
	if got := panics(func() { p.Trsm(blas.Left, blas.Lower, blas.NoTrans, blas.Unit, 4, 4, 1, x, 64, y, 64, nil) }); got != ErrWork {
		t.Errorf("trsm without scratch: panic %v", got)
	}
}

// A diagonal whose reciprocal overflows, or is denormal, is divided by.
// Libraries multiply by the reciprocal, so this is of Packed alone.
func TestTrsmReciprocal(t *testing.T) {
	for _, d := range []float64{0x1p-1030, 0x1p1023, 0x1.8p-1074 * 4} {
		for _, p := range []*Packed[float64]{Portable[float64](), tiny[float64](), wide[float64]()} {
			const n = 9
			a, b := make([]float64, n*n), make([]float64, n*3)
			for i := range n {
				a[i*n+i] = d
			}
			for i := range b {
				b[i] = 0.5 * d
			}
			p.Trsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, n, 3, 1, a, n, b, 3, make([]float64, p.Work(n)))
			for i, x := range b {
				if want := 0.5; x != want {
					t.Fatalf("diagonal %g: x[%d] = %v, want %v", d, i, x, want)
				}
			}
		}
	}
}
