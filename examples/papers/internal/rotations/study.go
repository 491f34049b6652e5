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

var (
	flags = flag.NewFlagSet("qr", flag.ContinueOnError)

	order   = flags.Int("n", 1024, "order of the matrix")
	nb      = flags.Int("nb", 128, "tile size")
	ib      = flags.Int("ib", qrtree.DefaultIB, "columns of a block reflector")
	workers = flags.Int("workers", 0, "number of workers (default one per core)")
	turns   = flags.Int("turns", 3, "how often each is computed; the best time counts")
	seed    = flags.Uint64("seed", 1, "seed of the matrix")
)

// Flags returns the flags of the study. They are read once, by its command.
func Flags() *flag.FlagSet { return flags }

// factors are A = Q·R.
type factors struct {
	q, r  *mat.Dense
	flops float64
}

// Run runs the study with its flags and prints the results. It fails if a residual is large. The error
// is a *cli.UsageError for invalid flags.
func Run(ctx context.Context) error {
	if min(*order, *nb, *ib, *turns) < 1 || *workers < 0 {
		return cli.Usage(errors.New("want at least 1 of everything"))
	}
	a := mat.NewDense(*order, *order, nil)
	if err := matgen.Generate(matgen.Spec{Kind: matgen.Random, M: *order, N: *order, Seed: *seed}, a.RawMatrix().Data, *order); err != nil {
		return err
	}
	fmt.Printf("%-12s %10s %8s %10s %10s\n", "rotations", "ms", "of n³", "‖A−QR‖", "‖I−QᵀQ‖")
	for _, way := range []struct {
		name string
		run  func(context.Context, *mat.Dense) (factors, error)
	}{
		{"compact", compact},
		{"dense", func(ctx context.Context, a *mat.Dense) (factors, error) { return explicit(ctx, a, false) }},
		{"memory-save", func(ctx context.Context, a *mat.Dense) (factors, error) { return explicit(ctx, a, true) }},
	} {
		var f factors
		took := time.Duration(math.MaxInt64)
		for range *turns {
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
		n := float64(*order)
		fmt.Printf("%-12s %10.1f %8.2f %10.2g %10.2g\n", way.name, took.Seconds()*1e3, f.flops/(n*n*n), residual, orthogonality)
		if !(max(residual, orthogonality) <= 30) {
			return fmt.Errorf("%s: residual %.3g, orthogonality %.3g, want at most 30", way.name, residual, orthogonality)
		}
	}
	fmt.Println("Norms are in units of n·ε, and the first also of ‖A‖.")
	return nil
}

// compact factors a with la.QR. It counts the operations for Q as many as those for R.
func compact(ctx context.Context, a *mat.Dense) (f factors, err error) {
	e, err := la.NewEngine(la.Options{Workers: *workers})
	if err != nil {
		return f, err
	}
	defer e.Close()
	qr, err := la.NewQRWith[float64](e, la.QROptions{Tree: qrtree.TreeFlat, TileSize: *nb, InnerBlock: *ib})
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
func explicit(ctx context.Context, a *mat.Dense, sparse bool) (f factors, err error) {
	rt, err := exec.NewLocal(exec.Options{Workers: *workers, Float: true})
	if err != nil {
		return f, err
	}
	defer rt.Close()
	t, _ := blocked.From[float64](a, blocked.Full, *nb, blocked.CopyOptions{})
	q, flops, err := Factorize(rt.NewJob(ctx), op.NewTable(), t, *ib, sparse)
	if err != nil {
		return f, err
	}
	f = factors{mat.DenseCopyOf(q), mat.DenseCopyOf(t), flops}
	for i := range *order {
		clear(f.r.RawRowView(i)[:i])
	}
	return f, nil
}

// check returns ‖A−QR‖₁/(n·ε·‖A‖₁) and ‖I−QᵀQ‖₁/(n·ε).
func (f factors) check(a *mat.Dense) (residual, orthogonality float64, err error) {
	eps := math.Nextafter(1, 2) - 1
	unit := float64(*order) * eps
	rest := mat.DenseCopyOf(a)
	if err := la.Gemm[float64](context.Background(), nil, blas.NoTrans, blas.NoTrans, -1, f.q, f.r, 1, rest); err != nil {
		return 0, 0, err
	}
	one := mat.NewDense(*order, *order, nil)
	for i := range *order {
		one.Set(i, i, 1)
	}
	if err := la.Gemm[float64](context.Background(), nil, blas.Trans, blas.NoTrans, -1, f.q, f.q, 1, one); err != nil {
		return 0, 0, err
	}
	norm := func(x *mat.Dense) float64 { return la.Norm[float64](nil, x, lapack.MaxColumnSum) }
	return norm(rest) / unit / norm(a), norm(one) / unit, nil
}
