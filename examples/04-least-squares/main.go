// Command 04-least-squares takes the tides out of a year of sea levels, as
// hydrographers do: the level at a place is a sum of waves whose frequencies are
// known from the motions of sun and moon, and whose amplitudes and phases are
// found by least squares,
//
//	h(t) = h₀ + Σ aᵢ·cos ωᵢt + bᵢ·sin ωᵢt + noise.
//
// A year of hourly measurements gives a tall matrix A, with one row per hour and
// two columns per wave. Its QR factorization A = Q·R gives everything else:
//
//   - the coefficients, x = R⁻¹·Qᵀ·h;
//   - their error bars, since the covariance of x is σ²·(RᵀR)⁻¹ = σ²·R⁻¹·R⁻ᵀ;
//   - the condition number, which tells whether the waves can be distinguished at
//     all: S2 and K2 are in phase twice a year, and a fortnight of data cannot
//     separate them.
//
// The measurements are made from known waves, so the program can check its results.
//
// Reference: Foreman, Manual for Tidal Heights Analysis and Prediction (1977).
//
//	go run ./examples/04-least-squares
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// wave is a constituent of the tide: its name, its speed in degrees per hour, and its height and phase at the
// place of the measurements.
type wave struct {
	name   string
	speed  float64
	height float64 // metres
	phase  float64 // degrees
}

func waves() []wave {
	return []wave{
		{"M2", 28.9841042, 1.203, 110}, {"S2", 30.0000000, 0.402, 152}, {"N2", 28.4397295, 0.237, 87}, {"K2", 30.0821373, 0.113, 149},
		{"K1", 15.0410686, 0.141, 21}, {"O1", 13.9430356, 0.102, 340}, {"P1", 14.9589314, 0.046, 16}, {"Q1", 13.3986609, 0.021, 295},
		{"2N2", 27.8953548, 0.031, 64}, {"mu2", 27.9682084, 0.038, 201}, {"nu2", 28.5125831, 0.048, 80}, {"L2", 29.5284789, 0.061, 131},
		{"T2", 29.9589333, 0.024, 140}, {"J1", 15.5854433, 0.008, 44}, {"OO1", 16.1391017, 0.005, 70}, {"M4", 57.9682084, 0.062, 215},
		{"MS4", 58.9841042, 0.041, 260}, {"MN4", 57.4238337, 0.022, 190}, {"M6", 86.9523127, 0.012, 33}, {"S4", 60.0000000, 0.004, 300},
		{"Mm", 0.5443747, 0.015, 10}, {"Mf", 1.0980331, 0.019, 120}, {"Ssa", 0.0821373, 0.033, 90}, {"Sa", 0.0410686, 0.081, 230},
	}
}

const (
	mean  = 2.85 // metres
	noise = 0.08 // standard deviation of a measurement, σ: wind, mostly
)

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	e, err := la.NewEngine(la.Options{})
	if err != nil {
		return err
	}
	defer e.Close()
	levels := measure(365 * 24)

	year, err := fit(e, levels)
	if err != nil {
		return err
	}
	fmt.Printf("a year: %d measurements, %d unknowns, condition number %.1f, σ = %.4f m\n\n", len(levels), len(year.x), year.cond, year.sigma)
	fmt.Println("wave   amplitude ± 1.96·s.e.    truth     phase   truth")
	for i, w := range waves()[:8] {
		amplitude, phase, sd := year.wave(i)
		fmt.Printf("%-4s %11.4f ± %.4f m %9.4f m %7.1f° %6.1f°\n", w.name, amplitude, 1.96*sd, w.height, phase, w.phase)
	}

	fortnight, err := fit(e, levels[:15*24])
	if err != nil {
		return err
	}
	_, _, sdYear := year.wave(3)
	_, _, sdFortnight := fortnight.wave(3)
	fmt.Printf("\na fortnight: condition number %.0f, and K2 is known to ± %.1f m, where a year knows it to ± %.4f m\n",
		fortnight.cond, 1.96*sdFortnight, 1.96*sdYear)

	// The same solution in one call, if only the solution is needed.
	h := mat.NewVecDense(len(levels), levels)
	var x mat.Dense
	if err := la.LeastSquares[float64](context.Background(), e, &x, design(len(levels)), h); err != nil {
		return err
	}
	for i, v := range year.x {
		if !(math.Abs(x.At(i, 0)-v) < 1e-12) {
			return fmt.Errorf("unknown %d is %g by LeastSquares and %g by QR", i, x.At(i, 0), v)
		}
	}
	return year.check(fortnight)
}

// measure returns the given number of hourly sea levels.
func measure(hours int) []float64 {
	rng := rand.New(rand.NewPCG(7, 8))
	levels := make([]float64, hours)
	for t := range levels {
		levels[t] = mean + noise*rng.NormFloat64()
		for _, w := range waves() {
			levels[t] += w.height * math.Cos((w.speed*float64(t)-w.phase)*math.Pi/180)
		}
	}
	return levels
}

// design returns the matrix of the fit: a column of ones, and for each wave a cosine and a sine.
func design(hours int) *mat.Dense {
	a := mat.NewDense(hours, 1+2*len(waves()), nil)
	for t := range hours {
		a.Set(t, 0, 1)
		for i, w := range waves() {
			s, c := math.Sincos(w.speed * float64(t) * math.Pi / 180)
			a.Set(t, 1+2*i, c)
			a.Set(t, 2+2*i, s)
		}
	}
	return a
}

// model is the result of a fit.
type model struct {
	x        []float64 // mean, and the two coefficients of each wave
	sd       []float64 // their standard errors
	sigma    float64   // of a measurement, estimated from the residuals
	cond     float64
	residual float64 // scaled: how far the remainder is from orthogonal to A
}

func fit(e *la.Engine, levels []float64) (*model, error) {
	a, h := design(len(levels)), mat.NewVecDense(len(levels), levels)
	m, n := a.Dims()
	qr := la.NewQR[float64](e)
	if err := qr.Factorize(a); err != nil {
		return nil, err
	}
	var x mat.VecDense
	if err := qr.SolveVecTo(&x, false, h); err != nil {
		return nil, err
	}
	f := &model{cond: qr.Cond()}

	// The remainder r = h − A·x determines σ.
	var r, angles mat.VecDense
	r.MulVec(a, &x)
	r.SubVec(h, &r)
	f.sigma = mat.Norm(&r, 2) / math.Sqrt(float64(m-n))
	angles.MulVec(a.T(), &r)
	const epsilon = 0x1p-53
	norm := mat.Norm(a, 1)
	f.residual = mat.Norm(&angles, 1) / (float64(m) * norm * (norm*mat.Norm(&x, 1) + mat.Norm(h, 1)) * epsilon)

	// R⁻¹ is the solution with the identity. The norm of its row i is the standard error of coefficient i in
	// units of σ.
	var first mat.Dense
	first.ReuseAs(n, n)
	qr.RTo(&first)
	triangle := mat.NewTriDense(n, mat.Upper, first.RawMatrix().Data)
	inverse := mat.NewDense(n, n, nil)
	for i := range n {
		inverse.Set(i, i, 1)
	}
	if err := la.Trsm[float64](context.Background(), e, blas.Left, blas.NoTrans, 1, triangle, inverse); err != nil {
		return nil, err
	}
	for i := range n {
		f.x = append(f.x, x.AtVec(i))
		f.sd = append(f.sd, f.sigma*mat.Norm(inverse.RowView(i), 2))
	}
	return f, nil
}

// wave returns the amplitude and phase of wave i, and the standard error of the amplitude.
func (f *model) wave(i int) (amplitude, phase, sd float64) {
	c, s := f.x[1+2*i], f.x[2+2*i]
	phase = math.Mod(math.Atan2(s, c)*180/math.Pi+360, 360)
	return math.Hypot(c, s), phase, math.Max(f.sd[1+2*i], f.sd[2+2*i])
}

// check returns an error unless the fit of the year is right with reliable error bars, and the error bars of
// the fortnight warn.
func (f *model) check(fortnight *model) error {
	inside, worst := 0, 0.0
	for i, w := range waves() {
		s, c := math.Sincos(w.phase * math.Pi / 180)
		for k, truth := range []float64{w.height * c, w.height * s} {
			off := math.Abs(f.x[1+2*i+k]-truth) / f.sd[1+2*i+k]
			worst = max(worst, off)
			if off <= 1.96 {
				inside++
			}
		}
	}
	all := 2 * len(waves())
	fmt.Printf("\ninside the error bars  %d of %d, the worst is off by %.1f standard errors\n", inside, all, worst)
	fmt.Printf("residual of the fits   %.2g and %.2g\n", f.residual, fortnight.residual)
	switch { // the comparisons are such that a NaN fails, too
	case !(f.residual < 30 && fortnight.residual < 30):
		return fmt.Errorf("what is left is not orthogonal to the waves: %g and %g, want below 30", f.residual, fortnight.residual)
	case !(math.Abs(f.sigma-noise) < 0.03*noise):
		return fmt.Errorf("σ is %g, should be %g", f.sigma, noise)
	case !(float64(inside) >= 0.85*float64(all) && worst < 4.5):
		return fmt.Errorf("%d of %d coefficients are inside their error bars, the worst is off by %g standard errors", inside, all, worst)
	case !(fortnight.cond > 100*f.cond):
		return fmt.Errorf("condition numbers are %g of the year and %g of the fortnight", f.cond, fortnight.cond)
	}
	return nil
}
