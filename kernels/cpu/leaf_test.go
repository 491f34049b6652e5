package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/internal/sorted"
	"github.com/tessera-la/tessera/kernels/cpu/isa"
	"github.com/tessera-la/tessera/kernels/cpu/native"
	"gonum.org/v1/gonum/blas"
)

// withLeaves is the portable routines with the leaves of every instruction
// set that this processor and build have.
func withLeaves[T Element]() map[string]*Packed[T] {
	all := map[string]*Packed[T]{}
	add := func(name string, l leaves[T]) {
		if !l.set() {
			return
		}
		for suffix, leaf := range map[string]int{"": 512, ", leaf 48": 48, ", leaf 5": 5} {
			p := Portable[T]()
			p.leaves = l
			p.Leaf = leaf
			all[name+suffix] = p
		}
	}
	for _, set := range native.Here() {
		add(set.Name, leavesOf(isa.Of[T](set)))
	}
	return all
}

// The leaves agree with the portable routines in every case, for every
// remainder of rows, vectors and strips, and touch nothing else.
func TestLeaves(t *testing.T) {
	t.Run("float64", testLeaves[float64])
	t.Run("float32", testLeaves[float32])
}

func testLeaves[T Element](t *testing.T) {
	var sizes []int
	for n := 1; n <= 30; n++ {
		sizes = append(sizes, n)
	}
	sizes = append(sizes, 47, 48, 49, 63, 71, 96, 97, 100, 131)
	sizes = append(sizes, 259) // packed
	rnd := rand.New(rand.NewPCG(1, 2))
	ref := Portable[T]()
	for name, p := range sorted.Map(withLeaves[T]()) {
		for _, n := range sizes {
			for c := range 16 {
				bit := func(i int) bool { return c>>i&1 == 1 }
				side, uplo, trans, diag := blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit
				m, k := n, sizes[rnd.IntN(len(sizes))]
				if n > 256 {
					k = 97
				}
				if bit(0) {
					side = blas.Right
					m, k = k, n
				}
				if bit(1) {
					uplo = blas.Upper
				}
				if bit(2) {
					trans = blas.Trans
				}
				if bit(3) {
					diag = blas.Unit
				}
				lda, ldb := n+rnd.IntN(3), k+rnd.IntN(3)
				if n > 256 {
					lda = 1024 // columns in the same sets of the cache
				}
				a := triangleOf[T](rnd, uplo, n, lda)
				b := randomSlice[T](m * ldb)
				if rnd.IntN(4) == 0 {
					tinyPivot(rnd.IntN(n), n, a, lda, b, ldb, m, k, side)
				}
				got, want := append([]T(nil), b...), append([]T(nil), b...)
				p.Trsm(side, uplo, trans, diag, m, k, 1, a, lda, got, ldb, dirty[T](p.Work(max(m, k))))
				ref.Trsm(side, uplo, trans, diag, m, k, 1, a, lda, want, ldb, dirty[T](ref.Work(max(m, k))))
				if i := differ(got, want); i >= 0 {
					t.Fatalf("%s: trsm %c%c%c%c m=%d n=%d: element (%d, %d) is %v, want %v", name, side, uplo, trans, diag, m, k, i/ldb, i%ldb, got[i], want[i])
				}
			}
			for _, uplo := range []blas.Uplo{blas.Lower, blas.Upper} {
				lda := n + rnd.IntN(3)
				a := triangleOf[T](rnd, uplo, n, lda)
				for i := range n {
					a[i*lda+i] = T(4 + rnd.Float64())
				}
				got, want := append([]T(nil), a...), append([]T(nil), a...)
				g := p.Potrf(uplo, n, got, lda, dirty[T](p.Work(n)))
				w := ref.Potrf(uplo, n, want, lda, dirty[T](ref.Work(n)))
				if i := differ(got, want); i >= 0 || g != w {
					t.Fatalf("%s: potrf %c n=%d: info %d, want %d; first difference at %d", name, uplo, n, g, w, i)
				}
				for range 3 {
					bad := rnd.IntN(n)
					copy(got, a)
					got[bad*lda+bad] = []T{-1, 0, T(math.NaN()), T(math.Inf(-1))}[rnd.IntN(4)]
					if g := p.Potrf(uplo, n, got, lda, dirty[T](p.Work(n))); g != bad+1 {
						t.Fatalf("%s: potrf %c n=%d: info %d, want %d", name, uplo, n, g, bad+1)
					}
				}
			}
		}
	}
}

// triangleOf returns a well-conditioned triangle with NaN in the other one and
// between n and lda.
func triangleOf[T Element](rnd *rand.Rand, uplo blas.Uplo, n, lda int) []T {
	a := make([]T, n*lda)
	for i := range a {
		a[i] = T(math.NaN())
	}
	for i := range n {
		lo, hi := triangleRow(uplo, i, n)
		for j := lo; j < hi; j++ {
			a[i*lda+j] = T(rnd.NormFloat64() / math.Sqrt(float64(2*n)))
		}
		a[i*lda+i] = T(1 + rnd.Float64())
	}
	return a
}

// tinyPivot makes element i of A's diagonal so small that its reciprocal is
// infinite, alone in its row and column, and its part of B as small.
func tinyPivot[T Element](i, n int, a []T, lda int, b []T, ldb, m, k int, side blas.Side) {
	tiny := T(0x1p-130)
	if T(0x1p-1030) != 0 {
		tiny = T(0x1p-1030)
	}
	for j := range n {
		for _, o := range []int{i*lda + j, j*lda + i} {
			if a[o] == a[o] {
				a[o] = 0
			}
		}
	}
	a[i*lda+i] = tiny
	if side == blas.Left {
		for j := range k {
			b[i*ldb+j] *= tiny
		}
		return
	}
	for j := range m {
		b[j*ldb+i] *= tiny
	}
}

// dirty returns scratch full of NaN.
func dirty[T Element](n int) []T {
	return repeated(n, T(math.NaN()))
}

// repeated returns n elements: pattern again and again.
func repeated[T Element](n int, pattern ...T) []T {
	w := make([]T, n)
	for done := copy(w, pattern); done < n; done *= 2 {
		copy(w[done:], w[:done])
	}
	return w
}

// differ returns the first index at which x and y are not about the same, or
// -1.
func differ[T Element](x, y []T) int {
	tol := 1e-10
	if T(1)+T(tol) == 1 {
		tol = 1e-3
	}
	for i, v := range x {
		w := float64(y[i])
		if d := math.Abs(float64(v) - w); !(d <= tol*(1+math.Abs(w))) && (v == v || w == w) {
			return i
		}
	}
	return -1
}
