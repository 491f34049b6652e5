package bench

import (
	"fmt"
	"math"
	"slices"

	"github.com/tessera-la/tessera/la"
)

// InputError reports an infinity or a NaN in a matrix file. Nothing can be computed from such a matrix.
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
	return fmt.Sprintf("%s: the element in row %d, column %d (counted from 1) is %s", e.File, e.Row+1, e.Col+1, what)
}

// Unwrap returns the corresponding error of la.
func (e *InputError) Unwrap() error { return &la.NonFiniteError{Row: e.Row, Col: e.Col} }

// finite returns an *InputError if g, which comes from the input file, has an infinite or NaN element. If
// symmetric is set, only its lower triangle is examined.
func (f *maker[T]) finite(g la.General[T], symmetric bool) error {
	bad := func(v T) bool { return v-v != 0 }
	if !slices.ContainsFunc(g.Data, bad) {
		return nil
	}
	for i := range g.Rows {
		for j := range g.Cols {
			v := g.Data[i*g.Stride+j]
			if symmetric && i < j {
				v = g.Data[j*g.Stride+i]
			}
			if bad(v) {
				return &InputError{File: f.spec.Input, Row: i, Col: j, Value: float64(v)}
			}
		}
	}
	panic("bench: lost an element that is not finite") // no other code has access to g
}
