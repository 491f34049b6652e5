package blocked_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/chol"
	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// splitting returns ops whose preferred versions, "split", cut their tiles into
// tiles of nb and run the tile algorithm on them, as children of the task: what a
// CPU does with tiles that are as large as a GPU wants them.
func splitting(t *testing.T, nb int) kernels.Ops[float64] {
	table := op.NewTable()
	inner := kernels.For[float64](op.NewTable())
	view := func(c *versions.Call, i int) blocked.General[float64] {
		a := c.Args[i].(*blocked.Tile[float64])
		return blocked.General[float64]{Rows: a.Rows, Cols: a.Cols, Stride: a.Stride, Data: a.Data}
	}
	full := func(c *versions.Call, i int) *blocked.Matrix[float64] { return blocked.View(view(c, i), nb) }
	triangle := func(c *versions.Call, i int, uplo blas.Uplo, symmetric bool) *blocked.Matrix[float64] {
		g := view(c, i)
		if symmetric {
			return blocked.ViewSymmetric(blocked.Symmetric[float64]{Uplo: uplo, N: g.Rows, Data: g.Data, Stride: g.Stride}, nb)
		}
		return blocked.ViewTriangular(blocked.Triangular[float64]{Uplo: uplo, Diag: blas.NonUnit, N: g.Rows, Data: g.Data, Stride: g.Stride}, nb)
	}
	split := func(op *versions.Op, run func(*versions.Call, *blocked.Program[float64]) error) {
		table.Add(op, versions.Version{Name: "split", Run: func(c *versions.Call) error {
			children, err := exec.Nested(c)
			if err != nil {
				return err
			}
			return run(c, blocked.NewProgram(children, inner))
		}})
	}
	ops := kernels.For[float64](table)
	split(ops.Op("potrf"), func(c *versions.Call, p *blocked.Program[float64]) error {
		return chol.Potrf(p, triangle(c, 0, c.Params.(*op.Potrf).Uplo, true))
	})
	split(ops.Op("trsm"), func(c *versions.Call, p *blocked.Program[float64]) error {
		k := c.Params.(*op.Trsm[float64])
		return p.Trsm(k.Side, k.Uplo, k.Trans, k.Diag, k.Alpha, triangle(c, 0, k.Uplo, false), full(c, 1))
	})
	split(ops.Op("syrk"), func(c *versions.Call, p *blocked.Program[float64]) error {
		k := c.Params.(*op.Syrk[float64])
		return p.Syrk(k.Trans, k.Alpha, full(c, 0), k.Beta, triangle(c, 1, k.Uplo, true))
	})
	split(ops.Op("gemm"), func(c *versions.Call, p *blocked.Program[float64]) error {
		k := c.Params.(*op.Gemm[float64])
		return p.Gemm(k.TransA, k.TransB, k.Alpha, full(c, 0), full(c, 1), k.Beta, full(c, 2))
	})
	return ops
}

// TestNestedCholesky factors with tiles whose tasks have the tasks of smaller
// tiles as children, and expects the bits of the factorization in small tiles
// within each update, whatever the policy and the number of workers.
func TestNestedCholesky(t *testing.T) {
	const n, nb, small = 230, 64, 24
	for _, kind := range []blocked.Kind{blocked.SymLower, blocked.SymUpper} {
		uplo := kind.Uplo()
		want := ""
		for _, policy := range dispatch.Kinds() {
			for _, workers := range []int{1, 2, 3} {
				g := blockedtest.Generated[float64](t, matgen.Spec{Kind: matgen.SPD, N: n, Seed: 3}, uplo)
				a := blockedtest.ViewKind(g, kind, nb)
				rt, err := exec.NewLocal(exec.Options{Workers: workers, Policy: policy, Window: 30})
				if err != nil {
					t.Fatal(err)
				}
				job := rt.NewJob(context.Background())
				if err := chol.Potrf(blocked.NewProgram(job, splitting(t, small)), a); err != nil {
					t.Fatal(err)
				}
				err = job.Wait()
				rt.Close()
				if err != nil {
					t.Fatalf("%v, %v, %d workers: %v", kind, policy, workers, err)
				}
				l := blockedtest.Of(g, blas.NoTrans).Only(uplo)
				if uplo == blas.Upper {
					l = l.T()
				}
				original := blockedtest.Of(blockedtest.Generated[float64](t, matgen.Spec{Kind: matgen.SPD, N: n, Seed: 3}, uplo), blas.NoTrans).Mirrored(uplo)
				if want == "" {
					residual := blockedtest.Minus(1, l.Times(l.T(), n), 1, original).Norm(n, n)
					if limit := 30 * n * original.Norm(n, n) * blockedtest.Roundoff[float64](); !(residual <= limit) {
						t.Errorf("%v: ‖LLᵀ−A‖ = %g, want at most %g", kind, residual, limit)
					}
				}
				if got := fmt.Sprint(g.Data); want == "" {
					want = got
				} else if got != want {
					t.Errorf("%v, %v, %d workers: other bits", kind, policy, workers)
				}
			}
		}
	}
}

// TestNestedNotDefinite: the failing minor of a child is the job's error.
func TestNestedNotDefinite(t *testing.T) {
	const n, nb, small, bad = 100, 40, 16, 73
	g := blockedtest.Generated[float64](t, matgen.Spec{Kind: matgen.SPD, N: n, Seed: 3}, blas.Lower)
	g.Set(bad-1, bad-1, -1)
	rt, err := exec.NewLocal(exec.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	job := rt.NewJob(context.Background())
	chol.Potrf(blocked.NewProgram(job, splitting(t, small)), blockedtest.ViewKind(g, blocked.SymLower, nb))
	var minor *kernels.NotPositiveDefiniteError
	// The child counts from the top of its parent's tile, the second one.
	if err := job.Wait(); !errors.As(err, &minor) || minor.Minor != bad-nb {
		t.Errorf("%v", err)
	}
}
