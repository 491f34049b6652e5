package main

// This file imports gonum, and nothing of Tessera.

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

const (
	pages   = 800
	damping = 0.85 // a reader follows a link with this probability
	topics  = 200
)

// web is a web of pages. Links(i, j) is 1/k if page j has k links and one of them leads to page i. Topics says
// how much each page is about each topic.
type web struct {
	links  *mat.Dense
	topics *mat.Dense
}

func newWeb(n int) *web {
	rng := rand.New(rand.NewPCG(5, 6))
	w := &web{links: mat.NewDense(n, n, nil), topics: mat.NewDense(n, topics, nil)}
	for j := range n {
		k := 2 + rng.IntN(20)
		for range k {
			// Pages with small numbers are popular.
			i := int(float64(n) * math.Pow(rng.Float64(), 2))
			w.links.Set(i, j, w.links.At(i, j)+1/float64(k))
		}
		for t := range topics {
			w.topics.Set(j, t, rng.Float64())
		}
	}
	return w
}

// rank computes the ranks of the pages in two ways, how topics influence them, and how similar pages are. It
// calls step for each part.
func rank(w *web, step func(name string, bound float64, f func() (*mat.VecDense, error)) error) error {
	n, _ := w.links.Dims()
	ranks := mat.NewVecDense(n, nil)

	// rank = damping·links·rank + (1 − damping)/n is a system of equations.
	err := step("ranks: LU, Solve", 1e-10, func() (*mat.VecDense, error) {
		var a mat.Dense
		a.Scale(-damping, w.links)
		b := mat.NewVecDense(n, nil)
		for i := range n {
			a.Set(i, i, 1+a.At(i, i))
			b.SetVec(i, (1-damping)/float64(n))
		}
		var lu mat.LU
		lu.Factorize(&a)
		if err := lu.SolveVecTo(ranks, false, b); err != nil {
			return nil, err
		}
		if sum := mat.Sum(ranks); !(math.Abs(sum-1) < 1e-10) {
			return nil, fmt.Errorf("ranks sum up to %g, want 1", sum)
		}
		return ranks, nil
	})
	if err != nil {
		return err
	}

	// The same by repeated squaring of the matrix of a reader's steps.
	err = step("ranks: powers, Mul", 1e-10, func() (*mat.VecDense, error) {
		p := mat.NewDense(n, n, nil)
		p.Apply(func(i, j int, v float64) float64 { return damping*v + (1-damping)/float64(n) }, w.links)
		for range 8 {
			var square mat.Dense
			square.Mul(p, p)
			p = &square
		}
		var r mat.VecDense
		r.CloneFromVec(p.ColView(0)) // for any page where the reader began
		var d mat.VecDense
		d.SubVec(&r, ranks)
		if e := mat.Norm(&d, math.Inf(1)); !(e < 1e-9) {
			return nil, fmt.Errorf("the two ways differ by %g, want below 1e-9", e)
		}
		return &r, nil
	})
	if err != nil {
		return err
	}

	// Which topics make a page popular? A least-squares fit tells.
	err = step("topics: QR, least squares", 1e-8, func() (*mat.VecDense, error) {
		var qr mat.QR
		qr.Factorize(w.topics)
		weights := mat.NewVecDense(topics, nil)
		if err := qr.SolveVecTo(weights, false, ranks); err != nil {
			return nil, err
		}
		// The residual is orthogonal to every topic.
		var fit, residual, angles mat.VecDense
		fit.MulVec(w.topics, weights)
		residual.SubVec(ranks, &fit)
		angles.MulVec(w.topics.T(), &residual)
		if e := mat.Norm(&angles, math.Inf(1)) / mat.Norm(ranks, 1); !(e < 1e-12) {
			return nil, fmt.Errorf("the residual of the fit is not orthogonal: %g, want below 1e-12", e)
		}
		return weights, nil
	})
	if err != nil {
		return err
	}

	// How similar are pages? Compute their smoothed covariance, and the product of its inverse and the ranks.
	return step("likeness: SymOuterK, Cholesky", 1e-10, func() (*mat.VecDense, error) {
		var cov mat.SymDense
		cov.SymOuterK(1/float64(topics), w.topics)
		for i := range n {
			cov.SetSym(i, i, cov.At(i, i)+1)
		}
		var chol mat.Cholesky
		if !chol.Factorize(&cov) {
			return nil, fmt.Errorf("the covariance is not positive definite")
		}
		var x, back mat.VecDense
		if err := chol.SolveVecTo(&x, ranks); err != nil {
			return nil, err
		}
		back.MulVec(&cov, &x)
		back.SubVec(&back, ranks)
		if e := mat.Norm(&back, 1) / mat.Norm(ranks, 1); !(e < 1e-11) {
			return nil, fmt.Errorf("residual of the likeness: %g, want below 1e-11", e)
		}
		return &x, nil
	})
}
