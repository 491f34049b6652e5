package la_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/internal/dot2"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"go.uber.org/goleak"
	"gonum.org/v1/gonum/blas"
)

// On wasm Go has a goroutine of its own for events.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("runtime.handleEvent"))
}

// start returns an engine that is closed at the end of the test.
func start(t testing.TB, opt la.Options) *la.Engine {
	t.Helper()
	e, err := la.NewEngine(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// eps is LAPACK's: half the distance from 1 to the next number.
func eps[T la.Element]() float64 {
	var one T = 1
	if one+0x1p-30 == 1 {
		return 0x1p-24
	}
	return 0x1p-53
}

// typeName names T in the names of subtests.
func typeName[T la.Element]() string {
	if eps[T]() == 0x1p-24 {
		return "f32"
	}
	return "f64"
}

// padded returns an r×c matrix, pad elements between its rows and some behind
// it, all of them NaN.
func padded[T la.Element](r, c, pad int) la.General[T] {
	g := la.General[T]{Rows: r, Cols: c, Stride: max(1, c+pad)}
	g.Data = make([]T, r*g.Stride+3)
	for i := range g.Data {
		g.Data[i] = T(math.NaN())
	}
	return g
}

// random returns a padded r×c matrix of normal variates.
func random[T la.Element](rnd *rand.Rand, r, c, pad int) la.General[T] {
	g := padded[T](r, c, pad)
	for i := range r {
		for j := range c {
			g.Set(i, j, T(rnd.NormFloat64()))
		}
	}
	return g
}

// clone returns a copy of g, with what lies between and behind its rows.
func clone[T la.Element](g la.General[T]) la.General[T] {
	g.Data = append([]T(nil), g.Data...)
	return g
}

// bits returns what distinguishes x from every other number.
func bits[T la.Element](x T) uint64 {
	if eps[T]() == 0x1p-24 {
		return uint64(math.Float32bits(float32(x)))
	}
	return math.Float64bits(float64(x))
}

// unchanged fails t unless got and want have the same bits outside of the
// elements for which written holds; nil means that none may be written.
func unchanged[T la.Element](t *testing.T, what string, got, want la.General[T], written func(i, j int) bool) {
	t.Helper()
	for p := range want.Data {
		i, j := p/want.Stride, p%want.Stride
		if written != nil && i < want.Rows && j < want.Cols && written(i, j) {
			continue
		}
		if bits(got.Data[p]) != bits(want.Data[p]) {
			t.Fatalf("%s: element (%d, %d), stride %d, was overwritten: %v, was %v", what, i, j, want.Stride, got.Data[p], want.Data[p])
		}
	}
}

func everywhere(int, int) bool { return true }

// inside returns the test for the uplo triangle.
func inside(uplo blas.Uplo) func(i, j int) bool {
	if uplo == blas.Lower {
		return func(i, j int) bool { return i >= j }
	}
	return func(i, j int) bool { return i <= j }
}

// dense holds a matrix in float64, by rows.
type dense struct {
	m, n int
	x    []float64
}

func newDense(m, n int, f func(i, j int) float64) dense {
	d := dense{m, n, make([]float64, m*n)}
	for i := range m {
		for j := range n {
			d.x[i*n+j] = f(i, j)
		}
	}
	return d
}

// load returns op(a).
func load[T la.Element](a la.Source[T], trans blas.Transpose) dense {
	m, n := a.Dims()
	if trans != blas.NoTrans {
		return newDense(n, m, func(i, j int) float64 { return float64(a.At(j, i)) })
	}
	return newDense(m, n, func(i, j int) float64 { return float64(a.At(i, j)) })
}

func (d dense) at(i, j int) float64 { return d.x[i*d.n+j] }

func (d dense) t() dense { return newDense(d.n, d.m, func(i, j int) float64 { return d.at(j, i) }) }

// norm1 returns the largest column sum of magnitudes; a NaN sticks.
func (d dense) norm1() float64 {
	norm := 0.0
	for j := range d.n {
		s := 0.0
		for i := range d.m {
			s += math.Abs(d.at(i, j))
		}
		norm = max(norm, s)
	}
	return norm
}

// maxAbs returns the largest magnitude.
func (d dense) maxAbs() float64 {
	top := 0.0
	for _, v := range d.x {
		top = max(top, math.Abs(v))
	}
	return top
}

func (d dense) scaled(s float64) dense {
	return newDense(d.m, d.n, func(i, j int) float64 { return s * d.at(i, j) })
}

// times returns d·e, each element accumulated in twice the precision of float64.
func (d dense) times(e dense) dense {
	et := e.t()
	return newDense(d.m, e.n, func(i, j int) float64 {
		return dot2.Dot(0, d.x[i*d.n:(i+1)*d.n], et.x[j*et.n:(j+1)*et.n])
	})
}

// choleskyResidual returns ‖LLᵀ−A‖ / (n‖A‖ε) for the lower triangle of l. Both
// are scaled, so that neither over- nor underflow spoils it.
func choleskyResidual[T la.Element](l, a dense) float64 {
	if a.n == 0 {
		return 0
	}
	exp := math.Ilogb(a.maxAbs()) &^ 1
	a = newDense(a.n, a.n, func(i, j int) float64 { return math.Ldexp(a.at(i, j), -exp) })
	l = newDense(a.n, a.n, func(i, j int) float64 {
		if i < j {
			return 0
		}
		return math.Ldexp(l.at(i, j), -exp/2)
	})
	diff := newDense(a.n, a.n, func(i, j int) float64 {
		k := min(i, j) + 1
		return dot2.Dot(-a.at(i, j), l.x[i*a.n:i*a.n+k], l.x[j*a.n:j*a.n+k])
	})
	return diff.norm1() / (float64(a.n) * a.norm1() * eps[T]())
}

// solveResidual returns ‖B−AX‖ / (‖A‖‖X‖ε n).
func solveResidual[T la.Element](a, x, b dense) float64 {
	if a.n == 0 || x.n == 0 {
		return 0
	}
	xt := x.t()
	diff := newDense(b.m, b.n, func(i, j int) float64 {
		return dot2.Dot(-b.at(i, j), a.x[i*a.n:(i+1)*a.n], xt.x[j*xt.n:(j+1)*xt.n])
	})
	scale := a.norm1() * x.norm1() * eps[T]() * float64(a.n)
	if scale == 0 && diff.norm1() == 0 {
		return 0
	}
	return diff.norm1() / scale
}

// small fails t unless the residual is below the limit; a NaN is not.
func small(t *testing.T, residual, limit float64, format string, args ...any) {
	t.Helper()
	if !(residual < limit) {
		t.Errorf(format+": residual %.3g, want below %g", append(args, residual, limit)...)
	}
}

// symmetric returns the matrix that s names in the uplo triangle of padded
// memory; what is outside the triangle is NaN.
func symmetric[T la.Element](t testing.TB, s matgen.Spec, uplo blas.Uplo, pad int) la.Symmetric[T] {
	t.Helper()
	s.M = s.N
	gen, err := matgen.New[T](s)
	if err != nil {
		t.Fatal(err)
	}
	g := padded[T](s.N, s.N, pad)
	in := inside(uplo)
	for i := range s.N {
		for j := range s.N {
			if in(i, j) {
				g.Set(i, j, gen.At(i, j))
			}
		}
	}
	return la.Symmetric[T]{Uplo: uplo, N: s.N, Data: g.Data, Stride: g.Stride}
}

// general returns the memory of d; nothing if T is not float64.
func general[T la.Element](s la.Symmetric[T]) la.General[T] {
	return la.General[T]{Rows: s.N, Cols: s.N, Data: s.Data, Stride: s.Stride}
}

// hidden shows nothing of a matrix but what a method asks for.
type hidden[T la.Element] struct{ g la.General[T] }

func (h hidden[T]) Dims() (r, c int)  { return h.g.Dims() }
func (h hidden[T]) At(i, j int) T     { return h.g.At(i, j) }
func (h hidden[T]) Set(i, j int, v T) { h.g.Set(i, j, v) }
func (h hidden[T]) Zero()             { h.g.Zero() }
func (h hidden[T]) SymmetricDim() int { return h.g.Rows }

// panics returns what f panics with.
func panics(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}
