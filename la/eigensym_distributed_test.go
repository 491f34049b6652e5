package la_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

// eigenAway is the eigenvalues and the eigenvectors of a, which is brought to the nodes of rt, or of a part of them.
// step is called between the steps of the computation.
func eigenAway(t *testing.T, rt exec.Runtime, a mat.Symmetric, nb int, vectors bool, opts ...la.CallOption) ([]float64, *mat.Dense) {
	t.Helper()
	n := a.SymmetricDim()
	e, err := la.NewEngine(la.Options{Runtime: rt, NB: nb})
	if err != nil {
		t.Fatal(err)
	}
	d := symmetricAway(t, rt, a, nb)
	c := la.NewEigenSym[float64](e)
	defer c.Reset()
	if err := c.Factorize(d, vectors, opts...); err != nil {
		t.Fatal(err)
	}
	values := c.Values(nil)
	if !vectors {
		return values, nil
	}
	var v mat.Dense
	if n > 0 && len(values) > 0 {
		c.VectorsTo(&v)
	}
	return values, &v
}

// symmetricAway brings a to the nodes of rt.
func symmetricAway(t *testing.T, rt exec.Runtime, a mat.Symmetric, nb int) *blocked.Matrix[float64] {
	t.Helper()
	n := a.SymmetricDim()
	d, err := blocked.Distributed[float64](rt, blocked.SymUpper, n, n, nb)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	if err := d.SetLayout(blocked.BlockCyclic{P: 1, Q: 3}, 3); err != nil {
		t.Fatal(err)
	}
	here := blocked.New[float64](blocked.SymUpper, n, n, nb)
	for i := range n {
		for j := i; j < n; j++ {
			here.Set(i, j, a.At(i, j))
		}
	}
	job := rt.NewJob(context.Background())
	if err := errors.Join(blocked.NewProgram(job, kernels.For[float64](op.NewTable())).Load(d, here, blocked.LoadOptions{}), job.Wait()); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestEigenAway(t *testing.T) {
	for _, agents := range []int{1, 2, 3} {
		d, _ := nodes(t, agents, true)
		a := mat.NewSymDense(150, nil)
		for i := range 150 {
			for j := i; j < 150; j++ {
				a.SetSym(i, j, math.Sin(float64(i*j+i+j)))
			}
		}
		w, v := eigenAway(t, d, a, 16, true)
		var r, l mat.Dense
		r.Mul(a, v)
		l.Mul(v, mat.NewDiagDense(150, w))
		r.Sub(&r, &l)
		sum := 0.0
		for i := range 150 {
			for j := range 150 {
				sum += v.At(i, j) * float64(i+3*j)
			}
		}
		fmt.Println(mat.Norm(&r, 1), w[0], math.Float64bits(sum))
	}
}
