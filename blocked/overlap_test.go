package blocked_test

import (
	"errors"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/blocked/lu"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// partOf is a part of data from that row and column on, in tiles of 4.
func partOf(data []float64, row, col, rows, cols, stride int) *blocked.Matrix[float64] {
	return blocked.View(blocked.General[float64]{Rows: rows, Cols: cols, Stride: stride, Data: data[row*stride+col:]}, 4)
}

// TestOverlap: a matrix that is written shares memory with no other one.
func TestOverlap(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 1, Float: true})
	data := make([]float64, 40*32)
	for name, c := range map[string]struct {
		a, b, c *blocked.Matrix[float64]
		want    error
	}{
		"halves":         {partOf(data, 0, 0, 8, 8, 32), partOf(data, 0, 8, 8, 8, 32), partOf(data, 0, 16, 8, 8, 32), nil},
		"rows":           {partOf(data, 0, 0, 8, 8, 32), partOf(data, 8, 0, 8, 8, 32), partOf(data, 16, 0, 8, 8, 32), nil},
		"last column":    {partOf(data, 0, 24, 8, 8, 32), partOf(data, 8, 0, 8, 8, 32), partOf(data, 1, 0, 8, 8, 32), blocked.ErrOverlap},
		"wrapped":        {partOf(data, 1, 0, 8, 8, 32), partOf(data, 20, 0, 8, 8, 32), partOf(data, 0, 24, 8, 8, 32), nil},
		"twice":          {partOf(data, 0, 0, 8, 8, 32), partOf(data, 0, 8, 8, 8, 32), partOf(data, 0, 0, 8, 8, 32), blocked.ErrOverlap},
		"read twice":     {partOf(data, 0, 0, 8, 8, 32), partOf(data, 0, 0, 8, 8, 32), partOf(data, 0, 8, 8, 8, 32), nil},
		"one element":    {partOf(data, 0, 0, 8, 8, 32), partOf(data, 20, 0, 8, 8, 32), partOf(data, 7, 7, 8, 8, 32), blocked.ErrOverlap},
		"every 2nd row":  {partOf(data, 0, 0, 8, 8, 64), partOf(data, 0, 8, 8, 8, 32), partOf(data, 0, 16, 8, 8, 32), nil},
		"other stride":   {partOf(data, 0, 0, 8, 8, 31), partOf(data, 20, 0, 8, 8, 32), partOf(data, 0, 8, 8, 8, 32), blocked.ErrOverlap},
		"one row":        {partOf(data, 3, 0, 1, 8, 32), partOf(data, 20, 0, 8, 8, 32), partOf(data, 3, 8, 1, 8, 32), nil},
		"row in another": {partOf(data, 3, 0, 1, 8, 32), partOf(data, 0, 0, 8, 8, 32), partOf(data, 3, 7, 1, 8, 32), blocked.ErrOverlap},
	} {
		job := rt.NewJob(t.Context())
		p := blocked.NewProgram(job, kernels.For[float64](op.NewTable()))
		func() {
			defer func() {
				if got, _ := recover().(error); !errors.Is(got, c.want) {
					t.Errorf("%s: panic %v, want %v", name, got, c.want)
				}
			}()
			if err := p.Gemm(blas.NoTrans, blas.NoTrans, 1, c.a, c.b, 0, c.c); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}()
		if err := job.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	// What was only read so far is written later.
	job := rt.NewJob(t.Context())
	p := blocked.NewProgram(job, kernels.For[float64](op.NewTable()))
	a, again, c := partOf(data, 0, 0, 8, 8, 32), partOf(data, 0, 0, 8, 8, 32), partOf(data, 0, 8, 8, 8, 32)
	if err := p.Gemm(blas.NoTrans, blas.NoTrans, 1, a, again, 0, c); err != nil {
		t.Fatal(err)
	}
	mustPanic := func() (got any) {
		defer func() { got = recover() }()
		lu.Getrf(p, a, lu.NewPivots(8, 8, 4))
		return nil
	}
	if got := mustPanic(); got != blocked.ErrOverlap {
		t.Errorf("panic %v", got)
	}
	if err := job.Wait(); err != nil {
		t.Error(err)
	}
}
