package batch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/la"
)

// Matrices is Count matrices with Rows rows and Cols columns in row-major memory. Element (i, j) of matrix k is
//
//	Data[k·Step + i·Stride + j], or Each[k][i·Stride + j] if Each is not nil.
//
// A Stride of 0 means Cols, a Step of 0 Rows·Stride.
type Matrices[T la.Element] struct {
	Count, Rows, Cols int
	Stride, Step      int
	Data              []T
	Each              [][]T
}

// at returns the memory of matrix k from its first element on.
func (a *Matrices[T]) at(k int) []T {
	if a.Each != nil {
		return a.Each[k]
	}
	return a.Data[k*a.Step:]
}

// complete sets Stride and Step, or returns a *la.ShapeError of op for the matrices that it calls name.
func (a *Matrices[T]) complete(op, name string) error {
	if a.Stride == 0 {
		a.Stride = a.Cols
	}
	if a.Step == 0 {
		a.Step = a.Rows * a.Stride
	}
	length := 0
	if a.Rows > 0 && a.Cols > 0 {
		length = (a.Rows-1)*a.Stride + a.Cols
	}
	wrong := ""
	switch {
	case a.Count < 0 || a.Rows < 0 || a.Cols < 0 || a.Stride < a.Cols || a.Step < 0:
		wrong = fmt.Sprintf("has %d matrices %d×%d, stride %d and step %d", a.Count, a.Rows, a.Cols, a.Stride, a.Step)
	case a.Each != nil && len(a.Each) != a.Count:
		wrong = fmt.Sprintf("has %d slices for %d matrices", len(a.Each), a.Count)
	case a.Each == nil && a.Count > 0 && length > 0 && (a.Step < length || len(a.Data) < (a.Count-1)*a.Step+length):
		wrong = fmt.Sprintf("has %d elements, which %d matrices %d×%d of stride %d and step %d do not fit", len(a.Data),
			a.Count, a.Rows, a.Cols, a.Stride, a.Step)
	}
	if wrong == "" {
		for k, x := range a.Each {
			if len(x) < length {
				wrong = fmt.Sprintf("has %d elements in slice %d, too few for %d×%d", len(x), k, a.Rows, a.Cols)
			}
		}
	}
	if wrong != "" {
		return &la.ShapeError{Op: op, Detail: name + " " + wrong}
	}
	return nil
}

// Error says which problems of a batch have no result. The others have.
type Error struct {
	Failed []Failure // by ascending Index
}

// Failure says why a problem has no result: its Err is a *la.NotPositiveDefiniteError or a *la.SingularError.
type Failure struct {
	Index int
	Err   error
}

// Error returns how many have failed, and why the first did.
func (e *Error) Error() string {
	first := e.Failed[0]
	if len(e.Failed) == 1 {
		return fmt.Sprintf("batch: problem %d: %s", first.Index, strings.TrimPrefix(first.Err.Error(), "la: "))
	}
	return fmt.Sprintf("batch: %d problems failed; problem %d: %s", len(e.Failed), first.Index,
		strings.TrimPrefix(first.Err.Error(), "la: "))
}

// Unwrap returns the error of the first problem that failed.
func (e *Error) Unwrap() error { return e.Failed[0].Err }

// Of returns the error of problem k, nil if it has a result.
func (e *Error) Of(k int) error {
	i, found := slices.BinarySearchFunc(e.Failed, k, func(f Failure, k int) int { return f.Index - k })
	if !found {
		return nil
	}
	return e.Failed[i].Err
}
