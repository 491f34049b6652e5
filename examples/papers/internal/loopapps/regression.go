package loopapps

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/kernels/cpu"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// Regression is ridge regression on random data: n rows with k features and a target, all uniform
// in [0, 1). The features are standardised by the mean and the (population) standard deviation of
// their columns. With a column of ones appended they are X, n×(k+1), and the regression solves
//
//	(XᵀX + λI)·beta = Xᵀy,  λ = 0.001
type Regression struct {
	n, k     int
	raw, y   []float64 // the features, n×k by rows, and the target
	x        []float64 // n×(k+1)
	beta     []float64
	want     []float64
	routines cpu.Routines[float64]
}

// lambda is λ.
const lambda = 0.001

// newRegression returns a regression on n rows of k features, at least one of each.
func newRegression(n, k int, seed uint64) *Regression {
	r := &Regression{n: n, k: k, raw: make([]float64, n*k), y: make([]float64, n), x: make([]float64, n*(k+1))}
	for i := range r.raw {
		r.raw[i] = uniform(seed, i)
	}
	for i := range r.y {
		r.y[i] = uniform(seed, len(r.raw)+i)
	}
	r.routines = cpu.Fastest[float64](cpu.Caches{})
	return r
}

// Bytes implements [Problem]: the data and X.
func (r *Regression) Bytes() int64 { return int64(8 * (len(r.raw) + len(r.y) + len(r.x))) }

// Run implements [Problem]. It has four loops over the rows: one for the means, one for the deviations, one
// that makes X and one for the products.
func (r *Regression) Run(ctx context.Context, rt exec.Runtime, opt loop.Options, sites *Sites) (loops []loop.Stats, err error) {
	next := func() loop.Options {
		loops = append(loops, loop.Stats{})
		o := opt
		o.Stats, o.Site = &loops[len(loops)-1], &sites[len(loops)-1]
		return o
	}
	loops = make([]loop.Stats, 0, len(Sites{})) // never reallocated, since pointers to its elements are kept
	k, m := r.k, r.k+1
	means, err := loop.Reduce(ctx, rt, r.n, next(), vector(k), func(c loop.Chunk, sum *[]float64) error {
		for i := c.Lo; i < c.Hi; i++ {
			for j, v := range r.raw[i*k : i*k+k] {
				(*sum)[j] += v
			}
		}
		return nil
	})
	if err != nil {
		return loops, err
	}
	for j := range means {
		means[j] /= float64(r.n)
	}
	deviations, err := loop.Reduce(ctx, rt, r.n, next(), vector(k), func(c loop.Chunk, sum *[]float64) error {
		for i := c.Lo; i < c.Hi; i++ {
			for j, v := range r.raw[i*k : i*k+k] {
				(*sum)[j] += (v - means[j]) * (v - means[j])
			}
		}
		return nil
	})
	if err != nil {
		return loops, err
	}
	for j := range deviations {
		deviations[j] = math.Sqrt(deviations[j] / float64(r.n))
		if deviations[j] == 0 {
			return loops, fmt.Errorf("feature %d is the same in all rows", j)
		}
	}
	if err := loop.For(ctx, rt, r.n, next(), func(c loop.Chunk) error {
		for i := c.Lo; i < c.Hi; i++ {
			to := r.x[i*m : i*m+m]
			for j, v := range r.raw[i*k : i*k+k] {
				to[j] = (v - means[j]) / deviations[j]
			}
			to[k] = 1
		}
		return nil
	}); err != nil {
		return loops, err
	}
	sums, err := loop.Reduce(ctx, rt, r.n, next(), r.products(), func(c loop.Chunk, sum *products) error {
		for lo := c.Lo; lo < c.Hi; lo += block {
			hi := min(lo+block, c.Hi)
			r.routines.Syrk(blas.Upper, blas.Trans, m, hi-lo, 1, r.x[lo*m:hi*m], m, 1, sum.a, m, sum.work)
			for i := lo; i < hi; i++ {
				for j, v := range r.x[i*m : i*m+m] {
					sum.b[j] += v * r.y[i]
				}
			}
		}
		return nil
	})
	if err != nil {
		return loops, err
	}
	r.beta, err = ridge(sums.a, sums.b)
	return loops, err
}

// products holds the upper triangle of XᵀX, Xᵀy, and the kernel's workspace.
type products struct{ a, b, work []float64 }

// products returns the reduction that adds products.
func (r *Regression) products() loop.Reduction[products] {
	m := r.k + 1
	entries, columns := vector(m*m), vector(m)
	return loop.Reduction[products]{
		New: func() products {
			return products{entries.New(), columns.New(), make([]float64, r.routines.Work(max(m, block)))}
		},
		Add: func(sum, part *products) {
			entries.Add(&sum.a, &part.a)
			columns.Add(&sum.b, &part.b)
		},
	}
}

// ridge returns the solution of (A + λI)·beta = b; a holds the upper triangle of A.
func ridge(a, b []float64) ([]float64, error) {
	m := len(b)
	for i := range m {
		a[i*m+i] += lambda
	}
	var chol mat.Cholesky
	if !chol.Factorize(mat.NewSymDense(m, a)) {
		return nil, errors.New("XᵀX + λI is not positive definite")
	}
	beta := mat.NewVecDense(m, nil)
	if err := chol.SolveVecTo(beta, mat.NewVecDense(m, b)); err != nil {
		return nil, err
	}
	return beta.RawVector().Data, nil
}

// Verify implements [Problem]. The first time it computes beta with gonum's routines, from the
// data on.
func (r *Regression) Verify(first bool) error {
	if first {
		if err := r.solve(); err != nil {
			return err
		}
	}
	for j, v := range r.beta {
		if d := math.Abs(v - r.want[j]); !(d < 1e-10) {
			return fmt.Errorf("beta[%d] is %v; gonum says %v", j, v, r.want[j])
		}
	}
	return nil
}

// solve solves the problem by gonum's routines.
func (r *Regression) solve() error {
	k, m := r.k, r.k+1
	raw := mat.NewDense(r.n, k, r.raw)
	x := mat.NewDense(r.n, m, nil)
	column := make([]float64, r.n)
	for j := range k {
		mat.Col(column, j, raw)
		mean, square := 0.0, 0.0
		for _, v := range column {
			mean += v / float64(r.n)
		}
		for _, v := range column {
			square += (v - mean) * (v - mean) / float64(r.n)
		}
		for i, v := range column {
			x.Set(i, j, (v-mean)/math.Sqrt(square))
		}
	}
	for i := range r.n {
		x.Set(i, k, 1)
	}
	var a mat.SymDense
	a.SymOuterK(1, x.T())
	for i := range m {
		a.SetSym(i, i, a.At(i, i)+lambda)
	}
	var b, want mat.VecDense
	b.MulVec(x.T(), mat.NewVecDense(r.n, r.y))
	var chol mat.Cholesky
	if !chol.Factorize(&a) {
		return errors.New("gonum finds XᵀX + λI not positive definite")
	}
	if err := chol.SolveVecTo(&want, &b); err != nil {
		return err
	}
	r.want = want.RawVector().Data
	return nil
}

// Describe implements [Problem].
func (r *Regression) Describe() string {
	return fmt.Sprintf("%d rows, %d features and a column of ones", r.n, r.k)
}
