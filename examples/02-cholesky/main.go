// Command 02-cholesky fits a curve to noisy measurements by Gaussian-process
// regression, which is a Cholesky factorization and little else:
//
//   - the covariance of n measurements is K = RBF(x, x) + σ²·I, a symmetric
//     positive definite n×n matrix;
//   - the weights α = K⁻¹·y give the curve, f(x*) = k(x*)ᵀ·α;
//   - log det K, free once K is factored, gives the likelihood of the data,
//     by which the length scale of the kernel is chosen;
//   - more solutions with the same factor give the error bars.
//
// The data come from a known curve, so the program can check its prediction
// as well as its residuals.
//
// Reference: Rasmussen and Williams, Gaussian Processes for Machine Learning,
// algorithm 2.1.
//
//	go run ./examples/02-cholesky
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

const (
	points  = 1500 // measurements
	heldOut = 200  // points to predict
	noise   = 0.2  // standard deviation of a measurement, σ
)

// truth is the curve that is measured.
func truth(x float64) float64 { return math.Sin(2*x) + 0.3*x }

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	rng := rand.New(rand.NewPCG(3, 4))
	x, y := measure(rng, points)
	xNew, yNew := measure(rng, heldOut)

	// The engine keeps its workers from one factorization to the next.
	e, err := la.NewEngine(la.Options{})
	if err != nil {
		return err
	}
	defer e.Close()

	fmt.Printf("%d measurements on %d workers\n", points, len(e.Workers()))
	fmt.Println("length scale   log likelihood")
	var best *model
	for _, scale := range []float64{0.1, 0.2, 0.5, 1, 2, 5} {
		m, err := fit(e, x, y, scale)
		if err != nil {
			return err
		}
		fmt.Printf("%12g %16.1f\n", scale, m.likelihood)
		if best == nil || m.likelihood > best.likelihood {
			best = m
		}
	}
	fmt.Printf("chosen: %g\n\n", best.scale)

	mean, sd, err := best.predict(xNew)
	if err != nil {
		return err
	}
	fmt.Println("         x   predicted ± 1.96·σ   measured")
	for i := range 4 {
		fmt.Printf("%10.3f %10.3f ± %.3f %10.3f\n", xNew[i], mean[i], 1.96*sd[i], yNew.AtVec(i))
	}
	return best.check(e, y, xNew, yNew, mean, sd)
}

// measure returns n places in [0, 10) and a measurement at each.
func measure(rng *rand.Rand, n int) (x []float64, y *mat.VecDense) {
	x, y = make([]float64, n), mat.NewVecDense(n, nil)
	for i := range x {
		x[i] = 10 * rng.Float64()
		y.SetVec(i, truth(x[i])+noise*rng.NormFloat64())
	}
	return x, y
}

// rbf is the kernel: the covariance of the curve at x and z.
func rbf(x, z, scale float64) float64 {
	d := (x - z) / scale
	return math.Exp(-d * d / 2)
}

// model is a Gaussian process that was fitted to the measurements.
type model struct {
	scale      float64
	x          []float64
	k          *mat.SymDense         // covariance of the measurements
	chol       *la.Cholesky[float64] // of k
	alpha      mat.VecDense          // k⁻¹·y
	likelihood float64               // log p(y | x)
}

// fit builds the covariance of the measurements, factors it, and solves for
// the weights:
//
//	log p(y | x) = -½·yᵀ·α - ½·log det K - n/2·log 2π.
func fit(e *la.Engine, x []float64, y *mat.VecDense, scale float64) (*model, error) {
	n := len(x)
	m := &model{scale: scale, x: x, k: mat.NewSymDense(n, nil), chol: la.NewCholesky[float64](e)}
	for i := range n {
		for j := i; j < n; j++ {
			m.k.SetSym(i, j, rbf(x[i], x[j], scale))
		}
		// The noise also keeps K definite: without it, places close to each
		// other make rows that are almost the same.
		m.k.SetSym(i, i, m.k.At(i, i)+noise*noise)
	}
	if err := m.chol.Factorize(m.k); err != nil {
		return nil, err
	}
	if err := m.chol.SolveVecTo(&m.alpha, y); err != nil {
		return nil, err
	}
	m.likelihood = -mat.Dot(y, &m.alpha)/2 - m.chol.LogDet()/2 - float64(n)/2*math.Log(2*math.Pi)
	return m, nil
}

// predict returns the mean and the standard deviation of a measurement at
// each place of xNew:
//
//	mean = k*ᵀ·α,  variance = 1 + σ² - k*ᵀ·K⁻¹·k*.
func (m *model) predict(xNew []float64) (mean, sd []float64, err error) {
	n, p := len(m.x), len(xNew)
	cross := mat.NewDense(n, p, nil) // a column k* for each place
	for i := range n {
		for j := range p {
			cross.Set(i, j, rbf(m.x[i], xNew[j], m.scale))
		}
	}
	var v mat.Dense // K⁻¹ times all columns at once
	if err := m.chol.SolveTo(&v, cross); err != nil {
		return nil, nil, err
	}
	mean, sd = make([]float64, p), make([]float64, p)
	for j := range p {
		k := cross.ColView(j)
		mean[j] = mat.Dot(k, &m.alpha)
		sd[j] = math.Sqrt(1 + noise*noise - mat.Dot(k, v.ColView(j)))
	}
	return mean, sd, nil
}

// check returns an error unless the factor, the weights and the predictions are accurate enough.
func (m *model) check(e *la.Engine, y *mat.VecDense, xNew []float64, yNew *mat.VecDense, mean, sd []float64) error {
	n := float64(len(m.x))
	const epsilon = 0x1p-53
	norm := mat.Norm(m.k, 1)

	// ‖L·Lᵀ - K‖ / (n·‖K‖·ε), with the product from la, too.
	var l mat.TriDense
	m.chol.LTo(&l)
	d := mat.NewSymDense(len(m.x), nil)
	d.CopySym(m.k)
	if err := la.Syrk(context.Background(), e, blas.NoTrans, 1, &l, -1, d); err != nil {
		return err
	}
	factor := mat.Norm(d, 1) / (n * norm * epsilon)

	// ‖y - K·α‖ / (n·‖K‖·‖α‖·ε).
	var r mat.VecDense
	r.MulVec(m.k, &m.alpha)
	r.SubVec(y, &r)
	solve := mat.Norm(&r, 1) / (n * norm * mat.Norm(&m.alpha, 1) * epsilon)

	// How far the prediction is from the curve, and how many of the new
	// measurements lie inside the error bars, which should be 95 in 100.
	var square float64
	inside := 0
	for i, x := range xNew {
		square += math.Pow(mean[i]-truth(x), 2)
		if math.Abs(yNew.AtVec(i)-mean[i]) <= 1.96*sd[i] {
			inside++
		}
	}
	rmse, covered := math.Sqrt(square/float64(len(xNew))), float64(inside)/float64(len(xNew))

	fmt.Printf("\ndistance to the curve (RMSE) %.3f, noise of a measurement %g\n", rmse, noise)
	fmt.Printf("inside the error bars        %.1f %%\n", 100*covered)
	fmt.Printf("residual of the factor       %.2g\n", factor)
	fmt.Printf("residual of the weights      %.2g\n", solve)
	switch { // the comparisons are such that a NaN fails, too
	case !(factor < 30):
		return fmt.Errorf("residual of the factor: %g, want below 30", factor)
	case !(solve < 30):
		return fmt.Errorf("residual of the weights: %g, want below 30", solve)
	case !(rmse < noise/4):
		return fmt.Errorf("RMSE of the prediction: %g, want below %g", rmse, noise/4)
	case !(covered > 0.9):
		return fmt.Errorf("%.1f %% of the measurements lie inside the error bars, want over 90", 100*covered)
	}
	return nil
}
