package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/tessera-la/tessera/internal/sorted"
	"gonum.org/v1/gonum/blas"
)

// crewOf returns a crew of goroutines, of which each takes a part, and counts its
// parts. Their scratch is full of rubbish. It is kept, and not in a sync.Pool, which drops
// some at random under the race detector: to fill megabytes anew takes longer than most parts.
func crewOf[T Element](most *int) Crew[T] {
	var (
		mu    sync.Mutex
		spare [][]T
	)
	take := func() (w []T) {
		mu.Lock()
		defer mu.Unlock()
		if last := len(spare) - 1; last >= 0 {
			w, spare = spare[last], spare[:last]
		}
		return w
	}
	give := func(w []T) {
		mu.Lock()
		defer mu.Unlock()
		spare = append(spare, w)
	}
	return func(parts, work int, f func(part, parts int, work []T)) {
		*most = max(*most, parts)
		var wg sync.WaitGroup
		for i := range parts {
			wg.Go(func() {
				w := take()
				if len(w) < work {
					w = rubbish[T](work)
				}
				f(i, parts, w[:work:work])
				give(w)
			})
		}
		wg.Wait()
	}
}

// inTurns returns a crew that does every units-th part in one turn, all with the same scratch.
func inTurns[T Element](units int) Crew[T] {
	var scratch []T
	return func(parts, work int, f func(part, parts int, work []T)) {
		if len(scratch) < work {
			scratch = rubbish[T](work)
		}
		for u := range units {
			for i := u; i < parts; i += units {
				f(i, parts, scratch[:work])
			}
		}
	}
}

func rubbish[T Element](n int) []T {
	return repeated[T](n, -1e6, 1-1e6, 2-1e6, 3-1e6, 4-1e6)
}

// packedOf returns the packed routines that this processor has, with blocks of some
// sizes.
func packedOf[T Element]() map[string]*Packed[T] {
	all := map[string]*Packed[T]{"go": Portable[T]()}
	for name, p := range natives[T](Caches{L1: 32 << 10, L2: 512 << 10}) {
		all[name] = p
		// Narrow blocks, so that there are several in all directions.
		all[name+", blocks"] = withBlocks(p, 64, 100, 130)
	}
	return all
}

// Every routine has the same bits by a crew as by one core.
func TestShared(t *testing.T) {
	t.Run("float64", testShared[float64])
	t.Run("float32", testShared[float32])
}

func testShared[T Element](t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	random := func(n int) []T {
		x := make([]T, n)
		for i := range x {
			x[i] = T(rnd.NormFloat64())
		}
		return x
	}
	dominant := func(n, ld int) []T {
		a := random(n * ld)
		for i := range n {
			a[i*ld+i] = T(3 * n)
		}
		return a
	}
	sides := []blas.Side{blas.Left, blas.Right}
	uplos := []blas.Uplo{blas.Lower, blas.Upper}
	transposes := []blas.Transpose{blas.NoTrans, blas.Trans}
	for name, p := range sorted.Map(packedOf[T]()) {
		most := 0
		units := 2 + rnd.IntN(4)
		s := p.Shared(units, crewOf[T](&most))
		same := func(what string, run func(r Routines[T], c []T, work []T), c []T, dim int) {
			t.Helper()
			want, got := slices.Clone(c), slices.Clone(c)
			run(p, want, rubbish[T](p.Work(dim)))
			run(s, got, rubbish[T](p.Work(dim)))
			for i := range want {
				if want[i] != got[i] && (want[i] == want[i] || got[i] == got[i]) {
					t.Fatalf("%s, %d units, %s: element %d is %v, alone %v", name, units, what, i, got[i], want[i])
				}
			}
		}
		for _, d := range [][3]int{{208, 208, 208}, {97, 401, 130}, {300, 101, 77}, {260, 90, 90}, {50, 700, 64}, {160, 205, 333}, {205, 217, 100}, {530, 61, 220}} {
			m, n, k := d[0], d[1], d[2]
			ta, tb := transposes[rnd.IntN(2)], transposes[rnd.IntN(2)]
			alpha, beta := T(rnd.IntN(3))-1.5, T(rnd.IntN(3))-1
			ld := max(m, n, k) + rnd.IntN(9)
			a, b := random(ld*max(m, k)), random(ld*max(n, k))
			same(fmt.Sprintf("gemm %v %c%c alpha %v beta %v", d, ta, tb, alpha, beta), func(r Routines[T], c, work []T) {
				r.Gemm(ta, tb, m, n, k, alpha, a, ld, b, ld, beta, c, ld, work)
			}, random(m*ld), max(m, n, k))
		}
		if most < 2 {
			t.Errorf("%s: no product was shared", name)
		}
		most = 0
		for _, d := range [][2]int{{208, 208}, {129, 300}, {400, 60}, {1030, 10}} {
			n, k := d[0], d[1]
			for _, uplo := range uplos {
				for _, trans := range transposes {
					beta := T(rnd.IntN(3)) - 1
					ld := max(n, k) + rnd.IntN(9)
					a := random(ld * max(n, k))
					same(fmt.Sprintf("syrk %v %c%c beta %v", d, uplo, trans, beta), func(r Routines[T], c, work []T) {
						r.Syrk(uplo, trans, n, k, -0.5, a, ld, beta, c, ld, work)
					}, random(n*ld), max(n, k))
				}
			}
		}
		if most < 2 {
			t.Errorf("%s: no syrk was shared", name)
		}
		most = 0
		for _, d := range [][2]int{{208, 208}, {100, 333}, {333, 100}, {600, 130}} {
			for _, side := range sides {
				for _, uplo := range uplos {
					trans := transposes[rnd.IntN(2)]
					diag := []blas.Diag{blas.Unit, blas.NonUnit}[rnd.IntN(2)]
					m, n := d[0], d[1]
					order := m
					if side == blas.Right {
						order = n
					}
					ld := max(m, n) + rnd.IntN(9)
					a := dominant(order, ld)
					if diag == blas.Unit { // lest the solution overflow
						for i := range a {
							a[i] /= T(order)
						}
					} else if rnd.IntN(4) == 0 {
						a[3*ld+3] = 0 // divides
					}
					same(fmt.Sprintf("trsm %v %c%c%c%c", d, side, uplo, trans, diag), func(r Routines[T], c, work []T) {
						r.Trsm(side, uplo, trans, diag, m, n, 0.5, a, ld, c, ld, work)
					}, random(m*ld), max(m, n))
				}
			}
		}
		if most < 2 {
			t.Errorf("%s: no solution was shared", name)
		}
		most = 0
		for _, uplo := range uplos {
			for _, bad := range []int{0, 550} {
				n := 700
				a := dominant(n, n)
				if bad > 0 {
					a[(bad-1)*(n+1)] = -1
				}
				same(fmt.Sprintf("potrf %c", uplo), func(r Routines[T], c, work []T) {
					if info := r.Potrf(uplo, n, c, n, work); info != bad {
						t.Errorf("%s: info %d, want %d", name, info, bad)
					}
				}, a, n)
			}
		}
		if most < 2 {
			t.Errorf("%s: no factorization was shared", name)
		}
	}
}

// What a factor is applied to has the same bits by a crew as by one core.
func TestSharedQR(t *testing.T) {
	t.Run("float64", testSharedQR[float64])
	t.Run("float32", testSharedQR[float32])
}

func testSharedQR[T Element](t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	random := func(n int) []T {
		x := make([]T, n)
		for i := range x {
			x[i] = T(rnd.NormFloat64())
		}
		return x
	}
	for name, p := range sorted.Map(packedOf[T]()) {
		q, most := NewQR[T](p), 0
		s := q.Shared(3, crewOf[T](&most))
		const m, k, n, ib, ld = 200, 150, 420, 40, 430
		v, tau := random(m*ld), make([]T, ib*k)
		q.Geqrt(m, k, ib, v, ld, tau, k, rubbish[T](q.Work(m, k, ib)))
		r, b, tau2 := random(k*ld), random(m*ld), make([]T, ib*k)
		q.Tpqrt(m, k, 0, ib, r, ld, b, ld, tau2, k, rubbish[T](q.Work(m, k, ib)))
		for _, side := range []blas.Side{blas.Left, blas.Right} {
			for _, trans := range []blas.Transpose{blas.NoTrans, blas.Trans} {
				rows, cols, top := m, n, k
				if side == blas.Right {
					rows, cols, top = n, m, n
				}
				c, c1 := random(rows*ld), random(top*ld)
				apply := func(q *QR[T]) (_, _, _ []T) {
					x, y, y1 := slices.Clone(c), slices.Clone(c), slices.Clone(c1)
					q.Gemqrt(side, trans, rows, cols, k, ib, v, ld, tau, k, x, ld, rubbish[T](q.Work(n, k, ib)))
					q.Tpmqrt(side, trans, rows, cols, k, 0, ib, b, ld, tau2, k, y1, ld, y, ld, rubbish[T](q.Work(n, k, ib)))
					return x, y, y1
				}
				x, y, y1 := apply(q)
				most = 0
				if sx, sy, sy1 := apply(s); !slices.Equal(x, sx) || !slices.Equal(y, sy) || !slices.Equal(y1, sy1) {
					t.Errorf("%s, %c%c: other bits", name, side, trans)
				}
				if most < 2 {
					t.Errorf("%s, %c%c: was not shared", name, side, trans)
				}
			}
		}
	}
}
