package blocked_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// TestGonum: gonum reads a Matrix of any kind, its transpose, and one whose tiles are on nodes, as it
// reads the same matrix of its own.
func TestGonum(t *testing.T) {
	local := blockedtest.StartLocal(t, exec.Options{Workers: 2, Float: true})
	d := blockedtest.StartNodes(t, func(o *cluster.Options) { o.Idle, o.Owner, o.Stay = true, true, true })
	for _, rt := range []exec.Runtime{local, d} {
		for _, kind := range blockedtest.AllKinds() {
			m, n := 11, 6
			if kind != blocked.Full {
				n = m
			}
			a, err := blocked.Distributed[float64](rt, kind, m, n, 4)
			if err != nil {
				t.Fatal(err)
			}
			blockedtest.Run(t, rt, func(p *blocked.Program[float64]) error { return p.Plrnt(a, 1, 0) })
			want := mat.NewDense(m, n, nil)
			a.CopyTo(want, 1)
			testGonum(t, fmt.Sprintf("%T, %v", rt, kind), a, want)
			testGonum(t, fmt.Sprintf("%T, %v, transposed", rt, kind), a.T(), mat.DenseCopyOf(want.T()))
			// Copies of the transpose read the memory of the tiles.
			b, _ := blocked.From[float64](a.T(), blocked.Full, 5, blocked.CopyOptions{})
			if !mat.Equal(b, want.T()) {
				t.Errorf("%T, %v: a copy of the transpose differs", rt, kind)
			}
			if v, trans, ok := tiles.ViewOf[float64](a.T(), 4); ok {
				symmetric := kind == blocked.SymLower || kind == blocked.SymUpper
				if v != a || (trans == blas.NoTrans) != symmetric {
					t.Errorf("%T, %v: the view of the transpose is another matrix, or %c", rt, kind, trans)
				}
			} else if !a.IsDistributed() {
				t.Errorf("%T, %v: no view of the transpose", rt, kind)
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// testGonum compares what gonum computes with got and with want, which are equal.
func testGonum(t *testing.T, name string, got mat.Matrix, want *mat.Dense) {
	m, n := want.Dims()
	if r, c := got.Dims(); r != m || c != n {
		t.Fatalf("%s: %d×%d", name, r, c)
	}
	if !mat.Equal(got, want) || !mat.Equal(got.T(), want.T()) || !mat.Equal(mat.DenseCopyOf(got), want) {
		t.Errorf("%s: elements differ", name)
	}
	for _, norm := range []float64{1, 2, math.Inf(1)} {
		if x, y := mat.Norm(got, norm), mat.Norm(want, norm); math.Abs(x-y) > 1e-14*y {
			t.Errorf("%s: norm %v is %v, want %v", name, norm, x, y)
		}
	}
	if x, y := fmt.Sprint(mat.Formatted(got)), fmt.Sprint(mat.Formatted(want)); x != y {
		t.Errorf("%s: is printed as\n%s\nwant\n%s", name, x, y)
	}
	var x, y, z mat.Dense
	x.Mul(got.T(), got)
	y.Mul(want.T(), want)
	z.Mul(want.T(), got)
	if !mat.EqualApprox(&x, &y, 1e-14) || !mat.EqualApprox(&z, &y, 1e-14) {
		t.Errorf("%s: products differ", name)
	}
	x.Reset()
	x.Add(got, got)
	z.Reset()
	z.Scale(2, want)
	if !mat.Equal(&x, &z) {
		t.Errorf("%s: sums differ", name)
	}
}

// TestTransposeOfAll: every matrix of this package has a transpose that gonum reads, of float32 as well.
func TestTransposeOfAll(t *testing.T) {
	data := []float32{1, 2, 3, 4}
	m := blocked.New[float32](blocked.Full, 2, 2, 1)
	m.CopyFrom(blocked.General[float32]{Rows: 2, Cols: 2, Stride: 2, Data: data}, blocked.CopyOptions{})
	for k, test := range []struct {
		got  mat.Matrix
		want []float64
	}{
		{m.T(), []float64{1, 3, 2, 4}},
		{m.T().T(), []float64{1, 2, 3, 4}},
		{blocked.General[float32]{Rows: 2, Cols: 2, Stride: 2, Data: data}.T(), []float64{1, 3, 2, 4}},
		{blocked.Symmetric[float32]{Uplo: blas.Upper, N: 2, Stride: 2, Data: data}.T(), []float64{1, 2, 2, 4}},
		{blocked.Triangular[float32]{Uplo: blas.Upper, Diag: blas.Unit, N: 2, Stride: 2, Data: data}.T(), []float64{1, 0, 2, 1}},
	} {
		if want := mat.NewDense(2, 2, test.want); !mat.Equal(test.got, want) {
			t.Errorf("%d: %v", k, mat.Formatted(test.got))
		}
		b, _ := blocked.From[float64](test.got, blocked.Full, 2, blocked.CopyOptions{})
		if !mat.Equal(b, test.got) {
			t.Errorf("%d: a copy differs", k)
		}
	}
}
