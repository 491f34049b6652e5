package batch

import (
	"fmt"
	"slices"

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
	empty := a.Rows == 0 || a.Cols == 0
	holds := func(x []T) bool { return empty || fit(len(x), a.Rows, a.Stride, a.Cols) }
	wrong := ""
	switch {
	case a.Count < 0 || a.Rows < 0 || a.Cols < 0 || a.Stride < a.Cols || a.Step < 0:
		wrong = fmt.Sprintf("has %d matrices %d×%d, stride %d and step %d", a.Count, a.Rows, a.Cols, a.Stride, a.Step)
	case a.Each != nil && len(a.Each) != a.Count:
		wrong = fmt.Sprintf("has %d slices for %d matrices", len(a.Each), a.Count)
	case a.Each != nil:
		if k := slices.IndexFunc(a.Each, func(x []T) bool { return !holds(x) }); k >= 0 {
			wrong = fmt.Sprintf("has %d elements in slice %d, too few for %d×%d", len(a.Each[k]), k, a.Rows, a.Cols)
		}
	case empty:
		a.Step = 0 // there need not be memory
	case a.Count > 0:
		if length := (a.Rows-1)*a.Stride + a.Cols; !holds(a.Data) || a.Step < length || !fit(len(a.Data), a.Count, a.Step, length) {
			wrong = fmt.Sprintf("has %d elements, which %d matrices %d×%d of stride %d and step %d do not fit", len(a.Data),
				a.Count, a.Rows, a.Cols, a.Stride, a.Step)
		}
	}
	if wrong != "" {
		return &la.ShapeError{Op: op, Detail: name + " " + wrong}
	}
	return nil
}

// fit reports whether memory of n elements has room for count pieces of a length, from one to the next a step. A product of
// these numbers may overflow.
func fit(n, count, step, length int) bool {
	return length <= n && (count == 1 || step <= (n-length)/(count-1))
}

// complete completes those operands of op that are not nil. It returns a *la.ShapeError if one makes no sense, or has
// another number of matrices than the first. names has a letter for each.
func complete[T la.Element](op, names string, all ...*Matrices[T]) error {
	for i, a := range all {
		if a == nil {
			continue
		}
		if err := a.complete(op, names[i:i+1]); err != nil {
			return err
		}
		if a.Count != all[0].Count {
			return &la.ShapeError{Op: op, Detail: fmt.Sprintf("%c has %d matrices and %c %d", names[0], all[0].Count, names[i], a.Count)}
		}
	}
	return nil
}

// shapes returns a *la.ShapeError of op with the shapes of a and b unless they fit. b may be nil.
func shapes[T la.Element](op string, fit bool, a, b *Matrices[T]) error {
	if fit {
		return nil
	}
	detail := fmt.Sprintf("a is %d×%d", a.Rows, a.Cols)
	if b != nil {
		detail += fmt.Sprintf(" and b %d×%d", b.Rows, b.Cols)
	}
	return &la.ShapeError{Op: op, Detail: detail}
}
