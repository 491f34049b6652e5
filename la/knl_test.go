package la_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// TestDeclaredKNL declares the processor to be a KNL, so that the versions for
// several units run, in gangs, on any machine with AVX-512F.
func TestDeclaredKNL(t *testing.T) {
	processor := topo.Identify()
	if op.NewTable().Op("gemm", "f64").Version("knl") == nil || !processor.Has("avx512f") {
		t.Skip("no AVX-512F here")
	}
	for _, workers := range []int{1, 2, 3} {
		rec := &trace.Recorder{}
		e, err := la.NewEngine(la.Options{Workers: workers, NB: 100, Only: []string{"knl"}, Trace: rec,
			Target: versions.Target{Processor: "KNL", Units: 2}})
		if err != nil {
			t.Fatal(err)
		}
		const n = 777
		a := mat.NewSymDense(n, nil)
		for i := range n {
			for j := i; j < n; j++ {
				a.SetSym(i, j, 1/float64(1+i+j))
			}
			a.SetSym(i, i, 2)
		}
		c := la.NewCholesky[float64](e)
		if err := c.Factorize(a); err != nil {
			t.Fatal(err)
		}
		var u mat.TriDense
		c.UTo(&u)
		var back mat.Dense
		if err := la.Gemm[float64](context.Background(), e, blas.Trans, blas.NoTrans, 1, &u, &u, 0, &back); err != nil {
			t.Fatal(err)
		}
		back.Sub(&back, a)
		if r := mat.Norm(&back, 1) / (n * mat.Norm(a, 1) * 0x1p-53); r > 30 {
			t.Errorf("%d workers: residual %g", workers, r)
		}
		for _, u := range rec.Summary().Usage {
			if u.Version != "knl" && u.Op != "load/f64" { // which has one version
				t.Errorf("%d workers: %s ran as %s", workers, u.Op, u.Version)
			}
		}
		e.Close()
	}
	// Without the declaration the version is not for this machine.
	if _, err := la.NewEngine(la.Options{Only: []string{"knl"}}); err == nil && !processor.KNL() {
		t.Error("version knl is eligible on a processor that is not one")
	}
}

// TestXeonAndKNL has workers of two kinds in one engine. As in the paper only gemm has
// a version for the one; all else stays on the other.
func TestXeonAndKNL(t *testing.T) {
	table := op.NewTable()
	for _, op := range table.All() {
		for i := range op.Versions {
			op.Versions[i].Constraints.Processor = "Xeon"
		}
	}
	gemm := table.Op("gemm", "f64")
	table.Add(gemm, versions.Version{Name: "knl-go", Run: gemm.Version("go").Run, Constraints: versions.Constraints{Processor: "KNL"}})
	a := symmetric[float64](t, matgen.Spec{Kind: matgen.SPDCond, N: 320}, blas.Lower, 1)
	for _, opt := range []la.Options{{}, {Deterministic: true}, {Policy: dispatch.EarliestFinish}, {Policy: dispatch.FIFOData}} {
		rec := &trace.Recorder{}
		opt.Table, opt.NB, opt.Direct, opt.Trace = table, 20, -1, rec
		opt.Resources = []exec.Resource{
			{Workers: 1, Target: versions.Target{Processor: "Phi 7210 (KNL)"}},
			{Workers: 1, Target: versions.Target{Processor: "Intel Xeon 6126"}},
		}
		e := start(t, opt)
		chol := la.NewCholesky[float64](e)
		if err := chol.Factorize(a); err != nil {
			t.Fatal(err)
		}
		small(t, choleskyResidual[float64](factor(t, chol), load[float64](a, blas.NoTrans)), 30, "%v", opt.Policy)
		onKNL := 0
		for _, x := range rec.Recording().Events {
			knl := x.Worker == 0
			if knl {
				onKNL++
			}
			if knl != (x.Version == "knl-go") || knl && !strings.HasPrefix(x.Op, "gemm/") {
				t.Fatalf("%s ran as %s on worker %d", x.Op, x.Version, x.Worker)
			}
		}
		if onKNL == 0 && opt.Deterministic { // which has one version of gemm, that of the first kind
			t.Error("nothing ran on the KNL")
		}
	}
	if err := (&la.Options{Workers: 1, Resources: []exec.Resource{{}}}).Validate(); err == nil || !strings.Contains(err.Error(), "Resources") {
		t.Errorf("Workers and Resources: %v", err)
	}
}
