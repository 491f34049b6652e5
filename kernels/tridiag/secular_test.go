package tridiag

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// precision is of the numbers that roots are compared with.
const precision = 400

// exactDiffs returns d(i)−λ for root j of the secular equation, by bisection between poles, which are d or its
// squares.
func exactDiffs(d, zz []float64, squares bool, j int) []*big.Float {
	num := func(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }
	poles := make([]*big.Float, len(d))
	for i, x := range d {
		poles[i] = num(x)
		if squares {
			poles[i].Mul(poles[i], poles[i])
		}
	}
	low, high := num(0), num(0) // of λ−d(j)
	if j < len(d)-1 {
		high.Sub(poles[j+1], poles[j])
	} else {
		for _, z := range zz {
			high.Add(high, num(z))
		}
	}
	half, tau, term := num(0.5), num(0), num(0)
	delta := make([]*big.Float, len(d))
	for i := range d {
		delta[i] = new(big.Float).SetPrec(precision).Sub(poles[i], poles[j])
	}
	for range 1500 { // enough for roots that are next to a pole by a factor of 1e-300
		tau.Mul(tau.Add(low, high), half)
		f := num(1)
		for i := range d {
			f.Add(f, new(big.Float).SetPrec(precision).Quo(num(zz[i]), term.Sub(delta[i], tau)))
		}
		if f.Sign() < 0 {
			low.Set(tau)
		} else {
			high.Set(tau)
		}
	}
	for i := range delta {
		delta[i].Sub(delta[i], tau)
	}
	return delta
}

// TestRoots: all differences of poles and roots are accurate to some units in the last place, however
// close the poles are and however small the weights.
func TestRoots(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	trials := 24
	if testing.Short() {
		trials = 9
	}
	for trial := range trials {
		k := 1 + rng.IntN(9)
		d, zz := make([]float64, k), make([]float64, k)
		x := rng.NormFloat64()
		for i := range d {
			gap := math.Pow(10, -14*rng.Float64())
			if trial%3 == 0 {
				gap = math.Pow(10, -2*rng.Float64())
			}
			d[i] = x
			x += gap * max(1, math.Abs(x))
			zz[i] = math.Pow(10, -float64(trial)*rng.Float64())
		}
		q := &secular[float64]{d: d, zz: zz}
		diff := make([]float64, k)
		for j := range k {
			rootOf(q, j, diff)
			for i, want := range exactDiffs(d, zz, false, j) {
				w, _ := want.Float64()
				if !(math.Abs(diff[i]-w) <= 64*float64(k)*0x1p-53*math.Abs(w)) {
					t.Errorf("trial %d, root %d of %d, pole %d: %v, want %v", trial, j, k, i, diff[i], w)
				}
			}
		}
	}
}

// rootOf returns root j, and sets diff to the poles relative to it.
func rootOf(q *secular[float64], j int, diff []float64) float64 {
	origin, tau := q.find(j, diff)
	for i := range diff {
		diff[i] -= tau
	}
	return q.value(origin, tau)
}

// stepsOf returns how many steps root j takes.
func stepsOf(q *secular[float64], j int, diff []float64) int {
	at := q.begin(j, diff)
	return at.run()
}

// TestRootsEnd: a search for a root takes few steps, also where it is next to a pole, or where weights are
// far apart.
func TestRootsEnd(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	most := 0
	for trial := range 300 {
		k := 2 + rng.IntN(40)
		d, zz := make([]float64, k), make([]float64, k)
		x := 0.0
		for i := range d {
			d[i] = x
			x += math.Pow(10, -12*rng.Float64())
			zz[i] = math.Pow(10, -40*rng.Float64()*float64(trial%2))
		}
		q := &secular[float64]{d: d, zz: zz}
		diff := make([]float64, k)
		for j := range k {
			most = max(most, stepsOf(q, j, diff))
		}
	}
	if most > 40 {
		t.Errorf("a root takes %d steps", most)
	}
	t.Logf("at most %d steps", most)
}

// TestRootsOfClusters: poles for which LAPACK's xLAED4 has failed to converge, clusters with gaps of many orders of magnitude,
// with weights of all sizes. Roots take few steps, and those beside the widest gap are accurate.
//
// The poles are those of https://github.com/Reference-LAPACK/lapack/issues/1166, but for the last two.
func TestRootsOfClusters(t *testing.T) {
	d := []float64{
		-8.9907411945275305e-17, 3.1527281176230556e-06, 7.8104209108493992e-06, 1.4528378412105169e-05, 1.6571840586254615e-05,
		1.6791959834500457e-05, 1.6951003434697501e-05, 1.6961635049587819e-05, 1.6969218460422806e-05, 1.7028037406879576e-05,
		1.9135232081591496e-05, 2.1876238530929982e-05, 2.1920146416725336e-05, 3.9357203097119847e-05, 1.0557423781645928e-04,
		1.3686127039388258e-04, 1.3686300570614894e-04, 1.3686313427158908e-04, 1.3686314099616321e-04, 1.3686314127052412e-04,
		1.3686314210337733e-04, 1.3686314231692531e-04, 1.3686314257213152e-04, 5.3532577970471340e-02, 9.9996866934433004e-01,
		1.0000000849390769e+00, 1.0000000901678940e+00, 1.0000000901678947e+00, 1.0000001,
	}
	const rho, widest = 6.2964808955495258e-05, 22
	rng := rand.New(rand.NewPCG(17, 18))
	diff, most := make([]float64, len(d)), 0
	for trial := range 400 {
		zz := make([]float64, len(d))
		for i := range zz {
			zz[i] = rho * math.Pow(10, -float64(trial%40)*rng.Float64())
		}
		q := &secular[float64]{d: d, zz: zz}
		for j := range d {
			most = max(most, stepsOf(q, j, diff))
		}
		if trial%40 > 3 || trial >= 80 {
			continue
		}
		rootOf(q, widest, diff)
		for i, want := range exactDiffs(d, zz, false, widest) {
			w, _ := want.Float64()
			if !(math.Abs(diff[i]-w) <= 64*float64(len(d))*0x1p-53*math.Abs(w)) {
				t.Errorf("trial %d, pole %d: %v, want %v", trial, i, diff[i], w)
			}
		}
	}
	if most > 40 {
		t.Errorf("a root takes %d steps", most)
	}
	t.Logf("at most %d steps", most)
}

// TestSingularRoots is TestRoots where the poles are squares.
func TestSingularRoots(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for trial := range 9 {
		k := 1 + rng.IntN(9)
		d, zz := make([]float64, k), make([]float64, k)
		x := 0.0
		for i := range d {
			d[i] = x
			x += math.Pow(10, -14*rng.Float64()) * max(math.Pow(10, -14*rng.Float64()), x)
			zz[i] = math.Pow(10, -2*float64(trial)*rng.Float64())
		}
		diff := make([]float64, k)
		for j := range k {
			sigma := rootOf(&secular[float64]{d: d, zz: zz, squares: true}, j, diff)
			exact := exactDiffs(d, zz, true, j)
			for i, want := range exact {
				w, _ := want.Float64()
				if !(math.Abs(diff[i]-w) <= 64*float64(k)*0x1p-53*math.Abs(w)) {
					t.Errorf("trial %d, root %d of %d, pole %d: %v, want %v", trial, j, k, i, diff[i], w)
				}
			}
			root, _ := exact[0].Sqrt(exact[0].Neg(exact[0])).Float64() // d(0) is 0
			if !(math.Abs(sigma-root) <= 8*float64(k)*0x1p-53*root) {
				t.Errorf("trial %d, root %d of %d is %v, want %v", trial, j, k, sigma, root)
			}
		}
	}
}
