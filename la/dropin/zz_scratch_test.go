package dropin_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/dropin"
	blasgonum "gonum.org/v1/gonum/blas/gonum"
	lapackgonum "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/mat"
)

func TestScratchEigen(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("N"))
	if n == 0 {
		t.Skip()
	}
	runs, _ := strconv.Atoi(os.Getenv("RUNS"))
	e, err := la.NewEngine(la.Options{Static: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	opt := dropin.Options{Engine: e}
	all := []implementation{
		{"dropin", dropin.NewBLAS(opt), dropin.NewLAPACK(opt)},
		{"gonum", blasgonum.Implementation{}, lapackgonum.Implementation{}},
	}
	defer all[1].use()
	if os.Getenv("ONLY") != "" {
		all = all[:1]
	}
	rng := rand.New(rand.NewPCG(1, 2))
	a := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			a.Set(i, j, rng.NormFloat64())
		}
	}
	times := make([][]float64, 2)
	var eig mat.Eigen
	for range max(1, runs) {
		for i := range all {
			all[i].use()
			t0 := time.Now()
			eig.Factorize(a, mat.EigenRight)
			times[i] = append(times[i], time.Since(t0).Seconds()*1e3)
		}
	}
	for i := range all {
		slices.Sort(times[i])
		fmt.Printf("%s %d best %.1f median %.1f ms\n", all[i].name, n, times[i][0], times[i][len(times[i])/2])
	}
	if len(all) > 1 {
		fmt.Printf("ratio best %.2f median %.2f\n", times[1][0]/times[0][0], times[1][len(times[1])/2]/times[0][len(times[0])/2])
	}
}
