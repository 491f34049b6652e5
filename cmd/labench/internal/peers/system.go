package peers

import (
	"context"

	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// system is A·x = b for one right-hand side: by LU, by Cholesky, or for a
// rectangular A the x that minimizes ‖b − A·x‖₂, by QR.
type system[T matgen.Element] struct {
	op         Op
	size       Size
	a, columns []T // by rows and in columns
	b          []T
	x          []T // ours
	theA, theX []T
	pivots     []int32
	work       []T
	norm       float64 // ‖A‖∞ …
	norm1      float64 // … and ‖A‖₁
}

func newSystem[T matgen.Element](seed uint64, op Op, size Size) (routine[T], error) {
	kind := matgen.Random
	if op == SolveSPD {
		kind = matgen.SPD
	}
	a, err := generate[T](kind, size, seed)
	if err != nil {
		return nil, err
	}
	b, err := generate[T](matgen.Random, Size{size.M, 1}, seed+1)
	if err != nil {
		return nil, err
	}
	s := &system[T]{op: op, size: size, a: a, columns: transposed(size, a), b: b, x: touched[T](size.N), theA: touched[T](len(a)),
		theX: touched[T](size.M), pivots: make([]int32, size.N), norm: infNorm(size.N, a)}
	s.norm1 = infNorm(size.M, s.columns)
	return s, nil
}

func (s *system[T]) ours(e *la.Engine) (call func() error, residual func() float64) {
	a, b, x := general(s.size, s.a), general(Size{s.size.M, 1}, s.b), general(Size{s.size.N, 1}, s.x)
	call = func() error {
		f := la.NewLU[T](e)
		if err := f.Factorize(a); err != nil {
			return err
		}
		return f.SolveTo(x, false, b)
	}
	switch s.op {
	case SolveSPD:
		upper := la.Symmetric[T]{Uplo: blas.Upper, N: s.size.N, Data: s.a, Stride: s.size.N}
		call = func() error {
			c := la.NewCholesky[T](e)
			if err := c.Factorize(upper); err != nil {
				return err
			}
			return c.SolveTo(x, b)
		}
	case LeastSquares:
		call = func() error { return la.LeastSquares[T](context.Background(), e, x, a, b) }
	}
	return call, func() float64 { return s.judge(s.x) }
}

// judge returns ‖b - A·x‖∞ / (n·‖A‖∞·‖x‖∞·ε), or for a least-squares problem
// ‖Aᵀ(b - A·x)‖∞ / (m·‖Aᵀ‖∞·(‖A‖∞·‖x‖∞ + ‖b‖∞)·ε). It passes below factorBound.
func (s *system[T]) judge(x []T) float64 {
	m, n := s.size.M, s.size.N
	wide := func(x []T) []float64 {
		y := make([]float64, len(x))
		for i, v := range x {
			y[i] = float64(v)
		}
		return y
	}
	b, t := wide(s.b), wide(x[:n])
	sizeX, sizeB := distance(t, make([]float64, n)), distance(b, make([]float64, m))
	r := times(n, s.a, t)
	if s.op != LeastSquares {
		return distance(r, b) / (float64(n) * s.norm * sizeX * epsilon[T]())
	}
	for i, v := range b {
		r[i] = v - r[i]
	}
	angles := times(m, s.columns, r)
	return distance(angles, make([]float64, n)) / (float64(m) * s.norm1 * (s.norm*sizeX + sizeB) * epsilon[T]())
}

func (s *system[T]) theirs(lib *library[T], uplo byte) (restore func(), call func() int, residual func() float64) {
	m, n := s.size.M, s.size.N
	call = func() int { return lib.gesv(n, 1, s.theA, s.pivots, s.theX) }
	switch s.op {
	case SolveSPD:
		call = func() int { return lib.posv(uplo, n, 1, s.theA, s.theX) }
	case LeastSquares:
		if s.work == nil {
			s.work = make([]T, lib.gelsWork(m, n, 1))
		}
		call = func() int { return lib.gels(m, n, 1, s.theA, s.theX, s.work) }
	}
	return func() { copy(s.theA, s.columns); copy(s.theX, s.b) }, call, func() float64 { return s.judge(s.theX) }
}

func (s *system[T]) variants() string {
	if s.op == SolveSPD {
		return "LU" // posv's triangles
	}
	return "-"
}

func (s *system[T]) bound() float64 { return factorBound }

func (s *system[T]) tile(e *la.Engine) (nb int) {
	switch s.op {
	case SolveSPD:
		nb, _ = la.TileSize[T](e, la.OpCholesky, s.size.N, s.size.N)
	case LeastSquares:
		nb, _ = la.NewQR[T](e).TileSize(s.size.M, s.size.N)
	default:
		nb, _ = la.TileSize[T](e, la.OpLU, s.size.N, s.size.N)
	}
	return nb
}
