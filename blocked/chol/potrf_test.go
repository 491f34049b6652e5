package chol_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/chol"
	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/kernels"
	"gonum.org/v1/gonum/blas"
)

func testPotrf[T blocked.Element](t *testing.T, rt *exec.Local) {
	for _, kind := range blockedtest.FactorKinds() {
		uplo := blockedtest.TriangleOf(kind)
		for _, nb := range []int{1, 3, 7} {
			for _, n := range []int{0, 1, nb - 1, nb, nb + 1, 2*nb - 1, 2*nb + 1, 4*nb + 2} {
				what := fmt.Sprintf("%v, n %d, nb %d", kind, n, nb)
				g := blockedtest.Generated[T](t, matgen.Spec{Kind: matgen.SPDCond, N: n}, uplo)
				g0 := blockedtest.CopyOf(g)
				mt := blockedtest.TileCount(n, nb)
				blockedtest.Must(t, rt, what, mt*(mt+1)*(mt+2)/6, func(p *blocked.Program[T]) error { return chol.Potrf(p, blockedtest.ViewKind(g, kind, nb)) })
				blockedtest.Kept(t, what, g, g0, blockedtest.InTriangle(uplo))
				l := blockedtest.Of(g, blas.NoTrans).Only(uplo)
				if uplo == blas.Upper {
					l = l.T()
				}
				a := blockedtest.Of(g0, blas.NoTrans).Mirrored(uplo)
				residual := blockedtest.Minus(1, l.Times(l.T(), n), 1, a).Norm(n, n)
				if limit := 30 * float64(n) * a.Norm(n, n) * blockedtest.Roundoff[T](); !(residual <= limit) {
					t.Errorf("%s: ‖LLᵀ−A‖ = %g, want at most %g", what, residual, limit)
				}
			}
		}
	}
}

func TestPotrf(t *testing.T) {
	for _, opt := range []exec.Options{{Workers: 1}, {Workers: 3, Float: true, Window: 5}} {
		rt := blockedtest.StartLocal(t, opt)
		testPotrf[float64](t, rt)
		testPotrf[float32](t, rt)
	}
}

// TestPotrfMinor lets every minor fail, with others after it.
func TestPotrfMinor(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 3, Float: true})
	rnd := rand.New(rand.NewPCG(2, 1))
	const n, nb = 11, 3
	for _, kind := range blockedtest.FactorKinds() {
		for minor := 1; minor <= n; minor++ {
			g := blockedtest.Generated[float64](t, matgen.Spec{Kind: matgen.Indefinite, N: n, Minor: minor}, blockedtest.TriangleOf(kind))
			for i := minor; i < n; i++ {
				g.Set(i, i, float64(rnd.IntN(3)-1))
			}
			_, err := blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error { return chol.Potrf(p, blockedtest.ViewKind(g, kind, nb)) })
			var npd *kernels.NotPositiveDefiniteError
			var task *exec.TaskError
			if !errors.As(err, &npd) || npd.Minor != minor || !errors.As(err, &task) || task.Op != "potrf/f64" {
				t.Errorf("%v: %v, want minor %d", kind, err, minor)
			}
		}
	}
}

func TestPotrfPanics(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 1})
	blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error {
		if v := blockedtest.Recovered(func() { chol.Potrf(p, blocked.New[float64](blocked.Full, 3, 4, 2)) }); v != blocked.ErrShape {
			t.Errorf("panic %v", v)
		}
		return nil
	})
}

// TestProgramSequence solves a system, multiplies back and takes the difference, all without waiting in between.
func TestProgramSequence(t *testing.T) {
	for _, opt := range []exec.Options{{Workers: 1}, {Workers: 3, Float: true}, {Workers: 2, Window: 3}} {
		rt := blockedtest.StartLocal(t, opt)
		rnd := rand.New(rand.NewPCG(1, 1))
		const n, nrhs, nb = 23, 9, 4
		full := blockedtest.Normal[float64](rnd, n, n)
		for i := range n {
			full.Set(i, i, 2*n)
			for j := range i {
				full.Set(i, j, full.At(j, i))
			}
		}
		rhs := blockedtest.Normal[float64](rnd, n, nrhs)
		a, _ := blocked.From[float64](full, blocked.SymLower, nb, blocked.CopyOptions{})
		full4, x, r := blocked.View(full, nb), blocked.View(blockedtest.CopyOf(rhs), nb), blocked.View(blockedtest.CopyOf(rhs), nb)
		_, err := blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error {
			return errors.Join(
				chol.Potrf(p, a),
				p.Trsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, 1, a, x),
				p.Trsm(blas.Left, blas.Lower, blas.Trans, blas.NonUnit, 1, a, x),
				p.Gemm(blas.NoTrans, blas.NoTrans, -1, full4, x, 1, r),
			)
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			for j := range nrhs {
				if v := r.At(i, j); !(math.Abs(v) < 1e-13) {
					t.Fatalf("%+v: residual (%d, %d) is %v", opt, i, j, v)
				}
			}
		}
	}
}
