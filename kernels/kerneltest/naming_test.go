package kerneltest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/kerneltest"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// gemmOp returns op gemm on float64.
func gemmOp() *versions.Op {
	return &versions.Op{Name: "gemm", Type: "f64", Work: func(c *versions.Call) float64 {
		a, b := c.Args[1].(*kernels.Tile[float64]), c.Args[2].(*kernels.Tile[float64])
		k := a.Rows
		if c.Params.(*op.Gemm[float64]).TransB != blas.NoTrans {
			k = a.Cols
		}
		return 2 * float64(b.Rows) * float64(b.Cols) * float64(k)
	}}
}

// naive is a version of gemm in plain loops, by rows of C. It is right as long as nobody
// spoils it.
func naive(spoil func(p *op.Gemm[float64], a *kernels.Tile[float64])) *versions.Version {
	return &versions.Version{Name: "mine", Run: func(c *versions.Call) error {
		p := *c.Params.(*op.Gemm[float64])
		a, b, to := c.Args[0].(*kernels.Tile[float64]), c.Args[1].(*kernels.Tile[float64]), c.Args[2].(*kernels.Tile[float64])
		if spoil != nil {
			spoil(&p, a)
		}
		k := a.Cols
		if p.TransA != blas.NoTrans {
			k = a.Rows
		}
		for i := range to.Rows {
			row := to.Row(i)
			for j := range row {
				sum := 0.0
				if p.Beta != 0 {
					sum = p.Beta * row[j]
				}
				for l := 0; l < k && p.Alpha != 0; l++ {
					sum += p.Alpha * at(a, p.TransA, i, l) * at(b, p.TransB, l, j)
				}
				row[j] = sum
			}
		}
		return nil
	}}
}

// at returns element (i, j) of op(A).
func at(a *kernels.Tile[float64], trans blas.Transpose, i, j int) float64 {
	if trans != blas.NoTrans {
		i, j = j, i
	}
	return a.At(i, j)
}

// TestNaive: a version that keeps to what the packages kernels and kerneltest say passes.
func TestNaive(t *testing.T) { kerneltest.Version(t, gemmOp(), naive(nil)) }

// TestNames runs versions that do not, each in a process of its own, and looks at what a
// failure says.
func TestNames(t *testing.T) {
	versions := map[string]struct {
		spoil func(p *op.Gemm[float64], a *kernels.Tile[float64])
		want  []string
	}{
		"reads A although alpha is 0": {func(p *op.Gemm[float64], a *kernels.Tile[float64]) {
			if p.Alpha == 0 {
				p.Alpha = 1e-300
			}
		}, []string{"alpha=0", "the last call was gemm/f64 { TransA: N TransB: N Alpha: 0 Beta: 0 } of 33×35 with stride"}},
		"panics for an empty tile": {func(p *op.Gemm[float64], a *kernels.Tile[float64]) {
			_ = a.Data[0]
		}, []string{"gemm/f64 { TransA: N TransB: N Alpha: 1 Beta: 1 } of 0×", "unexpected error: panic: runtime error: index out of range"}},
	}
	const variable = "KERNELTEST_SPOIL"
	if v, ok := versions[os.Getenv(variable)]; ok {
		kerneltest.Version(t, gemmOp(), naive(v.spoil))
		return
	}
	for name, v := range versions {
		c := exec.Command(os.Args[0], "-test.run", "^TestNames$")
		c.Env = append(os.Environ(), variable+"="+name)
		out, err := c.CombinedOutput()
		if err == nil {
			t.Errorf("%s: it has passed:\n%s", name, out)
		}
		for _, want := range v.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: no %q in\n%s", name, want, out)
			}
		}
	}
}
