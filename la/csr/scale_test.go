package csr_test

import (
	"math"
	"testing"

	"github.com/tessera-la/tessera/la/csr"
	"github.com/tessera-la/tessera/la/krylov"
)

// TestDistributedScales: on nodes, too, powers of two of A and b make no difference to the bits of x.
func TestDistributedScales(t *testing.T) {
	const side = 12
	d, _ := nodes(t, 2, false, nil, nil)
	local := start(t, 1)
	for name, solve := range map[string]func(a krylov.Operator, k int, x, b []float64) error{
		"CG": func(a krylov.Operator, _ int, x, b []float64) error {
			_, err := krylov.CG(t.Context(), a, x, b, krylov.CGOptions{})
			return err
		},
		"LSQR": func(a krylov.Operator, k int, x, b []float64) error {
			_, err := krylov.LSQR(t.Context(), a, x, b, krylov.LSQROptions{Damp: math.Ldexp(1, k), MaxIterations: 100})
			return err
		},
	} {
		var want []float64
		for _, exp := range [][2]int{{0, 0}, {-1070, -1060}, {-398, -398}, {700, 0}, {1020, 1020}} {
			var is, js []int
			var vs []float64
			for i := range side * side {
				grid{Side: side}.row(i, func(j int, v float64) { is, js, vs = append(is, i), append(js, j), append(vs, math.Ldexp(v, exp[0])) })
			}
			here, err := csr.FromCOO(local, side*side, side*side, is, js, vs)
			if err != nil {
				t.Fatal(err)
			}
			a, err := csr.Scatter(t.Context(), d, here, 4)
			if err != nil {
				t.Fatal(err)
			}
			x, b := make([]float64, side*side), make([]float64, side*side)
			for i := range b {
				b[i] = math.Ldexp(float64(i%7-3), exp[1])
			}
			if err := solve(a, exp[0], x, b); err != nil {
				t.Errorf("%s, A·2^%d, b·2^%d: %v", name, exp[0], exp[1], err)
			}
			a.Close()
			if want == nil {
				want = x
			}
			for i, v := range x {
				if w := math.Ldexp(want[i], exp[1]-exp[0]); v != w {
					t.Errorf("%s, A·2^%d, b·2^%d: x[%d] is %g, want %g", name, exp[0], exp[1], i, v, w)
					break
				}
			}
		}
	}
}
