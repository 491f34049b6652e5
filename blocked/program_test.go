package blocked_test

import (
	"errors"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/chol"
	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"go.uber.org/goleak"
	"gonum.org/v1/gonum/blas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestProgramWait waits for tiles while the rest is computed.
func TestProgramWait(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 2})
	const n, nb = 40, 4
	a := blocked.New[float64](blocked.SymLower, n, n, nb)
	for i := range n {
		a.Set(i, i, 4)
	}
	job := rt.NewJob(t.Context())
	p := blocked.NewProgram(job, kernels.For[float64](op.NewTable()))
	if err := chol.Potrf(p, a); err != nil {
		t.Fatal(err)
	}
	for k := range n / nb {
		if err := p.Wait(a, k, k); err != nil {
			t.Fatal(err)
		}
		if got := a.Tile(k, k).At(1, 1); got != 2 {
			t.Errorf("tile %d holds %v, want 2", k, got)
		}
	}
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	if v := blockedtest.Recovered(func() { p.Wait(a, 0, 1) }); v != blocked.ErrNotStored {
		t.Errorf("waiting for a tile that is not there panics with %v", v)
	}

	// The second tile cannot be had, the first can.
	b := blocked.New[float64](blocked.SymLower, n, n, nb)
	for i := range n {
		b.Set(i, i, 1)
	}
	b.Set(nb+2, nb+2, -1)
	job = rt.NewJob(t.Context())
	p = blocked.NewProgram(job, kernels.For[float64](op.NewTable()))
	failed := chol.Potrf(p, b)
	if failed == nil {
		if err := p.Wait(b, 0, 0); err != nil {
			t.Errorf("tile (0, 0): %v", err)
		}
		failed = p.Wait(b, 9, 9)
	}
	var npd *kernels.NotPositiveDefiniteError
	if !errors.As(failed, &npd) || npd.Minor != nb+3 {
		t.Errorf("tile (9, 9): %v, want minor %d", failed, nb+3)
	}
	if err := job.Wait(); !errors.As(err, &npd) || npd.Minor != nb+3 {
		t.Errorf("%v, want minor %d", err, nb+3)
	}
}

// TestProgramEnded checks that submissions end with their job.
func TestProgramEnded(t *testing.T) {
	blockedtest.EndedWithJob(t, func(p *blocked.Program[float64]) map[string]error {
		a := blocked.New[float64](blocked.Full, 9, 9, 4)
		s := blocked.New[float64](blocked.SymLower, 9, 9, 4)
		w := blocked.New[float64](blocked.TriLower, 9, 9, 4)
		return map[string]error{
			"gemm":       p.Gemm(blas.NoTrans, blas.NoTrans, 1, a, a, 0, blocked.New[float64](blocked.Full, 9, 9, 4)),
			"gemm scale": p.Gemm(blas.NoTrans, blas.NoTrans, 0, a, a, 0, a),
			"syrk":       p.Syrk(blas.NoTrans, 1, a, 0, s),
			"syrk scale": p.Syrk(blas.NoTrans, 0, a, 0, s),
			"trsm":       p.Trsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, 1, s, a),
			"potrf":      chol.Potrf(p, s),
			"potri":      chol.Potri(p, s, w, blocked.New[float64](blocked.SymUpper, 9, 9, 4)),
		}
	})
}

// TestPotrfGraph compares the tasks of a factorization, with their operands
// and what they wait for, with the ones that the algorithm has.
func TestPotrfGraph(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 1, Stories: 100})
	for kind, want := range map[blocked.Kind]string{
		blocked.SymLower: `
potrf(INOUT A(0,0))
trsm(IN A(0,0), INOUT A(1,0)) after 1
trsm(IN A(0,0), INOUT A(2,0)) after 1
syrk(IN A(1,0), INOUT A(1,1)) after 2
syrk(IN A(2,0), INOUT A(2,2)) after 3
gemm(IN A(2,0), IN A(1,0), INOUT A(2,1)) after 3 2
potrf(INOUT A(1,1)) after 4
trsm(IN A(1,1), INOUT A(2,1)) after 7 6
syrk(IN A(2,1), INOUT A(2,2)) after 8 5
potrf(INOUT A(2,2)) after 9
`,
		blocked.TriUpper: `
potrf(INOUT A(0,0))
trsm(IN A(0,0), INOUT A(0,1)) after 1
trsm(IN A(0,0), INOUT A(0,2)) after 1
syrk(IN A(0,1), INOUT A(1,1)) after 2
syrk(IN A(0,2), INOUT A(2,2)) after 3
gemm(IN A(0,1), IN A(0,2), INOUT A(1,2)) after 2 3
potrf(INOUT A(1,1)) after 4
trsm(IN A(1,1), INOUT A(1,2)) after 7 6
syrk(IN A(1,2), INOUT A(2,2)) after 8 5
potrf(INOUT A(2,2)) after 9
`,
	} {
		a := blocked.New[float64](kind, 5, 5, 2)
		a.SetIdentity()
		job := rt.NewJob(t.Context())
		p := blocked.NewProgram(job, kernels.For[float64](op.NewTable()))
		if err := chol.Potrf(p, a); err != nil {
			t.Fatal(err)
		}
		if err := job.Wait(); err != nil {
			t.Fatal(err)
		}
		if got := blockedtest.Told(t, job, p.Len()); got != want {
			t.Errorf("%v: tasks are%swant%s", kind, got, want)
		}
	}
}
