package csr_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/csr"
	"gonum.org/v1/gonum/mat"
)

// triples is a matrix by its entries.
type triples struct {
	n    int
	i, j []int
	v    []float64
}

// add adds an entry.
func (t *triples) add(i, j int, v float64) {
	t.i, t.j, t.v = append(t.i, i), append(t.j, j), append(t.v, v)
}

// both adds an entry and its mirror image.
func (t *triples) both(i, j int, v float64) {
	t.add(i, j, v)
	t.add(j, i, v)
}

// matrix returns the matrix.
func (t *triples) matrix(tb testing.TB, rt exec.Runtime) *csr.Matrix {
	tb.Helper()
	a, err := csr.FromCOO(rt, t.n, t.n, t.i, t.j, t.v)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// poisson returns the Laplacian on a grid of x×y×z points.
func poisson(x, y, z int) *triples {
	t := &triples{n: x * y * z}
	for i := range t.n {
		degree := 2.0
		if y > 1 {
			degree += 2
		}
		if z > 1 {
			degree += 2
		}
		t.add(i, i, degree)
		if i%x+1 < x {
			t.both(i, i+1, -1)
		}
		if i/x%y+1 < y {
			t.both(i, i+x, -1)
		}
		if i/x/y+1 < z {
			t.both(i, i+x*y, -1)
		}
	}
	return t
}

// definite returns a random matrix that dominates its diagonal, with rows of very different size.
func definite(n, entries int, seed uint64) *triples {
	rnd := rand.New(rand.NewPCG(seed, 3))
	t := &triples{n: n}
	sum, scale := make([]float64, n), make([]float64, n)
	for i := range scale {
		scale[i] = math.Ldexp(1, rnd.IntN(20)-10)
	}
	for range entries {
		i, j, v := rnd.IntN(n), rnd.IntN(n), rnd.NormFloat64()
		if i != j {
			t.both(i, j, v*scale[i]*scale[j])
			sum[i] += math.Abs(v)
			sum[j] += math.Abs(v)
		}
	}
	for i := range n {
		t.add(i, i, (sum[i]+0.01)*scale[i]*scale[i])
	}
	return t
}

// arrowhead returns a matrix with a full first row.
func arrowhead(n int) *triples {
	t := &triples{n: n}
	for i := range n {
		t.add(i, i, float64(n))
		if i > 0 {
			t.both(0, i, 1)
		}
	}
	return t
}

// systems returns small matrices of all kinds.
func systems() map[string]*triples {
	all := map[string]*triples{
		"empty": {}, "one": {n: 1, i: []int{0}, j: []int{0}, v: []float64{4}}, "diagonal": definite(50, 0, 1), "full": definite(120, 20000, 2),
		"path": poisson(300, 1, 1), "2-D": poisson(41, 37, 1), "3-D": poisson(11, 12, 13), "arrow": arrowhead(700), "sparse": definite(900, 1500, 4),
	}
	return all
}

// residual returns the largest ‖b − A·x‖∞ / (‖A‖∞·‖x‖∞·n·ε) of the columns.
func residual(t *triples, x, b *mat.Dense, eps float64) (worst float64) {
	_, nrhs := b.Dims()
	for c := range nrhs {
		r, rows := mat.Col(nil, c, b), make([]float64, t.n)
		top, norm := 0.0, 0.0
		for k, v := range t.v {
			r[t.i[k]] -= v * x.At(t.j[k], c)
			rows[t.i[k]] += math.Abs(v)
		}
		for i := range r {
			top, norm = max(top, math.Abs(x.At(i, c))), max(norm, rows[i])
		}
		for _, v := range r {
			worst = max(worst, math.Abs(v)/(norm*top*float64(t.n)*eps))
		}
	}
	return worst
}

// TestCholesky: solutions and determinants for all kinds of matrices and orders.
func TestCholesky(t *testing.T) {
	rt := start(t, 2)
	for name, s := range systems() {
		a := s.matrix(t, rt)
		for _, o := range []csr.Ordering{csr.Automatic, csr.AMD, csr.Natural, csr.Given, csr.NestedDissection} {
			name := fmt.Sprintf("%s, %v", name, o)
			opt := csr.CholeskyOptions{Ordering: o}
			if o == csr.Given {
				opt.Permutation = rand.New(rand.NewPCG(5, 6)).Perm(s.n)
			}
			f := csr.NewCholesky[float64](opt)
			if err := f.Factorize(t.Context(), a); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if f.SymmetricDim() != s.n || o != csr.Automatic && f.Stats().Ordering != o {
				t.Errorf("%s: order %d, %+v", name, f.SymmetricDim(), f.Stats())
			}
			p := f.Permutation()
			if slices.Sort(p); s.n > 0 && (p[0] != 0 || p[s.n-1] != s.n-1) {
				t.Errorf("%s: %v", name, p)
			}
			if s.n == 0 {
				if err := f.SolveVecTo(t.Context(), nil, nil); err != nil || f.LogDet() != 0 {
					t.Errorf("%s: %v, %v", name, err, f.LogDet())
				}
				continue
			}
			for _, nrhs := range []int{1, 5} {
				b := mat.NewDense(s.n, nrhs, vector(s.n*nrhs, 7))
				var x mat.Dense
				if err := f.SolveTo(t.Context(), &x, b); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if r := residual(s, &x, b, 0x1p-52); !(r < 1) {
					t.Errorf("%s: scaled residual %.3g", name, r)
				}
			}
			var dense mat.Cholesky
			if s.n < 1000 && o == csr.Automatic {
				m := mat.NewSymDense(s.n, nil)
				for k, v := range s.v {
					if i, j := s.i[k], s.j[k]; i <= j {
						m.SetSym(i, j, m.At(i, j)+v)
					}
				}
				dense.Factorize(m)
				if got, err := f.Cond(t.Context()); err != nil || !(got > 0.2*dense.Cond() && got < 5*dense.Cond()) {
					t.Errorf("%s: condition %v, dense %v, %v", name, got, dense.Cond(), err)
				}
				if got, want := f.LogDet(), dense.LogDet(); math.Abs(got-want) > 1e-11*(1+math.Abs(want)) {
					t.Errorf("%s: log det %v, want %v", name, got, want)
				}
			}
		}
	}
}

// TestCholeskyFloat32: a factor in float32, and matrices out of its range.
func TestCholeskyFloat32(t *testing.T) {
	rt := start(t, 1)
	for _, scale := range []float64{1, 1e200, 1e-200} {
		s := poisson(20, 21, 1)
		b := mat.NewDense(s.n, 1, vector(s.n, 3))
		for k := range s.v {
			s.v[k] *= scale
		}
		if scale != 1 {
			b.Scale(scale, b)
		}
		var f csr.Cholesky[float32]
		if err := f.Factorize(t.Context(), s.matrix(t, rt)); err != nil {
			t.Fatal(err)
		}
		if scale != 1 {
			want := float64(s.n) * math.Log(scale)
			if got := f.LogDet(); math.Abs(got-want) > 0.01*math.Abs(want) {
				t.Errorf("log det %v, want about %v", got, want)
			}
			continue
		}
		x, y := make([]float32, s.n), mat.NewDense(s.n, 1, nil)
		for i := range x {
			x[i] = float32(b.At(i, 0))
			b.Set(i, 0, float64(x[i]))
		}
		if err := f.SolveVecTo(t.Context(), x, x); err != nil {
			t.Fatal(err)
		}
		for i, v := range x {
			y.Set(i, 0, float64(v))
		}
		if r := residual(s, y, b, 0x1p-23); !(r < 1) {
			t.Errorf("scaled residual %.3g", r)
		}
	}
	// The same in float64, with solutions in range, but for sums of elements.
	cond := 0.0
	for _, scale := range []float64{1, 0x1p1021, 0x1p-1060} {
		s := poisson(9, 9, 1)
		for k := range s.v {
			s.v[k] *= scale
		}
		var f csr.Cholesky[float64]
		if err := f.Factorize(t.Context(), s.matrix(t, rt)); err != nil {
			t.Fatal(err)
		}
		b := make([]float64, s.n)
		b[40] = scale
		if err := f.SolveVecTo(t.Context(), b, b); err != nil || !(b[40] > 0.3 && b[40] < 1) {
			t.Errorf("%v, %v", b[40], err)
		}
		switch c, err := f.Cond(t.Context()); {
		case scale == 1:
			cond = c
		case !(math.Abs(c-cond) < 1e-12*cond) || err != nil:
			t.Errorf("scale %v: condition %v, want %v; %v", scale, c, cond, err)
		}
	}
}

// TestCholeskyAgain: a matrix with the same pattern takes the analysis of the one before, and one of another pattern its
// own; triangles and orders of entries make no difference.
func TestCholeskyAgain(t *testing.T) {
	t.Run("fronts", func(t *testing.T) { factorAgain(t, false, poisson(30, 31, 1), poisson(30, 31, 1), poisson(15, 7, 4)) })
	t.Run("columns", func(t *testing.T) { factorAgain(t, true, poisson(90, 3, 1), poisson(90, 3, 1), poisson(50, 2, 2)) })
}

// factorAgain factors matrices one after the other: one and two have the same pattern, other another one. columns says
// whether their factors are computed column by column.
func factorAgain(t *testing.T, columns bool, one, two, other *triples) {
	rt := start(t, 2)
	solve := func(f *csr.Cholesky[float64], s *triples, a *csr.Matrix) []float64 {
		t.Helper()
		if err := f.Factorize(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		x := vector(s.n, 9)
		if err := f.SolveVecTo(t.Context(), x, x); err != nil {
			t.Fatal(err)
		}
		return x
	}
	for k := range two.v {
		two.v[k] *= 3
		if two.i[k] == two.j[k] {
			two.v[k] += float64(two.i[k] % 7)
		}
	}
	f := csr.NewCholesky[float64](csr.CholeskyOptions{})
	for _, s := range []*triples{one, two, other, one} {
		got := solve(f, s, s.matrix(t, rt))
		want := solve(csr.NewCholesky[float64](csr.CholeskyOptions{}), s, s.matrix(t, rt))
		if !slices.Equal(got, want) {
			t.Error("a factorization that is used again differs")
		}
		if n := f.Stats().Supernodes; n == s.n != columns {
			t.Errorf("%d rows in %d supernodes", s.n, n)
		}
	}
	// A triangle of the matrix, with entries in any order and in parts.
	want := solve(f, two, two.matrix(t, rt))
	for _, triangle := range []csr.Triangle{csr.Upper, csr.Lower} {
		half := &triples{n: two.n}
		for k, v := range two.v {
			if i, j := two.i[k], two.j[k]; i == j || i < j == (triangle == csr.Upper) {
				half.add(i, j, v)
			}
		}
		got := solve(csr.NewCholesky[float64](csr.CholeskyOptions{Triangle: triangle}), two, half.matrix(t, rt))
		if !slices.Equal(got, want) {
			t.Errorf("the %v triangle gives another solution", triangle)
		}
	}
	raw := two.matrix(t, rt).CSR().RawMatrix()
	for i := range raw.I {
		lo, hi := raw.Indptr[i], raw.Indptr[i+1]
		slices.Reverse(raw.Ind[lo:hi])
		slices.Reverse(raw.Data[lo:hi])
	}
	turned := two.matrix(t, rt).CSR()
	a, err := csr.New(rt, turned)
	if err != nil {
		t.Fatal(err)
	}
	if got := solve(f, two, a); !slices.Equal(got, want) {
		t.Error("the order of entries gives another solution")
	}
}

// TestCholeskyErrors: what is no matrix for a Cholesky factorization is a typed error, and the factorization then empty.
func TestCholeskyErrors(t *testing.T) {
	rt := start(t, 1)
	change := func(f func(s *triples)) *csr.Matrix {
		s := poisson(12, 12, 1)
		f(s)
		return s.matrix(t, rt)
	}
	diagonal := func(s *triples, i int) *float64 {
		for k := range s.v {
			if s.i[k] == i && s.j[k] == i {
				return &s.v[k]
			}
		}
		panic(i)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	good := change(func(*triples) {})
	same := poisson(12, 12, 1)
	wide, err := csr.FromCOO(rt, same.n, same.n+1, same.i, same.j, same.v)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		opt  csr.CholeskyOptions
		a    *csr.Matrix
		is   func(error) bool
		dead bool
	}{
		"negative": {a: change(func(s *triples) { *diagonal(s, 77) = -4 }), is: func(err error) bool {
			e, ok := errors.AsType[*csr.NotPositiveDefiniteError](err)
			return ok && e.Column == 78
		}},
		"zero": {a: change(func(s *triples) { *diagonal(s, 0) = 0 }), opt: csr.CholeskyOptions{Ordering: csr.Natural}, is: func(err error) bool {
			e, ok := errors.AsType[*csr.NotPositiveDefiniteError](err)
			return ok && e.Column == 1
		}},
		"NaN": {a: change(func(s *triples) { *diagonal(s, 9) = math.NaN() }), is: func(err error) bool {
			e, ok := errors.AsType[*la.NonFiniteError](err)
			return ok && e.Row == 9 && e.Col == 9
		}},
		"sum": {a: change(func(s *triples) { s.add(9, 9, 1e308); s.add(9, 9, 1e308) }), is: func(err error) bool {
			e, ok := errors.AsType[*la.NonFiniteError](err)
			return ok && e.Row == 9 && e.Col == 9
		}},
		"NaN below": {a: change(func(s *triples) { s.add(90, 3, math.NaN()) }), opt: csr.CholeskyOptions{Triangle: csr.Lower}, is: func(err error) bool {
			e, ok := errors.AsType[*la.NonFiniteError](err)
			return ok && e.Row == 90 && e.Col == 3
		}},
		"pattern": {a: change(func(s *triples) { s.add(3, 90, 0.5) }), is: func(err error) bool {
			e, ok := errors.AsType[*csr.SymmetryError](err)
			return ok && *e == csr.SymmetryError{Row: 3, Col: 90}
		}},
		"pattern below": {a: change(func(s *triples) { s.add(90, 3, 0.5) }), is: func(err error) bool {
			e, ok := errors.AsType[*csr.SymmetryError](err)
			return ok && *e == csr.SymmetryError{Row: 3, Col: 90}
		}},
		"values": {a: change(func(s *triples) { s.add(12, 13, 1e-9) }), is: func(err error) bool {
			e, ok := errors.AsType[*csr.SymmetryError](err)
			return ok && *e == csr.SymmetryError{Row: 12, Col: 13}
		}},
		"shape":  {a: wide, is: is[*csr.StructureError]},
		"memory": {a: good, opt: csr.CholeskyOptions{MaxBytes: 1000}, is: is[*csr.MemoryError]},
		"options": {a: good, opt: csr.CholeskyOptions{Ordering: 9, Triangle: 8, MaxBytes: -1}, is: func(err error) bool {
			e, ok := errors.AsType[*la.OptionsError](err)
			return ok && len(e.Problems) == 3
		}},
		"permutation": {a: good, opt: csr.CholeskyOptions{Ordering: csr.Given, Permutation: make([]int, 144)}, is: is[*la.OptionsError]},
		"cancelled":   {a: good, dead: true, is: func(err error) bool { return errors.Is(err, context.Canceled) }},
	} {
		for _, again := range []bool{false, true} {
			f := csr.NewCholesky[float64](c.opt)
			if again { // what is known of the pattern hides nothing
				f.Factorize(t.Context(), good)
			}
			ctx := t.Context()
			if c.dead {
				ctx = cancelled
			}
			err := f.Factorize(ctx, c.a)
			if !c.is(err) || !f.IsEmpty() {
				t.Errorf("%s, again %v: %v, empty %v", name, again, err, f.IsEmpty())
				continue
			}
			func() {
				defer func() {
					if got := recover(); got != csr.ErrNotFactorized {
						t.Errorf("%s: panic %v", name, got)
					}
				}()
				f.LogDet()
			}()
		}
	}
	f := csr.NewCholesky[float64](csr.CholeskyOptions{})
	rounded := change(func(s *triples) {
		for k := range s.v {
			if s.i[k] < s.j[k] {
				s.v[k] *= 1 + 0x1p-50
			}
		}
	})
	for _, a := range []*csr.Matrix{good, rounded, good} {
		if err := f.Factorize(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.SolveVecTo(t.Context(), make([]float64, 3), make([]float64, 144)); !is[*la.ShapeError](err) {
		t.Error(err)
	}
	if err := f.SolveTo(t.Context(), mat.NewDense(144, 2, nil), mat.NewDense(144, 3, nil)); !is[*la.ShapeError](err) {
		t.Error(err)
	}
	if err := f.SolveVecTo(cancelled, make([]float64, 144), make([]float64, 144)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := f.Cond(cancelled); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	b := make([]float64, 144)
	b[0], b[70] = 1, math.MaxFloat64
	if err := f.SolveVecTo(t.Context(), b, b); err == nil {
		b[70] = math.MaxFloat64
		for i := range b {
			b[i] = math.MaxFloat64
		}
		if err := f.SolveVecTo(t.Context(), b, b); !is[*la.OverflowError](err) {
			t.Error(err)
		}
	}
}

// is reports whether err is an error of type E.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
