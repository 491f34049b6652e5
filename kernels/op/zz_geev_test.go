package op

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

func TestZZ(t *testing.T) {
	ns := []int{1, 2, 3, 5, 20, 64, 65, 66, 100, 200, 300}
	if s := os.Getenv("N"); s != "" {
		n, _ := strconv.Atoi(s)
		ns = []int{n}
	}
	for _, n := range ns {
		rng := rand.New(rand.NewPCG(1, 2))
		tile := func(r, c int) *kernels.Tile[float64] {
			return &kernels.Tile[float64]{Rows: r, Cols: c, Stride: c, Data: make([]float64, r*c)}
		}
		a, w, u, v := tile(n, n), tile(2, n), tile(n, n), tile(n, n)
		for i := range a.Data {
			a.Data[i] = rng.NormFloat64()
		}
		was := append([]float64(nil), a.Data...)
		o := geevOp[float64]().op(implementations[float64]())
		for k := range 3 {
			copy(a.Data, was)
			t0 := time.Now()
			if err := o.Versions[0].Run(&versions.Call{Params: &Geev{Left: n < 400, Right: true}, Args: func() []any {
				if n < 400 {
					return []any{a, w, u, v}
				}
				return []any{a, w, v}
			}(), Work: new(versions.Workspace)}); err != nil {
				t.Fatal(err)
			}
			if n >= 400 {
				fmt.Println(o.Versions[0].Name, n, time.Since(t0))
			}
			_ = k
		}
		worst, worstL := 0.0, 0.0
		vec := func(x *kernels.Tile[float64], j, i int) complex128 {
			switch im := w.At(1, j); {
			case im == 0:
				return complex(x.At(j, i), 0)
			case im > 0:
				return complex(x.At(j, i), x.At(j+1, i))
			}
			return complex(x.At(j-1, i), -x.At(j, i))
		}
		for j := range n {
			l := complex(w.At(0, j), w.At(1, j))
			for i := range n {
				s, sl := complex(0, 0), complex(0, 0)
				for k := range n {
					s += complex(was[i*n+k], 0) * vec(v, j, k)
					if n < 400 {
						sl += complex(was[k*n+i], 0) * cmplx.Conj(vec(u, j, k))
					}
				}
				worst = max(worst, cmplx.Abs(s-l*vec(v, j, i)))
				if n < 400 {
					worstL = max(worstL, cmplx.Abs(sl-l*cmplx.Conj(vec(u, j, i))))
				}
			}
			if n > 400 && j > 20 {
				break
			}
		}
		fmt.Println(n, worst/math.Sqrt(float64(n))/0x1p-52, worstL/math.Sqrt(float64(n))/0x1p-52)
	}
}
