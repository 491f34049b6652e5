package gpucheck

import (
	"fmt"
	"math"
	"time"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// again measures solutions with a factor that stays on the device: they must not copy it again.
func (c *check) again() {
	for _, p := range c.sizes.again {
		c.point(fmt.Sprintf("solving again, %s f64, n = %d", p.op, p.n), c.expected(p, 1, 0), func() error {
			row, err := c.solveAgain(p)
			if err == nil {
				c.report.Again = append(c.report.Again, row)
			}
			return err
		})
	}
}

// solveAgain factors a matrix of order p.n and solves for a tile's width of right sides, twice.
func (c *check) solveAgain(p problem) (row Again, err error) {
	a, err := c.accelerator(0)
	if err != nil {
		return row, err
	}
	defer func() { err = firstError(err, a.Close()) }()
	nb := p.nb[0]
	e, err := la.NewEngine(la.Options{Accelerators: []offload.Accelerator{a}, Workers: c.opt.Workers, NB: nb, Direct: -1, Only: []string{"cuda"}})
	if err != nil {
		return row, err
	}
	defer func() { err = firstError(err, e.Close()) }()
	m, b := system(p.n, nb)
	x := general(p.n, nb)
	factorize, solve := solver(e, p.op, m, b, x)
	row = Again{Op: p.op, N: p.n, NRHS: nb}
	begin := time.Now()
	if err := factorize(); err != nil {
		return row, err
	}
	row.Factorize = time.Since(begin).Seconds()
	row.Solve = math.Inf(1)
	for range 2 {
		before := a.Stats().In
		begin := time.Now()
		if err := solve(); err != nil {
			return row, err
		}
		row.Solve = min(row.Solve, time.Since(begin).Seconds())
		row.Copied = a.Stats().In - before
		for i, v := range x.Data {
			if want := float64(i%nb + 1); !(math.Abs(v-want) <= 1e-9*want) {
				return row, fmt.Errorf("wrong: element (%d, %d) of the solution is %v, want %v", i/nb, i%nb, v, want)
			}
		}
	}
	// An interchange of rows on cores takes right sides to the device twice.
	if sides := int64(p.n) * int64(nb) * 8; row.Copied > 2*sides {
		return row, fmt.Errorf("a second solution copied %d bytes to the device, and its right sides have %d", row.Copied, sides)
	}
	return row, nil
}

// system returns a symmetric positive definite matrix and right sides. Column j of the solution is j+1 everywhere.
func system(n, nrhs int) (a, b blocked.General[float64]) {
	a, b = general(n, n), general(n, nrhs)
	for i := range n {
		sum, row := 0.0, a.Data[i*n:][:n]
		for j := range row {
			row[j] = element((i + 1) * (j + 1))
			if i == j {
				row[j] += float64(n)
			}
			sum += row[j]
		}
		for j := range nrhs {
			b.Data[i*nrhs+j] = sum * float64(j+1)
		}
	}
	return a, b
}

// solver returns the factorization of a, and the solution of A·X = B with it.
func solver(e *la.Engine, op string, a, b, x blocked.General[float64]) (factorize, solve func() error) {
	switch op {
	case "cholesky":
		f := la.NewCholesky[float64](e)
		s := blocked.Symmetric[float64]{Uplo: blas.Upper, N: a.Rows, Stride: a.Stride, Data: a.Data}
		return func() error { return f.Factorize(s) }, func() error { return f.SolveTo(x, b) }
	case "lu":
		f := la.NewLU[float64](e)
		return func() error { return f.Factorize(a) }, func() error { return f.SolveTo(x, false, b) }
	default:
		f := la.NewQR[float64](e)
		return func() error { return f.Factorize(a) }, func() error { return f.SolveTo(x, false, b) }
	}
}

func general(m, n int) blocked.General[float64] {
	return blocked.General[float64]{Rows: m, Cols: n, Stride: n, Data: make([]float64, m*n)}
}
