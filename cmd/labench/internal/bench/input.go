package bench

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/tessera-la/tessera/la"
)

// InputError reports a matrix file with an infinity or a NaN in it, of which
// nothing can be computed.
type InputError struct {
	File     string
	Row, Col int // the first such element in row-major order, from 0
	Value    float64
}

func (e *InputError) Error() string {
	what := "infinite"
	if math.IsNaN(e.Value) {
		what = "NaN"
	}
	return fmt.Sprintf("%s: element (%d, %d), counted from 0, is %s", e.File, e.Row, e.Col, what)
}

// Unwrap returns the error as la has it.
func (e *InputError) Unwrap() error { return &la.NonFiniteError{Row: e.Row, Col: e.Col} }

// finite returns an *InputError if g, which came from the input file, has an
// element that is not a number of use. With half, only the lower triangle is
// looked at; with symmetric it stands for the upper one, too.
func (f *maker[T]) finite(g la.General[T], half, symmetric bool) error {
	var found atomic.Bool
	parallel(f.workers, g.Rows, stripes, func(_, lo, hi int) {
		for i := lo; i < hi && !found.Load(); i++ {
			row := g.Data[i*g.Stride : i*g.Stride+g.Cols]
			if half {
				row = row[:i+1]
			}
			for _, v := range row {
				if v-v != 0 {
					found.Store(true)
					break
				}
			}
		}
	})
	if !found.Load() {
		return nil
	}
	at := func(i, j int) T {
		if symmetric && i < j {
			i, j = j, i
		}
		return g.Data[i*g.Stride+j]
	}
	for i := range g.Rows {
		for j := range g.Cols {
			if half && !symmetric && j > i {
				break
			}
			if v := at(i, j); v-v != 0 {
				return &InputError{File: f.spec.Input, Row: i, Col: j, Value: float64(v)}
			}
		}
	}
	panic("bench: lost an element that is not finite") // nobody else has g
}
