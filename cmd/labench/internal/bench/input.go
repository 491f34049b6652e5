package bench

import (
	"fmt"
	"math"

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

// ShapeError reports a matrix file whose shape does not fit the operation or the flags.
type ShapeError struct{ File, Reason string }

func (e *ShapeError) Error() string { return fmt.Sprintf("%s: %s", e.File, e.Reason) }
