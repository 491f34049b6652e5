package cuda

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
)

// values downloads what a routine has left of c at p.
func (b bench[T]) values(p Ptr, n int) []T {
	b.t.Helper()
	x := make([]T, n)
	if n > 0 {
		download(b.t, b.s, x, p)
	}
	return x
}

// ints downloads int32s.
func (b bench[T]) ints(p Ptr, n int) (all []int) {
	b.t.Helper()
	if n == 0 {
		return nil
	}
	raw := make([]byte, 4*n)
	download(b.t, b.s, raw, p)
	for i := range n {
		all = append(all, int(int32(binary.NativeEndian.Uint32(raw[4*i:]))))
	}
	return all
}

// factorization runs a routine with the work that it asks for.
func (b bench[T]) factorization(what string, a Matrix, m, n int, work func(typ Type, m, n int, a Matrix) (int64, error),
	routine func(typ Type, m, n int, a Matrix, extra, work, info Ptr) error) (extra Ptr, info int) {
	b.t.Helper()
	bytes, err := work(b.typ, m, n, a)
	if err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
	scratch, _ := b.d.Alloc(max(bytes, 1))
	extra, _ = b.d.Alloc(int64(max(1, min(m, n))) * 8)
	code := upload(b.t, b.d, b.s, []int32{7})
	if err := routine(b.typ, m, n, a, extra, scratch, code); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
	return extra, b.ints(code, 1)[0]
}

func (b bench[T]) geqrf(rnd *rand.Rand, m, n int) {
	b.t.Helper()
	what := fmt.Sprintf("geqrf m=%d n=%d", m, n)
	a, k := randomColumns[T](rnd, m, n, 0), min(m, n)
	for i := range m {
		if n > 1 {
			a.x[i+a.ld] = 2 * a.x[i] // nothing is left of a column but roundings
		}
		if n > 2 {
			a.x[i+2*a.ld] = 0
		}
	}
	p := b.up(a)
	at, info := b.factorization(what, p, m, n, b.s.GeqrfWork, b.s.Geqrf)
	if info != 0 {
		b.t.Fatalf("%s: info %d", what, info)
	}
	tau := b.values(at, k)
	f := columns[T]{m, n, a.ld, b.values(p.Data, len(a.x))}
	if k > 2 && (tau[2] != 0 || f.at(2, 2) != 0) {
		b.t.Fatalf("%s: a column of zeros became %v, with the factor %v", what, f.at(2, 2), tau[2])
	}
	// Q·R, from the last reflector to the first.
	x := columns[T]{m, n, a.ld, append([]T(nil), a.x...)}
	for j := range n {
		for i := range m {
			if x.x[i+j*x.ld] = f.x[i+j*f.ld]; i > j {
				x.x[i+j*x.ld] = 0
			}
		}
	}
	v := f.full(blas.NoTrans, blas.Lower, blas.Unit)
	for l := k - 1; l >= 0; l-- {
		for j := range n {
			dot := 0.0
			for i := l; i < m; i++ {
				dot += v(i, l) * x.at(i, j)
			}
			for i := l; i < m; i++ {
				x.x[i+j*x.ld] -= T(float64(tau[l]) * v(i, l) * dot)
			}
		}
	}
	b.same(what, nil, b.up(x), a, all, a.at)
}

func (b bench[T]) larft(rnd *rand.Rand, n int) {
	b.t.Helper()
	what := fmt.Sprintf("larft n=%d", n)
	m := n + 3
	v, g, t := randomColumns[T](rnd, m, n, 0), randomColumns[T](rnd, n, n, blas.Upper), randomColumns[T](rnd, n, n, blas.Lower)
	tau := make([]T, n, n+1)
	for j := range n {
		size := 0.0
		for i := range m {
			size += v.at(i, j) * v.at(i, j)
		}
		if tau[j] = T(2 / size); j == 2 {
			tau[j] = 0
		}
	}
	vt := v.full(blas.Trans, 0, 0)
	for j := range n {
		for i := range j + 1 {
			if g.x[i+j*g.ld] = T(product(m, vt, v.at)(i, j)); i == j {
				g.x[i+j*g.ld] = nan[T]() // not read
			}
		}
	}
	// T is stored by rows.
	p := b.up(t)
	at := Strided{p.Data, t.ld, 1}
	if err := b.s.Larft(b.typ, n, b.up(g), upload(b.t, b.d, b.s, tau[:n+1]), at); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
	got := columns[T]{n, n, t.ld, b.values(p.Data, len(t.x))}
	upper := func(i, j int) float64 {
		if i > j {
			return 0
		}
		return got.at(j, i)
	}
	// H(0)·…·H(n−1), and I − V·T·Vᵀ.
	h := columns[T]{m, m, m, make([]T, m*m+1)}
	for i := range m {
		for j := range m {
			x := 0.0
			if i == j {
				x = 1
			}
			h.x[i+j*m] = T(x)
		}
	}
	for l := range n {
		hv := product(m, h.at, v.at)
		next := append([]T(nil), h.x...)
		for i := range m {
			for j := range m {
				next[i+j*m] -= T(hv(i, l) * float64(tau[l]) * v.at(j, l))
			}
		}
		h.x = next
	}
	vtv := product(n, v.at, func(i, j int) float64 { return product(n, upper, vt)(i, j) })
	made := columns[T]{m, m, m, append([]T(nil), h.x...)}
	for i := range m {
		for j := range m {
			x := -vtv(i, j)
			if i == j {
				x++
			}
			made.x[i+j*m] = T(x)
		}
	}
	b.same(what, nil, b.up(made), h, all, h.at)
	for i := range n {
		for j := range i {
			if k := j + i*t.ld; got.x[k] == got.x[k] != (t.x[k] == t.x[k]) {
				b.t.Fatalf("%s: (%d, %d) below the diagonal was written", what, i, j)
			}
		}
	}
}

// upper copies between row-major and column-major matrices.
func (b bench[T]) upper(rnd *rand.Rand, m, n int) {
	b.t.Helper()
	for d := -m; d <= n; d++ {
		for _, clear := range []bool{false, true} {
			x, y := randomColumns[T](rnd, n, m, 0), randomColumns[T](rnd, m, n, 0)
			for i := range m { // what is not read may be NaN
				for j := range n {
					if j-i < d {
						x.x[j+i*x.ld] = nan[T]()
					}
				}
			}
			p := b.up(y)
			err := b.s.CopyUpper(b.typ, m, n, d, Strided{b.up(x).Data, x.ld, 1}, Strided{p.Data, 1, y.ld}, clear)
			b.same(fmt.Sprintf("copy upper m=%d n=%d d=%d clear=%t", m, n, d, clear), err, p, y,
				func(i, j int) bool { return clear || j-i >= d }, func(i, j int) float64 {
					if j-i < d {
						return 0
					}
					return x.at(j, i)
				})
		}
	}
	for _, diag := range []float64{0, 1} {
		y := randomColumns[T](rnd, m, n, 0)
		p := b.up(y)
		err := b.s.SetUpper(b.typ, m, n, diag, Strided{p.Data, 1, y.ld})
		b.same(fmt.Sprintf("set upper m=%d n=%d to %v", m, n, diag), err, p, y, func(i, j int) bool { return j >= i },
			func(i, j int) float64 {
				if i == j {
					return diag
				}
				return 0
			})
	}
}

// TestSimFactorizationsRefuse: what makes no sense is refused.
func TestSimFactorizationsRefuse(t *testing.T) {
	d, err := NewSimulated(SimOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	p, _ := d.Alloc(1 << 12)
	good, narrow := Matrix{p, 4}, Matrix{p, 3}
	for i, err := range []error{
		s.Geqrf(F64, 4, 4, narrow, p, p, p), s.Geqrf(F64, -1, 4, good, p, p, p), s.Geqrf(9, 4, 4, good, p, p, p),
		s.Larft(F64, 4, narrow, p, Strided{p, 4, 1}), s.Larft(F64, 4, good, p, Strided{p, 0, 1}),
		s.CopyUpper(F64, 4, 4, 0, Strided{p, 1, 0}, Strided{p, 4, 1}, true), s.CopyUpper(F64, 4, -4, 0, Strided{p, 1, 4}, Strided{p, 4, 1}, true),
		s.SetUpper(F64, 4, 4, 1, Strided{p, -1, 4}),
	} {
		if err == nil {
			t.Errorf("case %d: no error", i)
		}
	}
	if _, err := s.GeqrfWork(F64, 4, 4, narrow); err == nil {
		t.Error("work of a matrix with a short leading dimension")
	}
	if _, err := s.GeqrfWork(F64, 4, -4, good); err == nil {
		t.Error("work of a matrix with negative columns")
	}
	if err := s.Geqrf(F64, 4, 4, good, p+Ptr(1<<20), p, p); err != nil {
		t.Fatal(err)
	}
	if err := s.Synchronize(); err == nil {
		t.Error("factors behind the end of an allocation")
	}
	if d.Close() == nil {
		t.Error("the misuses were not kept")
	}
}
