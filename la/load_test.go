package la_test

import (
	"errors"
	"math"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/la"
)

// formula is a matrix that can only be read through At, by one goroutine at a
// time.
type formula struct {
	n     int
	at    func(i, j int) float64
	alone atomic.Int32
	calls int // not atomic: the race detector is to see a second reader
}

func (f *formula) Dims() (r, c int)  { return f.n, f.n }
func (f *formula) SymmetricDim() int { return f.n }
func (f *formula) At(i, j int) float64 {
	if f.alone.Add(1) != 1 {
		panic("read by two at once")
	}
	defer f.alone.Add(-1)
	f.calls++
	return f.at(i, j)
}

// A matrix that is made by a formula is read by one task, and what the formula
// does wrong comes back to the caller.
func TestReadThroughAt(t *testing.T) {
	const n = 400
	good := func(i, j int) float64 { return math.Exp(-math.Abs(float64(i-j)) / 10) }
	factorize := map[string]func(e *la.Engine, f *formula) (int, error){
		"cholesky": func(e *la.Engine, f *formula) (int, error) {
			err := la.NewCholesky[float64](e).Factorize(f)
			return n * (n + 1) / 2, err
		},
		"lu": func(e *la.Engine, f *formula) (int, error) {
			return n * n, la.NewLU[float64](e).Factorize(f)
		},
		"qr": func(e *la.Engine, f *formula) (int, error) {
			return n * n, la.NewQR[float64](e).Factorize(f)
		},
	}
	for name, factor := range factorize {
		t.Run(name, func(t *testing.T) {
			e := start(t, la.Options{Workers: 3, Float: true, NB: 64, Static: true})
			f := &formula{n: n, at: good}
			calls, err := factor(e, f)
			if err != nil || f.calls < calls {
				t.Errorf("%d calls of At, want %d; %v", f.calls, calls, err)
			}
			f = &formula{n: n, at: func(i, j int) float64 {
				if i == 100 && j == 301 {
					return math.NaN()
				}
				return good(i, j)
			}}
			var bad *la.NonFiniteError
			if _, err := factor(e, f); !errors.As(err, &bad) || bad.Row != 100 || bad.Col != 301 {
				t.Errorf("a NaN: %v", err)
			}
			f = &formula{n: n, at: func(i, j int) float64 {
				if i == 5 && j == 350 {
					panic("no such element")
				}
				return good(i, j)
			}}
			func() {
				defer func() {
					if v := recover(); v != "no such element" {
						t.Errorf("recovered %v", v)
					}
				}()
				_, err := factor(e, f)
				t.Errorf("no panic, %v", err)
			}()
			f = &formula{n: n, at: func(i, j int) float64 { runtime.Goexit(); return 0 }}
			var ended *exec.PanicError
			if _, err := factor(e, f); !errors.As(err, &ended) {
				t.Errorf("an end of the goroutine: %v", err)
			}
		})
	}
}
