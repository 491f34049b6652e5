// Command 01-multiply multiplies matrices in three ways: gonum's matrices with one call; transposes, factors
// and accumulation with Gemm; and float32 matrices in the program's own memory on an Engine, which keeps its
// workers, reports progress, and tells which version of the product ran and why.
//
// A random vector x checks every product C: C·x must be A·(B·x). That takes n² operations instead of n³.
//
//	go run ./examples/01-multiply
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"time"

	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

func main() {
	log.SetFlags(0)
	rng := rand.New(rand.NewPCG(1, 2))

	for _, step := range []func(*rand.Rand) error{gonumMatrices, transposes, ownEngine} {
		if err := step(rng); err != nil {
			log.Fatal(err)
		}
	}
}

// gonumMatrices computes C = A·B: any mat.Matrix goes in, and an empty
// mat.Dense takes the shape of the product. The workers live for this call.
func gonumMatrices(rng *rand.Rand) error {
	a, b := random(rng, 700, 500), random(rng, 500, 900)
	var c mat.Dense
	if err := la.Mul(&c, a, b); err != nil {
		return err
	}
	x := random(rng, 900, 1)
	var bx, abx mat.Dense
	bx.Mul(b, x)
	abx.Mul(a, &bx)
	return check("C = A·B, gonum", &c, x, &abx, 500*norm(a)*norm(b), epsilon64)
}

// transposes computes C = 2·Aᵀ·B - C. Nothing is transposed in memory: a flag asks for it, or gonum's T, which
// is a view.
func transposes(rng *rand.Rand) error {
	a, b, c := random(rng, 500, 700), random(rng, 500, 900), random(rng, 700, 900)
	x := random(rng, 900, 1)
	var bx, want, cx mat.Dense
	bx.Mul(b, x)
	want.Mul(a.T(), &bx)
	want.Scale(2, &want)
	cx.Mul(c, x) // before C is overwritten
	want.Sub(&want, &cx)
	bound := 500*2*norm(a.T())*norm(b) + norm(c)

	ctx := context.Background()
	if err := la.Gemm(ctx, nil, blas.Trans, blas.NoTrans, 2, a, b, -1, c); err != nil {
		return err
	}
	return check("C = 2·Aᵀ·B - C", c, x, &want, bound, epsilon64)
}

// ownEngine computes a float32 product on an Engine of its own.
func ownEngine(rng *rand.Rand) error {
	const n = 1500
	a, b := general(rng, n), general(rng, n)
	c := la.General[float32]{Rows: n, Cols: n, Stride: n, Data: make([]float32, n*n)}

	var events trace.Recorder
	e, err := la.NewEngine(la.Options{
		NB:    192, // tile size; 0 lets the engine choose
		Trace: &events,
		Progress: func(done, total int) {
			fmt.Printf("\r  %d of %d tasks done", done, total) // every 100 ms, and at the end
			if done == total {
				fmt.Println()
			}
		},
	})
	if err != nil {
		return err
	}
	defer e.Close()

	fmt.Printf("float32 product of order %d on %d workers\n", n, len(e.Workers()))
	start := time.Now()
	if err := la.Gemm(context.Background(), e, blas.NoTrans, blas.NoTrans, 1, a, b, 0, c); err != nil {
		return err
	}
	took := time.Since(start)
	fmt.Printf("  %.2f s, %.1f GFLOP/s\n", took.Seconds(), 2*n*n*n/took.Seconds()/1e9)

	// The trace says what ran. A build with a C library has two versions of each operation. It measures both and
	// then keeps to the faster one.
	for _, u := range events.Summary().Usage {
		fmt.Printf("  %s ran %d times as version %q\n", u.Op, u.Calls, u.Version)
	}

	// What would run next, and why, for a product of tiles of this size.
	tile := &kernels.Tile[float32]{Rows: 192, Cols: 192, Stride: 192, Data: make([]float32, 192*192)}
	call := &versions.Call{
		Params: &op.Gemm[float32]{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: 1, Beta: 1},
		Args:   []any{tile, tile, tile},
	}
	if why, ok := engine.Explain[float32](e, "gemm", call); ok {
		fmt.Print(why)
	}

	// The check itself is done in float64.
	x := random(rng, n, 1)
	var bx, abx mat.Dense
	wa, wb, wc := widen(a), widen(b), widen(c)
	bx.Mul(wb, x)
	abx.Mul(wa, &bx)
	return check("C = A·B, float32", wc, x, &abx, n*norm(wa)*norm(wb), epsilon32)
}

// The relative precision of float32 and float64.
const (
	epsilon32 = 0x1p-24
	epsilon64 = 0x1p-53
)

// check compares C·x with the expected result, for a product that was computed in arithmetic of precision
// epsilon. The residual is the error in units of the possible rounding error:
// rounding may do:
//
//	‖C·x - want‖ / (bound·‖x‖·ε) < 3
//
// in 1-norms, where bound is k·‖A‖·‖B‖ for a sum of k products.
func check(name string, c mat.Matrix, x, want *mat.Dense, bound, epsilon float64) error {
	var d mat.Dense
	d.Mul(c, x)
	d.Sub(&d, want)
	residual := norm(&d) / (bound * norm(x) * epsilon)
	fmt.Printf("%-18s residual %.1e\n", name, residual)
	if !(residual < 3) { // so that a NaN fails, too
		return fmt.Errorf("%s: residual %g, want below 3", name, residual)
	}
	return nil
}

func norm(a mat.Matrix) float64 { return mat.Norm(a, 1) }

// random returns an m×n matrix, uniform in [-1/2, 1/2).
func random(rng *rand.Rand, m, n int) *mat.Dense {
	d := mat.NewDense(m, n, nil)
	for i := range m {
		for j := range n {
			d.Set(i, j, rng.Float64()-0.5)
		}
	}
	return d
}

// general returns a random n×n float32 matrix in the program's own memory.
func general(rng *rand.Rand, n int) la.General[float32] {
	data := make([]float32, n*n)
	for i := range data {
		data[i] = rng.Float32() - 0.5
	}
	return la.General[float32]{Rows: n, Cols: n, Stride: n, Data: data}
}

// widen returns a in float64.
func widen(a la.General[float32]) *mat.Dense {
	d := mat.NewDense(a.Rows, a.Cols, nil)
	d.Apply(func(i, j int, _ float64) float64 { return float64(a.At(i, j)) }, d)
	return d
}
