package peers

import (
	"math"

	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// qr is A = Q·R.
type qr[T matgen.Element] struct {
	size         Size
	a, columns   []T // by rows and in columns
	r            []T // ours
	theF         []T // theirs, in columns
	tau, work    []T
	x, y         []float64 // y = A·x
	unit, angles float64   // of the residuals
}

func newQR[T matgen.Element](seed uint64, size Size) (routine[T], error) {
	a, err := generate[T](matgen.Random, size, seed)
	if err != nil {
		return nil, err
	}
	k := min(size.M, size.N)
	q := &qr[T]{size: size, a: a, columns: transposed(size, a), r: touched[T](k * size.N), theF: touched[T](len(a)), tau: make([]T, k),
		x: signs(seed+2, size.N)}
	q.y = times(size.N, a, q.x)
	q.angles = float64(size.M) * epsilon[T]()
	q.unit = q.angles * infNorm(size.N, a)
	return q, nil
}

func (q *qr[T]) ours(e *la.Engine) (call func() error, residual func() float64) {
	f, a := la.NewQR[T](e), general(q.size, q.a)
	m, n := q.size.M, q.size.N
	k := min(m, n)
	apply := func(trans bool, x []float64) ([]float64, error) {
		v := la.General[T]{Rows: m, Cols: 1, Stride: 1, Data: make([]T, m)}
		for i, s := range x {
			v.Data[i] = T(s)
		}
		err := f.ApplyQTo(v, blas.Left, trans, v)
		y := make([]float64, m)
		for i, s := range v.Data {
			y[i] = float64(s)
		}
		return y, err
	}
	return func() error { return f.Factorize(a) }, func() float64 {
		f.RTo(general(Size{k, n}, q.r))
		t := make([]float64, m) // R·x
		for i := range k {
			t[i] = dot(q.r[i*n+i:(i+1)*n], q.x[i:])
		}
		return q.judge(t, apply)
	}
}

// judge returns the larger of ‖Q·t - A·x‖∞ / (m·‖A‖∞·ε), where t = R·x, and
// ‖QᵀQ·z - z‖∞ / (m·ε) for signs z. Both pass below factorBound.
func (q *qr[T]) judge(t []float64, apply func(trans bool, x []float64) ([]float64, error)) float64 {
	qt, err := apply(false, t)
	if err != nil {
		return math.Inf(1)
	}
	z := signs(1, q.size.M)
	there, err := apply(false, z)
	if err != nil {
		return math.Inf(1)
	}
	back, err := apply(true, there)
	if err != nil {
		return math.Inf(1)
	}
	return max(distance(qt, q.y)/q.unit, distance(back, z)/q.angles)
}

func (q *qr[T]) theirs(lib *library[T], _ byte) (restore func(), call func() int, residual func() float64) {
	m, n := q.size.M, q.size.N
	if q.work == nil {
		q.work = make([]T, lib.geqrfWork(m, n))
	}
	apply := func(trans bool, x []float64) ([]float64, error) {
		y := append([]float64(nil), x...)
		for i := range q.tau {
			j := i
			if !trans {
				j = len(q.tau) - 1 - i
			}
			// y = (I - tau·v·vᵀ)·y with v = [1; what is below the diagonal].
			v := q.theF[j*m+j+1 : (j+1)*m]
			w := float64(q.tau[j]) * (y[j] + dot(v, y[j+1:]))
			y[j] -= w
			axpy(-w, v, y[j+1:])
		}
		return y, nil
	}
	return func() { copy(q.theF, q.columns) },
		func() int { return lib.geqrf(m, n, q.theF, q.tau, q.work) },
		func() float64 {
			t := make([]float64, m)
			for j, x := range q.x {
				axpy(x, q.theF[j*m:j*m+min(j+1, m)], t)
			}
			return q.judge(t, apply)
		}
}

func (q *qr[T]) variants() string { return "-" }
func (q *qr[T]) bound() float64   { return factorBound }

func (q *qr[T]) tile(e *la.Engine) int {
	nb, _ := la.NewQR[T](e).TileSize(q.size.M, q.size.N)
	return nb
}
