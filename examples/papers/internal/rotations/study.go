package rotations

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"time"

	"github.com/tessera-la/tessera/blocked"
	qrtree "github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/mat"
)

// options are the values of the flags.
type options struct {
	n, nb, ib, workers, turns int
	seed                      uint64
}

// Define defines the flags of the study and returns what runs it with their values and prints the results. It
// fails if a residual is large. The error is a *cli.UsageError for invalid flags.
func Define(fl *flag.FlagSet) (run func(context.Context) error) {
	var o options
	fl.IntVar(&o.n, "n", 1024, "order of the matrix")
	fl.IntVar(&o.nb, "nb", 128, "tile size")
	fl.IntVar(&o.ib, "ib", qrtree.DefaultIB, "columns of a block reflector")
	fl.IntVar(&o.workers, "workers", 0, "number of workers (default one per core)")
	fl.IntVar(&o.turns, "turns", 3, "how often each is computed; the best time counts")
	fl.Uint64Var(&o.seed, "seed", 1, "seed of the matrix")
	return o.run
}

// factors are A = Q·R.
type factors struct {
	q, r  *mat.Dense
	flops float64
}

// run runs all ways to factor the matrix.
func (o *options) run(ctx context.Context) error {
	if min(o.n, o.nb, o.ib, o.turns) < 1 || o.workers < 0 {
		return cli.Usage(errors.New("want at least 1 of everything"))
	}
	a := mat.NewDense(o.n, o.n, nil)
	if err := matgen.Generate(matgen.Spec{Kind: matgen.Random, M: o.n, N: o.n, Seed: o.seed}, a.RawMatrix().Data, o.n); err != nil {
		return err
	}
	fmt.Printf("%-12s %10s %8s %10s %10s\n", "rotations", "ms", "of n³", "‖A−QR‖", "‖I−QᵀQ‖")
	for _, way := range []struct {
		name string
		run  func(context.Context, *mat.Dense) (factors, error)
	}{
		{"compact", o.compact},
		{"dense", func(ctx context.Context, a *mat.Dense) (factors, error) { return o.explicit(ctx, a, false) }},
		{"memory-save", func(ctx context.Context, a *mat.Dense) (factors, error) { return o.explicit(ctx, a, true) }},
	} {
		var f factors
		took := time.Duration(math.MaxInt64)
		for range o.turns {
			var err error
			begin := time.Now()
			if f, err = way.run(ctx, a); err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
			took = min(took, time.Since(begin))
		}
		residual, orthogonality, err := f.check(a)
		if err != nil {
			return err
		}
		n := float64(o.n)
		fmt.Printf("%-12s %10.1f %8.2f %10.2g %10.2g\n", way.name, took.Seconds()*1e3, f.flops/(n*n*n), residual, orthogonality)
		if !(max(residual, orthogonality) <= 30) {
			return fmt.Errorf("%s: residual %.3g, orthogonality %.3g, want at most 30", way.name, residual, orthogonality)
		}
	}
	fmt.Println("Norms are in units of n·ε, and the first also of ‖A‖.")
	return nil
}

// compact factors a with la.QR. It counts the operations for Q as many as those for R.
func (o *options) compact(ctx context.Context, a *mat.Dense) (f factors, err error) {
	e, err := la.NewEngine(la.Options{Workers: o.workers})
	if err != nil {
		return f, err
	}
	defer e.Close()
	qr, err := la.NewQRWith[float64](e, la.QROptions{Tree: qrtree.TreeFlat, TileSize: o.nb, InnerBlock: o.ib})
	if err != nil {
		return f, err
	}
	if err := qr.Factorize(a, la.WithContext(ctx)); err != nil {
		return f, err
	}
	f = factors{new(mat.Dense), new(mat.Dense), 2 * qr.Flops().Performed}
	qr.RTo(f.r)
	return f, qr.QTo(f.q, la.WithContext(ctx))
}

// explicit factors a with rotations that are matrices.
func (o *options) explicit(ctx context.Context, a *mat.Dense, sparse bool) (f factors, err error) {
	rt, err := exec.NewLocal(exec.Options{Workers: o.workers, Float: true})
	if err != nil {
		return f, err
	}
	defer rt.Close()
	t, _ := blocked.From[float64](a, blocked.Full, o.nb, blocked.CopyOptions{})
	q, flops, err := Factorize(rt.NewJob(ctx), op.NewTable(), t, o.ib, sparse)
	if err != nil {
		return f, err
	}
	f = factors{mat.DenseCopyOf(q), mat.DenseCopyOf(t), flops}
	for i := range o.n {
		clear(f.r.RawRowView(i)[:i])
	}
	return f, nil
}

// check returns ‖A−QR‖₁/(n·ε·‖A‖₁) and ‖I−QᵀQ‖₁/(n·ε).
func (f factors) check(a *mat.Dense) (residual, orthogonality float64, err error) {
	eps := math.Nextafter(1, 2) - 1
	n := a.RawMatrix().Rows
	unit := float64(n) * eps
	rest := mat.DenseCopyOf(a)
	if err := la.Gemm[float64](context.Background(), nil, blas.NoTrans, blas.NoTrans, -1, f.q, f.r, 1, rest); err != nil {
		return 0, 0, err
	}
	one := mat.NewDense(n, n, nil)
	for i := range n {
		one.Set(i, i, 1)
	}
	if err := la.Gemm[float64](context.Background(), nil, blas.Trans, blas.NoTrans, -1, f.q, f.q, 1, one); err != nil {
		return 0, 0, err
	}
	norm := func(x *mat.Dense) float64 { return la.Norm[float64](nil, x, lapack.MaxColumnSum) }
	return norm(rest) / unit / norm(a), norm(one) / unit, nil
}
