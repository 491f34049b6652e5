package la_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

// TestFactorsStayOnDevices: a second solution copies the right sides to the device and no factor; a
// new factorization with other elements in the same memory is not solved with the old ones, also
// where the device has no room for all.
func TestFactorsStayOnDevices(t *testing.T) {
	const n, nb, nrhs = 96, 16, 16
	a, spd, _ := deviceProblems(t, n)
	b := generatedDense(t, matgen.Random, n, 7).Slice(0, n, 0, nrhs).(*mat.Dense)
	for name, f := range map[string]func(e *la.Engine) (factorize func(twice bool) (mat.Matrix, error), solve func(x *mat.Dense) error){
		"cholesky": func(e *la.Engine) (func(bool) (mat.Matrix, error), func(*mat.Dense) error) {
			f := la.NewCholesky[float64](e)
			return func(twice bool) (mat.Matrix, error) {
				m := scaledSym(spd, twice)
				return m, f.Factorize(m)
			}, func(x *mat.Dense) error { return f.SolveTo(x, b) }
		},
		"lu": func(e *la.Engine) (func(bool) (mat.Matrix, error), func(*mat.Dense) error) {
			f := la.NewLU[float64](e)
			return func(twice bool) (mat.Matrix, error) {
				m := scaledDense(a, twice)
				return m, f.Factorize(m)
			}, func(x *mat.Dense) error { return f.SolveTo(x, false, b) }
		},
		"in place": func(e *la.Engine) (func(bool) (mat.Matrix, error), func(*mat.Dense) error) {
			f, tiles := la.NewLU[float64](e), blocked.New[float64](blocked.Full, n, n, nb)
			return func(twice bool) (mat.Matrix, error) {
				f.Reset() // from here on the tiles are ours
				m := scaledDense(a, twice)
				tiles.CopyFrom(m, blocked.CopyOptions{})
				return m, f.Factorize(tiles, la.InPlace())
			}, func(x *mat.Dense) error { return f.SolveTo(x, false, b) }
		},
		"qr": func(e *la.Engine) (func(bool) (mat.Matrix, error), func(*mat.Dense) error) {
			f := la.NewQR[float64](e)
			return func(twice bool) (mat.Matrix, error) {
				m := scaledDense(a, twice)
				return m, f.Factorize(m)
			}, func(x *mat.Dense) error { return f.SolveTo(x, false, b) }
		},
		"qr, tall": func(e *la.Engine) (func(bool) (mat.Matrix, error), func(*mat.Dense) error) {
			f, tall := la.NewQR[float64](e), mat.NewDense(n+nb, n, nil) // the rows beyond A are 0, so X is that of A
			return func(twice bool) (mat.Matrix, error) {
					m := scaledDense(a, twice)
					tall.Slice(0, n, 0, n).(*mat.Dense).Copy(m)
					return m, f.Factorize(tall)
				}, func(x *mat.Dense) error {
					right := mat.NewDense(n+nb, nrhs, nil)
					right.Slice(0, n, 0, nrhs).(*mat.Dense).Copy(b)
					return f.SolveTo(x, false, right)
				}
		},
	} {
		for _, room := range []int{400, 12} {
			all, _ := simulated(t, 1, nb, room)
			e := engineOf(t, la.Options{Accelerators: all, Workers: 2, NB: nb, Direct: -1, Only: []string{"cuda"}})
			factorize, solve := f(e)
			for _, twice := range []bool{false, true} {
				m, err := factorize(twice)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for again := range 2 {
					before := statsOf(all).In
					var x, ax mat.Dense
					if err := solve(&x); err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					ax.Mul(m, &x)
					if d := farApart(&ax, b); !(d <= 1e-8) {
						t.Errorf("%s, room for %d tiles, twice %t: the residual is %g", name, room, twice, d)
					}
					// B goes to the device, once as it is and once after what cores do to it, as
					// interchanges of rows; a factor is six times as much.
					// The triangle of a tall matrix has tiles of its own, which the first solution copies.
					rows, once := n, false
					if name == "qr, tall" {
						rows, once = n+nb, again == 0
					}
					if in := statsOf(all).In - before; room == 400 && !once && in > int64(2*rows*nrhs*8) {
						t.Errorf("%s: a solution copied %d bytes to the device, of which B are %d", name, in, rows*nrhs*8)
					}
				}
			}
		}
	}
}

// TestFactorsLeaveDevices: what a factorization has on a device goes when it is reset, and when it
// is no longer used.
func TestFactorsLeaveDevices(t *testing.T) {
	const n, nb = 96, 16
	_, spd, _ := deviceProblems(t, n)
	all, _ := simulated(t, 1, nb, 400)
	e := engineOf(t, la.Options{Accelerators: all, Workers: 2, NB: nb, Direct: -1, Only: []string{"cuda"}})
	factor := func() *la.Cholesky[float64] {
		f := la.NewCholesky[float64](e)
		if err := f.Factorize(spd); err != nil {
			t.Fatal(err)
		}
		if statsOf(all).Values == 0 {
			t.Fatal("nothing stays on the device")
		}
		return f
	}
	factor().Reset()
	if v := statsOf(all).Values; v != 0 {
		t.Errorf("after Reset %d tiles are on the device", v)
	}
	factor()
	for range 1000 {
		runtime.GC()
		if statsOf(all).Values == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("of a factorization that nobody has %d tiles are on the device", statsOf(all).Values)
}

func statsOf(all []offload.Accelerator) cuda.Stats { return all[0].(*cuda.Accelerator).Stats() }

func scaledSym(a *mat.SymDense, twice bool) *mat.SymDense {
	var b mat.SymDense
	b.ScaleSym(factorIf(twice), a)
	return &b
}

func scaledDense(a *mat.Dense, twice bool) *mat.Dense {
	var b mat.Dense
	b.Scale(factorIf(twice), a)
	return &b
}

func factorIf(twice bool) float64 {
	if twice {
		return 2
	}
	return 1
}
