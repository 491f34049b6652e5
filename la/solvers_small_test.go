package la_test

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

// exactRank returns the rank of a matrix of integers.
func exactRank(a *mat.Dense) (rank int) {
	m, n := a.Dims()
	x := make([][]*big.Rat, m)
	for i := range x {
		x[i] = make([]*big.Rat, n)
		for j := range x[i] {
			x[i][j] = new(big.Rat).SetFloat64(a.At(i, j))
		}
	}
	for j := 0; j < n && rank < m; j++ {
		p := rank
		for p < m && x[p][j].Sign() == 0 {
			p++
		}
		if p == m {
			continue
		}
		x[p], x[rank] = x[rank], x[p]
		for i := rank + 1; i < m; i++ {
			f := new(big.Rat).Quo(x[i][j], x[rank][j])
			for l := j; l < n; l++ {
				x[i][l].Sub(x[i][l], new(big.Rat).Mul(f, x[rank][l]))
			}
		}
		rank++
	}
	return rank
}

// TestSmallRanks: random small matrices of small integers, many of which are of deficient rank.
func TestSmallRanks(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 30))
	e := engineOf(t, la.Options{Workers: 2, NB: 3, Direct: -1})
	sketched, exact := la.NewPivotedQR[float64](e), la.NewPivotedQRWith[float64](nil, la.PivotedQROptions{Exact: true})
	ldl := la.NewLDL[float64](nil)
	for range 400 {
		m, n := 1+rng.IntN(9), 1+rng.IntN(9)
		a := mat.NewDense(m, n, nil)
		for i := range m {
			for j := range n {
				a.Set(i, j, float64(rng.IntN(4)*rng.IntN(2)-1))
			}
		}
		want := exactRank(a)
		for _, f := range []*la.PivotedQR[float64]{sketched, exact} {
			if err := f.Factorize(a); err != nil {
				t.Fatal(err)
			}
			if got := f.Rank(1e-10); got != want {
				t.Fatalf("%v: rank %d, want %d", mat.Formatted(a), got, want)
			}
		}
		// The solution of least norm is that of the singular value decomposition.
		b := mat.NewDense(m, 1, nil)
		for i := range m {
			b.Set(i, 0, rng.NormFloat64())
		}
		var x, y mat.Dense
		var rank int
		if err := la.LeastSquares[float64](t.Context(), e, &x, a, b, la.LeastNorm{Rank: &rank}); err != nil || rank != want {
			t.Fatalf("%v: LeastSquares: rank %d, want %d, %v", mat.Formatted(a), rank, want, err)
		}
		var svd la.SVD[float64]
		if err := errors.Join(svd.Factorize(a, mat.SVDThin), svd.SolveTo(&y, b, want)); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if d := math.Abs(x.At(i, 0) - y.At(i, 0)); !(d <= 1e-9*(1+mat.Norm(&y, 2))) {
				t.Fatalf("%v: solution %v, want %v", mat.Formatted(a), mat.Formatted(&x), mat.Formatted(&y))
			}
		}
		// A symmetric matrix: Sylvester's law.
		s := mat.NewSymDense(n, nil)
		for i := range n {
			for j := i; j < n; j++ {
				s.SetSym(i, j, float64(rng.IntN(4)*rng.IntN(2)-1))
			}
		}
		err := ldl.Factorize(s)
		if _, singular := errors.AsType[*la.SingularError](err); err != nil && !singular {
			t.Fatal(err)
		}
		values, err := la.Eigenvalues[float64](t.Context(), nil, s)
		if err != nil {
			t.Fatal(err)
		}
		positive, negative, zero := ldl.Inertia()
		p, q := 0, 0
		for _, v := range values {
			if v > 1e-9 {
				p++
			} else if v < -1e-9 {
				q++
			}
		}
		if positive < p || negative < q || positive+negative+zero != n {
			t.Fatalf("%v: inertia %d, %d, %d, want at least %d, %d", mat.Formatted(s), positive, negative, zero, p, q)
		}
	}
}

// TestSmallUpdates: a long walk of changes of a small factor ends where a new factorization begins.
func TestSmallUpdates(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 31))
	for _, e := range []*la.Engine{nil, engineOf(t, la.Options{Workers: 2, NB: 2, Direct: -1})} {
		a := mat.NewSymDense(3, []float64{4, 1, 0, 1, 4, 1, 0, 1, 4})
		c := la.NewCholesky[float64](e)
		if err := c.Factorize(a); err != nil {
			t.Fatal(err)
		}
		for step := range 300 {
			n := c.SymmetricDim()
			switch rng.IntN(4) {
			case 0, 1:
				x := mat.NewVecDense(n, nil)
				for i := range n {
					x.SetVec(i, float64(rng.IntN(3)-1))
				}
				alpha := []float64{0.5, 1, -0.25, -1}[rng.IntN(4)]
				var next mat.SymDense
				next.SymRankOne(a, alpha, x)
				err := c.SymRankOne(c, alpha, x)
				var eigen mat.EigenSym
				eigen.Factorize(&next, false)
				least := eigen.Values(nil)[0]
				if err != nil {
					if _, ok := errors.AsType[*la.NotPositiveDefiniteError](err); !ok || least > 1e-6 {
						t.Fatalf("step %d: %v, and the least eigenvalue is %v", step, err, least)
					}
					continue
				}
				if least < -1e-6 {
					t.Fatalf("step %d: no error, and the least eigenvalue is %v", step, least)
				}
				a = &next
				if least < 0.1 { // the errors of what is left grow
					a.SymRankOne(a, 1, mat.NewVecDense(n, append([]float64{1}, make([]float64, n-1)...)))
					for i := range n {
						a.SetSym(i, i, a.At(i, i)+1)
					}
					if err := c.Factorize(a); err != nil {
						t.Fatal(err)
					}
				}
			case 2:
				if n == 7 {
					continue
				}
				v, next := mat.NewVecDense(n+1, nil), mat.NewSymDense(n+1, nil)
				for i := range n {
					v.SetVec(i, float64(rng.IntN(3)-1)/4)
					next.SetSym(i, n, v.AtVec(i))
					for j := i; j < n; j++ {
						next.SetSym(i, j, a.At(i, j))
					}
				}
				v.SetVec(n, 5)
				next.SetSym(n, n, 5)
				if err := c.ExtendVecSym(c, v); err != nil {
					t.Fatalf("step %d: %v", step, err)
				}
				a = next
			case 3:
				if n == 1 {
					continue
				}
				drop, next := rng.IntN(n), mat.NewSymDense(n-1, nil)
				for i := range n - 1 {
					for j := i; j < n-1; j++ {
						p, q := i, j
						if p >= drop {
							p++
						}
						if q >= drop {
							q++
						}
						next.SetSym(i, j, a.At(p, q))
					}
				}
				if err := c.DropVecSym(c, drop); err != nil {
					t.Fatalf("step %d: %v", step, err)
				}
				a = next
			}
			if r := factorError(c, func(i, j int) float64 { return a.At(i, j) }, 0x1p-52); !(r < 1e5) {
				t.Fatalf("step %d, order %d: residual %.3g", step, c.SymmetricDim(), r)
			}
		}
	}
}
