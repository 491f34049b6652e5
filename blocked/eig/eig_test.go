package eig_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/eig"
	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/exec"
)

func TestStages(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 2})
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, c := range [][2]int{{1, 4}, {2, 4}, {3, 1}, {5, 4}, {9, 4}, {20, 3}, {47, 50}, {49, 50}, {100, 16}, {130, 50}, {300, 64}, {90, 100}, {301, 100}} {
		n, nb := c[0], c[1]
		a := blocked.New[float64](blocked.SymUpper, n, n, nb)
		for i := range n {
			for j := i; j < n; j++ {
				a.Set(i, j, rnd.NormFloat64())
			}
		}
		was := a.Clone()
		s, err := eig.NewSymmetric(rt, a, true)
		if err != nil {
			t.Fatal(err)
		}
		s.Select(0, n)
		if _, err := blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error {
			eig.Sy2sb(p, s)
			eig.Sb2st(p, s)
			eig.Stedc(p, s)
			eig.Ormsb2st(p, s)
			return eig.Ormsy2sb(p, s)
		}); err != nil {
			t.Fatal(err)
		}
		values := make([]float64, n)
		s.Values(context.Background(), values)
		v := make([][]float64, n)
		s.EachStrip(context.Background(), func(first int, x *blocked.Tile[float64]) {
			for i := range x.Rows {
				v[first+i] = append([]float64(nil), x.Row(i)...)
			}
		})
		res, loss := 0.0, 0.0
		for k := range n {
			for i := range n {
				sum := -values[k] * v[k][i]
				for j := range n {
					sum += was.At(i, j) * v[k][j]
				}
				res = max(res, math.Abs(sum))
				dot := 0.0
				for j := range n {
					dot += v[k][j] * v[i][j]
				}
				if i == k {
					dot--
				}
				loss = max(loss, math.Abs(dot))
			}
		}
		fmt.Println(n, nb, res, loss)
	}
}
