package la_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tessera-la/tessera/blocked/lu"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/chol"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// reader is what this package makes of a matrix that is read by tasks.
type reader[T la.Element] struct {
	name   string
	factor func(ctx context.Context, a la.Source[T]) error
	// result returns what the last call of factor has computed.
	result func() la.General[T]
}

// byElement hides the memory of a symmetric matrix, which is then read by one task.
type byElement[T la.Element] struct{ la.SymmetricSource[T] }

// large is an order from which on matrices are read by tasks.
const large = 420

// readers are all of them, on e, for matrices of order large.
func readers[T la.Element](t *testing.T, e *la.Engine) (all []reader[T]) {
	t.Helper()
	c := la.NewCholesky[T](e)
	all = append(all, reader[T]{"Cholesky", func(ctx context.Context, a la.Source[T]) error {
		return c.Factorize(a.(la.SymmetricSource[T]), la.WithContext(ctx))
	}, func() la.General[T] {
		g := la.General[T]{Rows: large, Cols: large, Stride: large, Data: make([]T, large*large)}
		c.UTo(la.Triangular[T]{Uplo: blas.Upper, Diag: blas.NonUnit, N: large, Data: g.Data, Stride: g.Stride})
		return g
	}})
	for _, p := range []la.Pivoting{la.PartialPivoting, la.TournamentPivoting, la.TilePivoting} {
		f, err := la.NewLUWith[T](e, la.LUOptions{Pivoting: p})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, reader[T]{"LU, " + p.String(), func(ctx context.Context, a la.Source[T]) error {
			return f.Factorize(a, la.WithContext(ctx))
		}, func() la.General[T] {
			g := padded[T](large, large, 0)
			f.FactorTo(g)
			return g
		}})
	}
	q := la.NewQR[T](e)
	return append(all, reader[T]{"QR", func(ctx context.Context, a la.Source[T]) error {
		return q.Factorize(a, la.WithContext(ctx))
	}, func() la.General[T] {
		g := padded[T](large, large, 0)
		q.RTo(g)
		return g
	}})
}

// inTiles returns the factors of a that some of the readers are to find, from tile
// algorithms on a copy of a in tiles of order nb.
func inTiles[T la.Element](t *testing.T, e *la.Engine, a la.Symmetric[T], nb int) map[string]la.General[T] {
	t.Helper()
	u, _ := blocked.From[T](a, blocked.SymUpper, nb, blocked.CopyOptions{})
	factored, _ := blocked.From[T](a, blocked.Full, nb, blocked.CopyOptions{})
	err := engine.Run(context.Background(), e, func(p *blocked.Program[T]) error {
		return inTurn(chol.Potrf(p, u), func() error { return lu.Getrf(p, factored, lu.NewPivots(large, large, nb)) })
	})
	if err != nil {
		t.Fatal(err)
	}
	factors := make(map[string]la.General[T])
	for name, m := range map[string]*blocked.Matrix[T]{"Cholesky": u, "LU, partial": factored} {
		g := la.General[T]{Rows: large, Cols: large, Stride: large, Data: make([]T, large*large)}
		m.CopyTo(g, 1)
		for i := range large {
			if m == u {
				clear(g.Data[i*large : i*large+i])
			}
		}
		factors[name] = g
	}
	return factors
}

// loaded is the settings under which matrices of order large are read by tasks.
func loaded() []la.Options {
	return []la.Options{
		{Workers: 1, NB: 64, Static: true, Float: true}, {Workers: 3, NB: 56, Static: true, Float: true},
		{Workers: 2, NB: 512, Static: true, Float: true}, // one tile, which is not given to a kernel
	}
}

// TestLoad: a matrix that is read by the tasks of a factorization gives the bits
// that one gives which is in tiles before, through At or from memory, also after
// calls that were cancelled while they read, and Progress counts the tasks that
// read.
func TestLoad(t *testing.T) {
	t.Run("float64", testLoad[float64])
	t.Run("float32", testLoad[float32])
}

func testLoad[T la.Element](t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 8))
	a := symmetric[T](t, matgen.Spec{Kind: matgen.SPD, N: large}, blas.Lower, 1)
	for _, opt := range loaded() {
		var last, total int
		opt.Progress = func(done, of int) { last, total = done, of }
		e := start(t, opt)
		before := inTiles(t, e, a, opt.NB)
		for _, f := range readers[T](t, e) {
			what := fmt.Sprintf("%s, %d workers", f.name, opt.Workers)
			want, known := before[f.name]
			for round := range 6 {
				var src la.Source[T] = a
				if round%2 == 0 {
					src = byElement[T]{a}
				}
				last, total = -1, -2
				if err := f.factor(context.Background(), src); err != nil {
					t.Fatalf("%s, round %d: %v", what, round, err)
				}
				if last != total && opt.NB < large { // a kernel called directly is no task
					t.Errorf("%s, round %d: %d of %d tasks", what, round, last, total)
				}
				got := f.result()
				if !known {
					want, known = got, true
				}
				for i := range large {
					x, y := got.Data[i*got.Stride:][:large], want.Data[i*want.Stride:][:large]
					if !slices.Equal(x, y) {
						t.Fatalf("%s, round %d: row %d differs", what, round, i)
					}
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rnd.IntN(1500))*time.Microsecond)
				if err := f.factor(ctx, a); err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("%s, round %d, cancelled: %v", what, round, err)
				}
				cancel()
			}
		}
	}
}

// TestLoadNonFinite: the first element that is not finite is the error, whatever
// becomes of a factorization that began before it was seen.
func TestLoadNonFinite(t *testing.T) {
	t.Run("float64", testLoadNonFinite[float64])
	t.Run("float32", testLoadNonFinite[float32])
}

func testLoadNonFinite[T la.Element](t *testing.T) {
	for _, opt := range loaded() {
		for _, f := range readers[T](t, start(t, opt)) {
			for k, at := range [][2]int{{0, 0}, {0, large - 1}, {63, 64}, {200, 200}, {large - 1, large - 1}} {
				a := symmetric[T](t, matgen.Spec{Kind: matgen.SPD, N: large}, blas.Upper, 0)
				a.SetSym(at[0], at[1], T([]float64{math.NaN(), math.Inf(1), math.Inf(-1)}[k%3]))
				a.SetSym(large-1, large-1, T(math.NaN()))
				var bad *la.NonFiniteError
				if err := f.factor(context.Background(), a); !errors.As(err, &bad) || bad.Row != at[0] || bad.Col != at[1] {
					t.Errorf("%s, %d workers, (%d, %d): %v", f.name, opt.Workers, at[0], at[1], err)
				}
			}
		}
	}
}

// TestLoadAccelerators: what tasks on cores read goes to accelerators, too.
func TestLoadAccelerators(t *testing.T) {
	acc, _ := simulated(t, 2, 64, 30)
	e := engineOf(t, la.Options{Workers: 2, NB: 64, Float: true, Accelerators: acc})
	a := symmetric[float64](t, matgen.Spec{Kind: matgen.SPD, N: large}, blas.Lower, 0)
	for _, f := range readers[float64](t, e) {
		var want *mat.Dense
		for round := range 4 {
			var src la.Source[float64] = a
			if round == 0 {
				src = byElement[float64]{a}
			}
			if err := f.factor(context.Background(), src); err != nil {
				t.Fatalf("%s: %v", f.name, err)
			}
			g := f.result()
			got := mat.NewDense(large, large, g.Data[:large*large])
			if round == 0 {
				want = got
			}
			if d := farApart(got, want); !(d < 1e-9) { // not every version rounds alike
				t.Errorf("%s, round %d: off by %g", f.name, round, d)
			}
		}
	}
}
