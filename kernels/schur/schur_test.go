package schur

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/tridiag"
)

// TestRun: H = Z·T·Zᵀ with a T in standard form and an orthogonal Z.
func TestRun(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 10, 16, 50, 75, 76, 100, 151, 300} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, uint64(n)))
			m := func() tridiag.Matrix[float64] {
				return tridiag.Matrix[float64]{Rows: n, Cols: n, Stride: n + 1, Data: make([]float64, n*(n+1))}
			}
			h, z := m(), m()
			norm := 0.0
			for i := range n {
				for j := max(i-1, 0); j < n; j++ {
					h.Row(i)[j] = rng.NormFloat64()
					norm += h.Row(i)[j] * h.Row(i)[j]
				}
				z.Row(i)[i] = 1
			}
			norm = math.Sqrt(norm)
			was := append([]float64(nil), h.Data...)
			it := &Iteration[float64]{Kernels: cpu.NewHessenberg[float64](cpu.Portable[float64](), nil), H: h, Z: z, ZHi: n, Form: true,
				Re: make([]float64, n), Im: make([]float64, n)}
			if _, err := it.Run(0, n-1); err != nil {
				t.Fatal(err)
			}
			worst, loss := 0.0, 0.0
			for i := range n {
				for j := range n {
					s, o := 0.0, 0.0
					// (Z·H)(i, j) − (T·Z)(i, j), Z as rows
					for k := range n {
						tt := h.Row(i)[k]
						if k < i-1 {
							tt = 0
						}
						s += z.Row(i)[k]*was[k*(n+1)+j] - tt*z.Row(k)[j]
						o += z.Row(i)[k] * z.Row(j)[k]
					}
					if i == j {
						o--
					}
					worst, loss = max(worst, math.Abs(s)), max(loss, math.Abs(o))
				}
			}
			if e := 0x1p-52 * float64(n); worst > 10*e*norm || loss > 10*e {
				t.Errorf("residual %.3g, orthogonality %.3g", worst/e/norm, loss/e)
			}
		})
	}
}
