package gpucheck

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// maker makes trials.
type maker[T kernels.Element] struct {
	rnd  *rand.Rand
	edge int // of the largest tile
}

const (
	in    = versions.Reads
	inout = versions.Reads | versions.Writes
)

// tile returns an r×c tile whose elements are normal variates where use holds. The
// others, and the padding, are NaN, which shows what is read that must not be, or
// a number, which shows what is written.
func (m *maker[T]) tile(r, c int, use func(i, j int) bool) *tile[T] {
	stride := max(c, 1) + m.rnd.IntN(4)
	t := &tile[T]{Rows: r, Cols: c, Stride: stride}
	if r > 0 && c > 0 {
		t.Data = make([]T, (r-1)*stride+c)
	}
	unused := T(math.NaN())
	if m.rnd.IntN(2) == 0 {
		unused = 0.625
	}
	for p := range t.Data {
		i, j := p/stride, p%stride
		t.Data[p] = unused
		if j < c && (use == nil || use(i, j)) {
			t.Data[p] = T(m.rnd.NormFloat64())
		}
	}
	return t
}

func nowhere(int, int) bool { return false }

// triangle reports what the uplo triangle holds, for diag = blas.Unit without
// the diagonal.
func triangle(uplo blas.Uplo, diag blas.Diag) func(i, j int) bool {
	return func(i, j int) bool {
		return i == j && diag == blas.NonUnit || uplo == blas.Lower && i > j || uplo == blas.Upper && i < j
	}
}

// norm returns the Frobenius norm, of what is not NaN.
func norm[T kernels.Element](t *tile[T]) float64 {
	sum := 0.0
	for p, x := range t.Data {
		if p%t.Stride < t.Cols && x == x {
			sum += float64(x) * float64(x)
		}
	}
	return math.Sqrt(sum)
}

// shapes are those of results, the last one large, and how long sums are.
func (m *maker[T]) shapes() [][3]int {
	e := m.edge
	return [][3]int{{1, 1, 1}, {5, 3, 7}, {0, 4, 3}, {4, 4, 0}, {64, 64, 64}, {65, 33, 129}, {100, 1, 50}, {1, 90, 31},
		{127, 128, 129}, {e, e - 1, e + 1}}
}

// scalars are pairs of alpha and beta.
func scalars(i int) (alpha, beta float64) {
	pairs := [...][2]float64{{1, 0}, {-1, 1}, {0.75, -0.5}, {0, 0.5}}
	return pairs[i%len(pairs)][0], pairs[i%len(pairs)][1]
}

// transposed returns r×c, exchanged for a transpose.
func transposed(trans blas.Transpose, r, c int) (int, int) {
	if trans != blas.NoTrans {
		return c, r
	}
	return r, c
}

func (m *maker[T]) gemm() (all []*trial[T]) {
	for s, shape := range m.shapes() {
		r, c, k := shape[0], shape[1], shape[2]
		for x, ta := range []blas.Transpose{blas.NoTrans, blas.Trans} {
			for y, tb := range []blas.Transpose{blas.NoTrans, blas.Trans} {
				alpha, beta := scalars(s + 2*x + y)
				ar, ac := transposed(ta, r, k)
				br, bc := transposed(tb, k, c)
				// With β = 0, C is not read.
				filled := nowhere
				if beta != 0 {
					filled = nil
				}
				a, b, out := m.tile(ar, ac, nil), m.tile(br, bc, nil), m.tile(r, c, filled)
				all = append(all, &trial[T]{
					what:   fmt.Sprintf("m=%d n=%d k=%d %c%c alpha=%g beta=%g", r, c, k, ta, tb, alpha, beta),
					params: &kernels.Gemm{TransA: ta, TransB: tb, Alpha: alpha, Beta: beta}, args: []any{a, b, out}, uses: []versions.Use{in, in, inout},
					scale: math.Abs(alpha)*norm(a)*norm(b) + math.Abs(beta)*norm(out),
				})
			}
		}
	}
	a, b, c := m.tile(40, 30, nil), m.tile(30, 50, nil), m.tile(40, 50, nil)
	c.Set(17, 23, T(math.NaN()))
	return append(all, &trial[T]{what: "NaN in C", params: &kernels.Gemm{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: 1, Beta: 1},
		args: []any{a, b, c}, uses: []versions.Use{in, in, inout}, bad: &spot{i: 17, j: 23}})
}

func (m *maker[T]) syrk() (all []*trial[T]) {
	for s, shape := range m.shapes() {
		n, k := shape[0], shape[2]
		for x, uplo := range []blas.Uplo{blas.Lower, blas.Upper} {
			for y, trans := range []blas.Transpose{blas.NoTrans, blas.Trans} {
				alpha, beta := scalars(s + 2*x + y)
				ar, ac := transposed(trans, n, k)
				written := triangle(uplo, blas.NonUnit)
				filled := nowhere
				if beta != 0 {
					filled = written
				}
				a, c := m.tile(ar, ac, nil), m.tile(n, n, filled)
				all = append(all, &trial[T]{
					what:   fmt.Sprintf("n=%d k=%d %c%c alpha=%g beta=%g", n, k, uplo, trans, alpha, beta),
					params: &kernels.Syrk{Uplo: uplo, Trans: trans, Alpha: alpha, Beta: beta}, args: []any{a, c}, uses: []versions.Use{in, inout},
					written: written, scale: math.Abs(alpha)*norm(a)*norm(a) + math.Abs(beta)*norm(c),
				})
			}
		}
	}
	a, c := m.tile(40, 30, nil), m.tile(40, 40, triangle(blas.Lower, blas.NonUnit))
	c.Set(27, 13, T(math.NaN()))
	return append(all, &trial[T]{what: "NaN in C", params: &kernels.Syrk{Uplo: blas.Lower, Trans: blas.NoTrans, Alpha: 1, Beta: 1},
		args: []any{a, c}, uses: []versions.Use{in, inout}, written: triangle(blas.Lower, blas.NonUnit), bad: &spot{i: 27, j: 13}})
}

// triangular returns the trials of trsm, or of trmm.
func (m *maker[T]) triangular(product bool) (all []*trial[T]) {
	make := func(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, alpha float64, r, c int, bad *spot) *trial[T] {
		n := r
		if side == blas.Right {
			n = c
		}
		a, b := m.tile(n, n, triangle(uplo, diag)), m.tile(r, c, nil)
		t := &trial[T]{what: fmt.Sprintf("m=%d n=%d %c%c%c%c alpha=%g", r, c, side, uplo, trans, diag, alpha),
			args: []any{a, b}, uses: []versions.Use{in, inout}}
		if product {
			t.params = &kernels.Trmm{Side: side, Uplo: uplo, Trans: trans, Diag: diag, Alpha: alpha}
			t.scale = math.Abs(alpha) * (norm(a) + math.Sqrt(float64(n))) * norm(b)
		} else {
			t.params = &kernels.Trsm{Side: side, Uplo: uplo, Trans: trans, Diag: diag, Alpha: alpha}
			m.dominant(a, 2)
			t.scale = 4 * math.Abs(alpha) * norm(b)
		}
		if bad != nil {
			t.what, t.bad = t.what+", NaN in B", bad
			b.Set(bad.i, bad.j, T(math.NaN()))
		}
		return t
	}
	x := 0
	for _, side := range []blas.Side{blas.Left, blas.Right} {
		for _, uplo := range []blas.Uplo{blas.Lower, blas.Upper} {
			for _, trans := range []blas.Transpose{blas.NoTrans, blas.Trans} {
				for _, diag := range []blas.Diag{blas.NonUnit, blas.Unit} {
					for _, shape := range m.shapes() {
						if shape[0] == m.edge && diag == blas.Unit {
							continue // the others say enough
						}
						alpha, _ := scalars(x % 3)
						x++
						all = append(all, make(side, uplo, trans, diag, alpha, shape[0], shape[1], nil))
					}
				}
				all = append(all, make(side, uplo, trans, blas.NonUnit, 1, 40, 50, &spot{i: 20, j: 10, alongRow: side == blas.Right, alongCol: side == blas.Left}))
			}
		}
	}
	return all
}

// dominant makes a well conditioned matrix of a: the diagonal large, and the rest
// shrunk.
func (m *maker[T]) dominant(a *tile[T], diagonal float64) {
	shrink := 1 / math.Sqrt(float64(max(a.Rows, 1)))
	for i := range a.Rows {
		for j := range a.Cols {
			x := float64(a.At(i, j))
			switch {
			case i != j:
				a.Set(i, j, T(x*shrink))
			case x == x:
				a.Set(i, j, T(diagonal))
			}
		}
	}
}

func (m *maker[T]) potrf() (all []*trial[T]) {
	for _, uplo := range []blas.Uplo{blas.Lower, blas.Upper} {
		make := func(n int) *trial[T] {
			use := triangle(uplo, blas.NonUnit)
			a := m.tile(n, n, use)
			// The eigenvalues of the rest are within ±2.
			m.dominant(a, 4)
			return &trial[T]{what: fmt.Sprintf("n=%d %c", n, uplo), params: &kernels.Potrf{Uplo: uplo, Offset: 100}, args: []any{a}, uses: []versions.Use{inout},
				written: use, scale: 4 * math.Sqrt(float64(n))}
		}
		for _, n := range []int{0, 1, 2, 7, 33, 64, 100, 129, m.edge} {
			all = append(all, make(n))
		}
		for _, at := range []struct {
			n, i int
			x    float64
		}{{1, 0, 0}, {40, 0, -1}, {40, 17, -1}, {100, 99, -1}, {129, 64, -1}, {40, 17, math.NaN()}, {100, 99, math.NaN()}, {1, 0, math.NaN()}} {
			t := make(at.n)
			t.args[0].(*tile[T]).Set(at.i, at.i, T(at.x))
			t.what += fmt.Sprintf(", %v at %d", at.x, at.i)
			t.minor = 100 + at.i + 1
			all = append(all, t)
		}
	}
	return all
}
