package cuda

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// getrf checks L·U = Pᵀ·A, and the pivots and info of a matrix whose column 1 is zero.
func (b bench[T]) getrf(rnd *rand.Rand, m, n int) {
	b.t.Helper()
	what := fmt.Sprintf("getrf m=%d n=%d", m, n)
	a, k := randomColumns[T](rnd, m, n, 0), min(m, n)
	want := 0
	if k > 1 {
		want = 2
		for i := range m {
			a.x[i+a.ld] = 0
		}
	}
	p := b.up(a)
	pivots, info := b.factorization(what, p, m, n,
		func(typ Type, m, n int, a Matrix) (int64, error) {
			device, _, err := b.s.GetrfWork(typ, m, n, a)
			return device, err
		},
		func(typ Type, m, n int, a Matrix, pivots, work, info Ptr) error {
			_, host, err := b.s.GetrfWork(typ, m, n, a)
			if err != nil {
				return err
			}
			own, err := b.d.AllocHost(max(host, 1))
			if err != nil {
				return err
			}
			return b.s.Getrf(typ, m, n, a, pivots, work, own, info)
		})
	if info != want {
		b.t.Fatalf("%s: info %d, want %d", what, info, want)
	}
	f := columns[T]{m, n, a.ld, b.values(p.Data, len(a.x))}
	original := columns[T]{m, n, a.ld, append([]T(nil), a.x...)}
	swapped := b.up(original)
	if err := b.s.Laswp(b.typ, m, n, swapped, k, pivots); err != nil {
		b.t.Fatalf("laswp of %s: %v", what, err)
	}
	for i := range k {
		row := b.ints(pivots+Ptr(8*i), 2)
		r := row[0] - 1
		if r < i || r >= m || row[1] != 0 {
			b.t.Fatalf("%s: row %d is exchanged with row %d of %d", what, i, r, m)
		}
		for j := range n {
			x, y := i+j*a.ld, r+j*a.ld
			a.x[x], a.x[y] = a.x[y], a.x[x]
		}
	}
	b.same("laswp of "+what, nil, swapped, original, all, a.at)
	x := columns[T]{m, n, a.ld, append([]T(nil), a.x...)}
	for j := range n {
		for i := range m {
			sum := 0.0
			for l := range min(i, j+1, k) {
				sum += f.at(i, l) * f.at(l, j)
			}
			if i <= j {
				sum += f.at(i, j)
			}
			x.x[i+j*x.ld] = T(sum)
		}
	}
	b.same(what, nil, b.up(x), a, all, a.at)
}

// TestSimGetrfRefuses: what makes no sense is refused.
func TestSimGetrfRefuses(t *testing.T) {
	d, err := NewSimulated(SimOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	p, _ := d.Alloc(1 << 12)
	own, _ := d.AllocHost(simOwn)
	good, narrow := Matrix{p, 4}, Matrix{p, 3}
	for i, err := range []error{
		s.Getrf(F64, 4, 4, narrow, p, p, own, p), s.Getrf(F64, -1, 4, good, p, p, own, p), s.Getrf(9, 4, 4, good, p, p, own, p),
		s.Getrf(F64, 4, 4, good, p, p, nil, p),
	} {
		if err == nil {
			t.Errorf("case %d: no error", i)
		}
	}
	if _, _, err := s.GetrfWork(F64, 4, 4, narrow); err == nil {
		t.Error("work of a matrix with a short leading dimension")
	}
	if err := s.Getrf(F64, 4, 4, good, p+Ptr(1<<20), p, own, p); err != nil {
		t.Fatal(err)
	}
	if err := s.Synchronize(); err == nil {
		t.Error("pivots behind the end of an allocation")
	}
	if d.Close() == nil {
		t.Error("the misuses were not kept")
	}
}
