package blocked_test

import (
	"context"
	"math"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/chol"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
)

// TestPotriTwice inverts two matrices in one program through one W, without
// waiting in between.
func TestPotriTwice(t *testing.T) {
	rt, err := exec.NewLocal(exec.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	const n, nb = 256, 32
	l := blocked.New[float64](blocked.SymLower, n, n, nb)
	for i := range n {
		for j := range i {
			l.Set(i, j, 1/float64(n+i+j))
		}
		l.Set(i, i, 2)
	}
	other := l.Clone()
	w := blocked.New[float64](blocked.TriLower, n, n, nb)
	c1, c2 := blocked.New[float64](blocked.SymLower, n, n, nb), blocked.New[float64](blocked.SymLower, n, n, nb)
	job := rt.NewJob(context.Background())
	p := blocked.NewProgram(job, kernels.For[float64](op.NewTable()))
	for _, x := range []struct{ l, c *blocked.Matrix[float64] }{{l, c1}, {other, c2}} {
		if err := chol.Potri(p, x.l, w, x.c); err != nil {
			t.Fatal(err)
		}
	}
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		for j := range i + 1 {
			if d := math.Abs(c1.At(i, j) - c2.At(i, j)); d != 0 {
				t.Fatalf("element (%d, %d) differs by %g", i, j, d)
			}
		}
	}
}
