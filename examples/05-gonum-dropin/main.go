// Command 05-gonum-dropin runs a program that uses only gonum, first as it is and then after a call of
// dropin.Install. The program is in pagerank.go. It ranks the pages of a small web with typical calls of
// gonum's mat: a product, a solution, a least-squares fit and a Cholesky factorization.
//
// The results must agree up to rounding. The times are printed but not judged, since the speed-up depends on
// the machine and its load.
//
//	go run ./examples/05-gonum-dropin
package main

import (
	"fmt"
	"log"
	"math"
	"time"

	"github.com/tessera-la/tessera/la/dropin"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	web := newWeb(pages)
	alone, err := measure(web)
	if err != nil {
		return err
	}

	// This is the only change. It affects all code in the process that computes with gonum, including other
	// packages.
	if err := dropin.Install(); err != nil {
		return err
	}
	installed, err := measure(web)
	if err != nil {
		return err
	}
	if err := dropin.Restore(); err != nil {
		return err
	}
	fmt.Printf("%-30s %10s %10s %8s\n", fmt.Sprintf("%d pages", pages), "gonum", "dropin", "ratio")
	for i, s := range alone {
		d := installed[i]
		fmt.Printf("%-30s %10s %10s %7.1f×\n", s.name, s.took.Round(time.Microsecond*100), d.took.Round(time.Microsecond*100),
			s.took.Seconds()/d.took.Seconds())
	}
	fmt.Printf("one run of each, with what other programs took of the cores\n\n")
	for i, s := range alone {
		difference, bound := distance(s.result, installed[i].result), s.bound
		fmt.Printf("%-30s difference %.1e\n", s.name, difference)
		if !(difference < bound) { // so that a NaN fails, too
			return fmt.Errorf("%s: results differ by %g, want below %g", s.name, difference, bound)
		}
	}
	if _, ours := blas64.Implementation().(dropin.BLAS); ours {
		return fmt.Errorf("gonum still computes with %T", blas64.Implementation())
	}
	return nil
}

// step is a part of the program: its time and its result.
type step struct {
	name   string
	took   time.Duration
	result *mat.VecDense
	bound  float64 // bound of the relative error by rounding
}

// measure runs the program twice, since the first run also maps memory and tries versions.
func measure(w *web) (steps []step, err error) {
	for range 2 {
		steps = nil
		if err := rank(w, func(name string, bound float64, f func() (*mat.VecDense, error)) error {
			begin := time.Now()
			result, err := f()
			steps = append(steps, step{name, time.Since(begin), result, bound})
			return err
		}); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// distance returns ‖x − y‖∞ / ‖x‖∞.
func distance(x, y *mat.VecDense) float64 {
	var d mat.VecDense
	d.SubVec(x, y)
	return mat.Norm(&d, math.Inf(1)) / mat.Norm(x, math.Inf(1))
}
