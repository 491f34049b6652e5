package rotations_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/examples/papers/internal/rotations"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/mat"
)

// TestFactorize forms rotations as matrices, and compares what that takes with what is said of it.
func TestFactorize(t *testing.T) {
	rt, err := exec.NewLocal(exec.Options{Workers: 2, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	t.Run("f64", func(t *testing.T) { testFactorize[float64](t, rt, 0x1p-53) })
	t.Run("f32", func(t *testing.T) { testFactorize[float32](t, rt, 0x1p-24) })
}

// shapes are shapes in tiles of nb: nothing, one element, around nb and multiples of it, tall, and wide.
func shapes(nb int) [][2]int {
	all := [][2]int{{0, 0}, {5, 0}, {0, 5}, {1, 1}, {8*nb + 1, 1}, {1, 3 * nb}, {6*nb + nb/2, 2*nb + 1}, {2*nb + 1, 5*nb + nb/2}, {7*nb - 1, nb}}
	for _, n := range []int{nb - 1, nb, nb + 1, 2 * nb, 3*nb + 2} {
		all = append(all, [2]int{n, n}, [2]int{n + 1, n}, [2]int{n, n + 1}, [2]int{n + nb, n})
	}
	return all
}

func testFactorize[T kernels.Element](t *testing.T, rt *exec.Local, eps float64) {
	rnd := rand.New(rand.NewPCG(3, 3))
	table := op.NewTable()
	factorize := func(m, n, nb, ib int, sparse bool) (a *mat.Dense, q, r *blocked.Matrix[T], flops float64) {
		r = blocked.New[T](blocked.Full, m, n, nb)
		for i := range m {
			for j := range n {
				r.Set(i, j, T(rnd.NormFloat64()))
			}
		}
		a = dense(r)
		q, flops, err := rotations.Factorize(rt.NewJob(t.Context()), table, r, ib, sparse)
		if err != nil {
			t.Fatal(err)
		}
		return a, q, r, flops
	}
	const nb = 4
	for _, s := range shapes(nb) {
		var total [2]float64
		for mode, sparse := range []bool{false, true} {
			a, q, r, flops := factorize(s[0], s[1], nb, 2, sparse)
			total[mode] = flops
			isQR(t, fmt.Sprintf("%d×%d, sparse %v", s[0], s[1], sparse), dense(q), upper(dense(r)), a, eps)
		}
		if total[1] > total[0] {
			t.Errorf("%d×%d: sparse takes %g flops, dense %g", s[0], s[1], total[1], total[0])
		}
	}
	// 20/3·n³ and 16/3·n³ in the limit of many tiles.
	const count = 40
	for sparse, want := range map[bool]float64{false: 20. / 3, true: 16. / 3} {
		_, _, _, flops := factorize(count, count, 1, 1, sparse)
		if got := flops / (count * count * count); math.Abs(got/want-1) > 0.1 {
			t.Errorf("sparse %v: %.3g·n³ flops, want about %.3g·n³", sparse, got, want)
		}
	}
}

// TestFactorizeEnded: a factorization ends with its job.
func TestFactorizeEnded(t *testing.T) {
	rt, err := exec.NewLocal(exec.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := rotations.Factorize(rt.NewJob(ctx), op.NewTable(), blocked.New[float64](blocked.Full, 9, 7, 4), 2, true); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

// dense returns a copy of a, which may have no rows or columns.
func dense[T kernels.Element](a *tiles.Matrix[T]) *mat.Dense {
	m, n := a.Dims()
	if m == 0 || n == 0 {
		return nil
	}
	d := mat.NewDense(m, n, nil)
	for i := range m {
		for j := range n {
			d.Set(i, j, float64(a.At(i, j)))
		}
	}
	return d
}

// upper sets the elements below the diagonal of r to 0, and returns r.
func upper(r *mat.Dense) *mat.Dense {
	if r != nil {
		m, _ := r.Dims()
		for i := range m {
			row := r.RawRowView(i)
			clear(row[:min(i, len(row))])
		}
	}
	return r
}

// isQR fails t unless q and r are the factors of a: ‖A−QR‖/(m‖A‖ε) and ‖I−QᵀQ‖/(mε) are small.
func isQR(t *testing.T, what string, q, r, a *mat.Dense, eps float64) {
	t.Helper()
	if q == nil {
		return
	}
	m, _ := q.Dims()
	eps *= 30 * float64(m)
	var e mat.Dense
	e.Mul(q.T(), q)
	for i := range m {
		e.Set(i, i, e.At(i, i)-1)
	}
	if e := mat.Norm(&e, 1); !(e <= eps) {
		t.Errorf("%s: ‖I−QᵀQ‖ = %g, want at most %g", what, e, eps)
	}
	if a == nil {
		return
	}
	var f mat.Dense
	f.Mul(q, r)
	f.Sub(a, &f)
	if e, norm := mat.Norm(&f, 1), mat.Norm(a, 1); !(e <= eps*norm) {
		t.Errorf("%s: ‖A−QR‖ = %g, want at most %g", what, e, eps*norm)
	}
}
