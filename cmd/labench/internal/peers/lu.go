package peers

import (
	"math"

	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
)

// lu is A = P·L·U.
type lu[T matgen.Element] struct {
	size        Size
	a           []T // by rows
	columns     []T // A in columns
	oursF, theF []T // factors: ours by rows, theirs in columns
	pivots      []int32
	x, y        []float64 // y = A·x
	unit        float64
}

func newLU[T matgen.Element](seed uint64, size Size) (routine[T], error) {
	a, err := generate[T](matgen.Random, size, seed)
	if err != nil {
		return nil, err
	}
	f := judgeLU(seed+2, size, a)
	f.columns, f.oursF, f.theF = transposed(size, a), touched[T](len(a)), touched[T](len(a))
	f.pivots = make([]int32, min(size.M, size.N))
	return f, nil
}

// judgeLU returns what judges factors of A.
func judgeLU[T matgen.Element](seed uint64, size Size, a []T) *lu[T] {
	x := signs(seed, size.N)
	return &lu[T]{size: size, a: a, x: x, y: times(size.N, a, x), unit: float64(size.N) * infNorm(size.N, a) * epsilon[T]()}
}

func (f *lu[T]) ours(e *la.Engine) (call func() error, residual func() float64) {
	factors, a := la.NewLU[T](e), general(f.size, f.a)
	return func() error { return factors.Factorize(a) }, func() float64 {
		factors.FactorTo(general(f.size, f.oursF))
		return f.byRows(f.oursF, factors.Pivots(nil))
	}
}

// byRows returns ‖P·L·U·x - A·x‖∞ / (n·‖A‖∞·ε), which passes below factorBound.
// Row i of A is row at[i] of L·U.
func (f *lu[T]) byRows(g []T, at []int) float64 {
	m, n := f.size.M, f.size.N
	k := min(m, n)
	t := make([]float64, k) // U·x
	for i := range t {
		t[i] = dot(g[i*n+i:(i+1)*n], f.x[i:])
	}
	s := make([]float64, m) // L·U·x
	for i := range s {
		s[i] = dot(g[i*n:i*n+min(i, k)], t)
		if i < k {
			s[i] += t[i]
		}
	}
	z := make([]float64, m)
	for i := range z {
		z[i] = s[at[i]]
	}
	return distance(z, f.y) / f.unit
}

func (f *lu[T]) theirs(lib *library[T], _ byte) (restore func(), call func() int, residual func() float64) {
	return func() { copy(f.theF, f.columns) },
		func() int { return lib.getrf(f.size.M, f.size.N, f.theF, f.pivots) },
		func() float64 { return f.inColumns(f.theF, f.pivots) }
}

// inColumns is byRows for factors in columns and LAPACK's ipiv.
func (f *lu[T]) inColumns(g []T, ipiv []int32) float64 {
	m := f.size.M
	k := min(m, f.size.N)
	t := make([]float64, k)
	for j, x := range f.x {
		axpy(x, g[j*m:j*m+min(j+1, k)], t)
	}
	s := make([]float64, m)
	for j := range k {
		s[j] += t[j]
		axpy(t[j], g[j*m+j+1:(j+1)*m], s[j+1:])
	}
	for i := k - 1; i >= 0; i-- {
		r := int(ipiv[i]) - 1
		if r < 0 || r >= m {
			return math.Inf(1)
		}
		s[i], s[r] = s[r], s[i]
	}
	return distance(s, f.y) / f.unit
}

func (f *lu[T]) variants() string { return "-" }
func (f *lu[T]) bound() float64   { return factorBound }

func (f *lu[T]) tile(e *la.Engine) int {
	nb, _ := la.NewLU[T](e).TileSize(f.size.M, f.size.N)
	return nb
}
