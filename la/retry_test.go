package la_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// TestRetries: an engine that retries gives the same bits if a task does its work and
// fails then, whichever it is. A matrix that has no factorization is not tried again.
func TestRetries(t *testing.T) {
	var s saboteur
	late := func(c *versions.Call, run func(*versions.Call) error) error { return errors.Join(run(c), errBroken) }
	const n = 22
	spd := symmetric[float64](t, matgen.Spec{Kind: matgen.SPD, N: n}, blas.Lower, 1)
	a := random[float64](rand.New(rand.NewPCG(5, 1)), n, n, 0)
	for name, opt := range map[string]la.Options{
		"tiles":  {Workers: 2, NB: 5, Direct: -1, Deterministic: true, Float: true},
		"direct": {Workers: 1, Deterministic: true},
	} {
		opt.Table = s.table()
		opt.Retries = 1
		e := start(t, opt)
		for what, f := range map[string]func() ([]float64, error){
			"cholesky": func() ([]float64, error) {
				c := la.NewCholesky[float64](e)
				err := c.Factorize(spd)
				if err != nil {
					return nil, err
				}
				return factor(t, c).x, nil
			},
			"lu": func() ([]float64, error) {
				f := la.NewLU[float64](e)
				b := clone(a)
				if err := f.Factorize(a); err != nil {
					return nil, err
				}
				err := f.SolveTo(b, false, clone(a))
				return b.Data[:n*n], err
			},
			"qr": func() ([]float64, error) {
				f := la.NewQR[float64](e)
				b := clone(a)
				if err := f.Factorize(a); err != nil {
					return nil, err
				}
				err := f.SolveTo(b, false, clone(a))
				return b.Data[:n*n], err
			},
			"gemm": func() ([]float64, error) {
				c := clone(a)
				err := la.Gemm(t.Context(), e, blas.NoTrans, blas.NoTrans, 1, a, a, 2, c)
				return c.Data[:n*n], err
			},
		} {
			s.arm(0, nil)
			want, err := f()
			if err != nil {
				t.Fatalf("%s, %s: %v", name, what, err)
			}
			total := int(s.calls.Load())
			for at := 1; at <= total; at += 1 + total/40 {
				s.arm(at, late)
				got, err := f()
				if err != nil || !slices.Equal(got, want) {
					t.Fatalf("%s, %s: another result after a failure in call %d of %d, or %v", name, what, at, total, err)
				}
			}
		}
	}
	e := start(t, la.Options{Workers: 1, NB: 5, Direct: -1, Deterministic: true, Table: s.table(), Retries: 3})
	a.Data[0] = -1
	s.arm(0, nil)
	var npd *la.NotPositiveDefiniteError
	err := la.NewCholesky[float64](e).Factorize(la.Symmetric[float64]{Uplo: blas.Lower, N: n, Data: a.Data, Stride: a.Stride})
	if calls := s.calls.Load(); !errors.As(err, &npd) || calls != 1 {
		t.Errorf("%d calls for a matrix that is not positive definite: %v", calls, err)
	}
}
