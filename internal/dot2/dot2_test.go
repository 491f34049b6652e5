package dot2

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestDot compares sums whose terms cancel with exact ones: their condition numbers are about 10²⁰.
func TestDot(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for n := range 40 {
		c := rnd.NormFloat64()
		x, y := make([]float64, n), make([]float64, n)
		sum := big.NewFloat(c).SetPrec(2000)
		add := func(i int) {
			sum.Add(sum, new(big.Float).SetPrec(200).Mul(big.NewFloat(x[i]), big.NewFloat(y[i])))
		}
		magnitude := math.Abs(c)
		for i := range n {
			x[i], y[i] = rnd.NormFloat64(), math.Ldexp(rnd.NormFloat64(), rnd.IntN(60))
			if i > n/2 { // cancel what there is
				v, _ := sum.Float64()
				y[i] = -v / x[i]
			}
			add(i)
			magnitude += math.Abs(x[i] * y[i])
		}
		want, _ := sum.Float64()
		if got := Dot(c, x, y); math.Abs(got-want) > 0x1p-53*math.Abs(want)+float64(n*n)*0x1p-106*magnitude {
			t.Errorf("n = %d: %v, want %v", n, got, want)
		}
	}
}
