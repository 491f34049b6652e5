package cuda

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
)

type element interface{ float32 | float64 }

func typeOf[T element]() Type {
	if _, ok := any(T(0)).(float32); ok {
		return F32
	}
	return F64
}

// columns is a column-major matrix, of which element (i, j) is x[i+j*ld]. What
// is not of the matrix, and what is not in the triangle uplo unless that is 0, is
// NaN.
type columns[T element] struct {
	m, n, ld int
	x        []T
}

func randomColumns[T element](rnd *rand.Rand, m, n int, uplo blas.Uplo) columns[T] {
	c := columns[T]{m, n, max(1, m) + rnd.IntN(3), nil}
	c.x = make([]T, c.ld*n+1)
	for i := range c.x {
		c.x[i] = nan[T]()
	}
	for j := range n {
		for i := range m {
			if uplo == 0 || uplo == blas.Lower && i >= j || uplo == blas.Upper && i <= j {
				c.x[i+j*c.ld] = T(rnd.NormFloat64())
			}
		}
	}
	return c
}

func (c columns[T]) at(i, j int) float64 { return float64(c.x[i+j*c.ld]) }

// full returns op(A) as a function, with zeros for the other triangle.
func (c columns[T]) full(trans blas.Transpose, uplo blas.Uplo, diag blas.Diag) func(i, j int) float64 {
	return func(i, j int) float64 {
		if trans != blas.NoTrans {
			i, j = j, i
		}
		switch {
		case i == j && diag == blas.Unit:
			return 1
		case uplo == blas.Lower && i < j || uplo == blas.Upper && i > j:
			return 0
		}
		return c.at(i, j)
	}
}

// product returns element (i, j) of A·B.
func product(k int, a, b func(i, j int) float64) func(i, j int) float64 {
	return func(i, j int) (s float64) {
		for l := range k {
			s += a(i, l) * b(l, j)
		}
		return s
	}
}

// bench is a device with what the tests of its routines need.
type bench[T element] struct {
	t   *testing.T
	d   Device
	s   Stream
	typ Type
}

func (b bench[T]) up(c columns[T]) Matrix { return Matrix{upload(b.t, b.d, b.s, c.x), c.ld} }

// same checks the result at p, which was c: want where written holds, and
// elsewhere what it was.
func (b bench[T]) same(what string, err error, p Matrix, c columns[T], written func(i, j int) bool, want func(i, j int) float64) {
	b.t.Helper()
	if err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
	got := make([]T, len(c.x))
	download(b.t, b.s, got, p.Data)
	tol := 1e-12
	if b.typ == F32 {
		tol = 1e-4
	}
	for q, x := range got {
		i, j := q%c.ld, q/c.ld
		w := float64(c.x[q])
		if i < c.m && j < c.n && written(i, j) {
			w = want(i, j)
		}
		if math.IsNaN(w) != math.IsNaN(float64(x)) || math.Abs(float64(x)-w) > tol*(1+math.Abs(w)) {
			b.t.Fatalf("%s: (%d, %d) is %v, want %v", what, i, j, x, w)
		}
	}
}

func all(i, j int) bool { return true }

func within(uplo blas.Uplo) func(i, j int) bool {
	return func(i, j int) bool { return uplo == blas.Lower && i >= j || uplo == blas.Upper && i <= j }
}

// TestSimRoutines holds the routines against their definitions.
func TestSimRoutines(t *testing.T) {
	t.Run("f32", simRoutinesTest[float32])
	t.Run("f64", simRoutinesTest[float64])
}

var (
	transposes = [...]blas.Transpose{blas.NoTrans, blas.Trans}
	uplos      = [...]blas.Uplo{blas.Lower, blas.Upper}
)

func simRoutinesTest[T element](t *testing.T) {
	d, s := simulated(t, SimOptions{})
	bench[T]{t, d, s, typeOf[T]()}.routines()
}

// routines holds all routines against their definitions.
func (b bench[T]) routines() {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 4 {
		m, n, k := rnd.IntN(9), rnd.IntN(9), rnd.IntN(9)
		for _, trans := range transposes {
			for _, tb := range transposes {
				b.gemm(rnd, trans, tb, m, n, k)
				b.gemmBatched(rnd, trans, tb, m+1, n+1, k+1)
			}
			for _, uplo := range uplos {
				b.syrk(rnd, uplo, trans, n, k)
				for _, side := range [...]blas.Side{blas.Left, blas.Right} {
					for _, diag := range [...]blas.Diag{blas.Unit, blas.NonUnit} {
						b.triangular(rnd, side, uplo, trans, diag, m, n)
						b.trsmBatched(rnd, side, uplo, trans, diag, m+1, n+1)
					}
				}
			}
		}
		b.geam(rnd, m, n)
	}
	for _, uplo := range uplos {
		for n := range 8 {
			b.potrf(rnd, uplo, n)
		}
	}
	b.copyVectors(rnd)
	for _, d := range [...][2]int{{0, 0}, {0, 3}, {4, 0}, {1, 1}, {5, 5}, {9, 4}, {4, 9}, {40, 33}} {
		b.geqrf(rnd, d[0], d[1])
		b.getrf(rnd, d[0], d[1])
	}
	for _, n := range [...]int{0, 1, 2, 5, 31, 32, 33, 70} {
		b.larft(rnd, n)
	}
	b.upper(rnd, 5, 4)
	b.upper(rnd, 3, 6)
	b.upper(rnd, 0, 2)
}

func (b bench[T]) gemm(rnd *rand.Rand, ta, tb blas.Transpose, m, n, k int) {
	b.t.Helper()
	am, an := applied(ta, m, k)
	bm, bn := applied(tb, k, n)
	x, y, z := randomColumns[T](rnd, am, an, 0), randomColumns[T](rnd, bm, bn, 0), randomColumns[T](rnd, m, n, 0)
	p := b.up(z)
	prod := product(k, x.full(ta, 0, 0), y.full(tb, 0, 0))
	what := fmt.Sprintf("gemm %c%c m=%d n=%d k=%d", ta, tb, m, n, k)
	err := b.s.Gemm(b.typ, ta, tb, m, n, k, 0.5, b.up(x), b.up(y), -2, p)
	b.same(what, err, p, z, all, func(i, j int) float64 { return 0.5*prod(i, j) - 2*z.at(i, j) })

	// What is not to be read may be NaN, or nowhere.
	err = b.s.Gemm(b.typ, ta, tb, m, n, k, 0, Matrix{0, x.ld}, Matrix{0, y.ld}, 3, p)
	b.same(what+" alpha=0", err, p, z, all, func(i, j int) float64 { return 3 * (0.5*prod(i, j) - 2*z.at(i, j)) })
	for i := range z.x {
		z.x[i] = nan[T]()
	}
	p = b.up(z)
	err = b.s.Gemm(b.typ, ta, tb, m, n, k, 1, b.up(x), b.up(y), 0, p)
	b.same(what+" beta=0", err, p, z, all, prod)
}

func (b bench[T]) syrk(rnd *rand.Rand, uplo blas.Uplo, trans blas.Transpose, n, k int) {
	b.t.Helper()
	am, an := applied(trans, n, k)
	x, z := randomColumns[T](rnd, am, an, 0), randomColumns[T](rnd, n, n, uplo)
	p := b.up(z)
	a := x.full(trans, 0, 0)
	prod := product(k, a, func(i, j int) float64 { return a(j, i) })
	what := fmt.Sprintf("syrk %c%c n=%d k=%d", uplo, trans, n, k)
	err := b.s.Syrk(b.typ, uplo, trans, n, k, 0.5, b.up(x), 3, p)
	b.same(what, err, p, z, within(uplo), func(i, j int) float64 { return 0.5*prod(i, j) + 3*z.at(i, j) })

	err = b.s.Syrk(b.typ, uplo, trans, n, k, 0, Matrix{0, x.ld}, 2, p)
	b.same(what+" alpha=0", err, p, z, within(uplo), func(i, j int) float64 { return prod(i, j) + 6*z.at(i, j) })
	for i := range n {
		for j := range n {
			if within(uplo)(i, j) {
				z.x[i+j*z.ld] = nan[T]()
			}
		}
	}
	p = b.up(z)
	err = b.s.Syrk(b.typ, uplo, trans, n, k, 1, b.up(x), 0, p)
	b.same(what+" beta=0", err, p, z, within(uplo), prod)
}

func (b bench[T]) triangular(rnd *rand.Rand, side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int) {
	b.t.Helper()
	o := order(side, m, n)
	a, x, other := randomColumns[T](rnd, o, o, uplo), randomColumns[T](rnd, m, n, 0), randomColumns[T](rnd, m, n, 0)
	for i := range o {
		a.x[i*(a.ld+1)] = T(4 + rnd.Float64()) // so that the system is easy to solve
		if diag == blas.Unit {
			a.x[i*(a.ld+1)] = nan[T]()
		}
		for j := range i {
			for _, q := range [...]int{i + j*a.ld, j + i*a.ld} {
				a.x[q] /= 4
			}
		}
	}
	op := a.full(trans, uplo, diag)
	prod := func(x func(i, j int) float64) func(i, j int) float64 {
		if side == blas.Left {
			return product(o, op, x)
		}
		return product(o, x, op)
	}
	what := fmt.Sprintf("%c%c%c%c m=%d n=%d", side, uplo, trans, diag, m, n)
	want := func(i, j int) float64 { return 0.5 * prod(x.at)(i, j) }
	at, in, out := b.up(a), b.up(x), b.up(other)
	b.same("trmm "+what, b.s.Trmm(b.typ, side, uplo, trans, diag, m, n, 0.5, at, in, out), out, other, all, want)
	b.same("trmm in place "+what, b.s.Trmm(b.typ, side, uplo, trans, diag, m, n, 0.5, at, in, in), in, x, all, want)
	// Solving for that with 2 in front gives x again.
	b.same("trsm "+what, b.s.Trsm(b.typ, side, uplo, trans, diag, m, n, 2, at, in), in, x, all, x.at)
}

func (b bench[T]) geam(rnd *rand.Rand, m, n int) {
	b.t.Helper()
	x, y, z := randomColumns[T](rnd, m, n, 0), randomColumns[T](rnd, m, n, 0), randomColumns[T](rnd, m, n, 0)
	px, py, pz := b.up(x), b.up(y), b.up(z)
	want := func(i, j int) float64 { return 2*x.at(i, j) - 3*y.at(i, j) }
	b.same("geam", b.s.Geam(b.typ, m, n, 2, px, -3, py, pz), pz, z, all, want)
	b.same("geam, C is B", b.s.Geam(b.typ, m, n, 2, px, -3, py, py), py, y, all, want)
	b.same("geam, C is A", b.s.Geam(b.typ, m, n, 2, px, -3, Matrix{pz.Data, pz.Ld}, px), px, x, all,
		func(i, j int) float64 { return 2*x.at(i, j) - 3*want(i, j) })
}

func (b bench[T]) potrf(rnd *rand.Rand, uplo blas.Uplo, n int) {
	b.t.Helper()
	for bad := -1; bad < n; bad++ {
		for _, d := range []float64{-1, math.NaN()} {
			a := randomColumns[T](rnd, n, n, uplo)
			for i := range n {
				a.x[i*(a.ld+1)] = T(20)
				if i == bad {
					a.x[i*(a.ld+1)] = T(d)
				}
			}
			p := b.up(a)
			info := upload(b.t, b.d, b.s, []int32{7})
			bytes, err := b.s.PotrfWork(b.typ, uplo, n, p)
			if err != nil {
				b.t.Fatal(err)
			}
			work, _ := b.d.Alloc(max(bytes, 1))
			what := fmt.Sprintf("potrf %c n=%d, %v at %d", uplo, n, d, bad)
			if err := b.s.Potrf(b.typ, uplo, n, p, work, info); err != nil {
				b.t.Fatalf("%s: %v", what, err)
			}
			got := make([]byte, 4)
			download(b.t, b.s, got, info)
			l := columns[T]{n, n, a.ld, make([]T, len(a.x))}
			download(b.t, b.s, l.x, p.Data)
			i := binary.NativeEndian.Uint32(got)
			if i != uint32(bad+1) && (d == d || i != 0) {
				b.t.Fatalf("%s: info %d", what, i)
			}
			switch {
			case bad < 0:
				f, g := l.full(blas.NoTrans, uplo, blas.NonUnit), l.full(blas.Trans, uplo, blas.NonUnit)
				if uplo == blas.Upper {
					f, g = g, f
				}
				factor := columns[T]{n, n, a.ld, append([]T(nil), l.x...)}
				for j := range n {
					for i := range n {
						if within(uplo)(i, j) {
							factor.x[i+j*a.ld] = T(product(n, f, g)(i, j))
						}
					}
				}
				b.same(what, nil, b.up(factor), a, within(uplo), a.at)
			case d != d:
				// What follows the NaN is undefined if info tells of it.
				for k := range n {
					if x := l.at(k, k); (k < bad) != (x > 0) && (k <= bad || i == 0) {
						b.t.Fatalf("%s: diagonal %d is %v", what, k, x)
					}
				}
			}
		}
	}
}

func (b bench[T]) copyVectors(rnd *rand.Rand) {
	b.t.Helper()
	const n, count = 5, 3
	x := randomColumns[T](rnd, n, 2*count, 0)
	p := b.up(x)
	var table []byte
	size := Ptr(b.typ.Size())
	to := rnd.Perm(2 * count)
	for i := range count {
		for _, j := range [...]int{to[i], to[count+i]} {
			table = binary.LittleEndian.AppendUint64(table, uint64(p.Data+Ptr(j*x.ld)*size))
		}
	}
	err := b.s.CopyVectors(b.typ, n, count, upload(b.t, b.d, b.s, table))
	b.same("vectors", err, p, x, all, func(i, j int) float64 {
		for c := range count {
			if to[c] == j {
				return x.at(i, to[count+c])
			}
		}
		return x.at(i, j)
	})
}
