package blocked_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/exec"
	"gonum.org/v1/gonum/lapack"
)

// TestNormsOfTasks: norms by tasks have the bits of those of Matrix.Norm.
func TestNormsOfTasks(t *testing.T) {
	t.Run("f64", testNormsOfTasks[float64])
	t.Run("f32", testNormsOfTasks[float32])
}

func testNormsOfTasks[T blocked.Element](t *testing.T) {
	rt, rnd := blockedtest.StartLocal(t, exec.Options{Workers: 2}), rand.New(rand.NewPCG(3, 1))
	for _, kind := range blockedtest.AllKinds() {
		for _, s := range [][3]int{{29, 29, 8}, {11, 30, 7}, {30, 11, 7}} {
			m, n, nb := s[0], s[1], s[2]
			if kind != blocked.Full && m != n {
				continue
			}
			a, _ := blocked.From[T](blockedtest.Normal[T](rnd, m, n), kind, nb, blocked.CopyOptions{})
			var sums *blocked.Sums[T]
			var squares, tops *blocked.Magnitudes[T]
			if _, err := blockedtest.Compute(t, rt, func(p *blocked.Program[T]) (err error) {
				if sums, err = p.Asum(a); err != nil {
					return err
				}
				if kind == blocked.Full {
					if tops, err = p.ColumnMax(a); err != nil {
						return err
					}
				}
				squares, err = p.Lassq(a)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			for _, x := range []struct {
				got  float64
				norm lapack.MatrixNorm
			}{{sums.Norm1(), lapack.MaxColumnSum}, {sums.NormInf(), lapack.MaxRowSum}, {sums.Max(), lapack.MaxAbs}, {squares.Frobenius(), lapack.Frobenius}} {
				if want := a.Norm(x.norm, 2); x.got != want {
					t.Errorf("%v %d×%d, nb %d: %c-norm %v by tasks, %v without", kind, m, n, nb, x.norm, x.got, want)
				}
			}
			if !slices.Equal(sums.Columns(), a.ColumnSums(2)) || !slices.Equal(sums.Rows(), a.RowSums(2)) {
				t.Errorf("%v %d×%d, nb %d: sums differ", kind, m, n, nb)
			}
			if tops != nil && !slices.Equal(tops.Columns(), a.ColumnMax(2)) {
				t.Errorf("%d×%d, nb %d: largest magnitudes of columns differ", m, n, nb)
			}
		}
	}
}
