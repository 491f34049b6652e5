package csr

import (
	"fmt"
	"strings"

	"github.com/tessera-la/tessera/internal/problems"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/csr/internal/order"
)

// Ordering says in which order a [Cholesky] factorization eliminates rows.
type Ordering uint8

const (
	// Automatic is AMD, or NestedDissection where AMD gives a factorization with so many operations that it pays to look
	// for a better order, and where that has fewer. These are large grids in three dimensions above all.
	Automatic Ordering = iota
	// AMD is approximate minimum degree: it eliminates next a row with about the fewest entries.
	AMD
	// Natural is the order of the rows in the matrix.
	Natural
	// Given is the order that CholeskyOptions.Permutation gives.
	Given
	// NestedDissection is the order in which separators come last: sets of rows that divide the others in two parts without
	// entries in each other. It takes much longer to find than AMD, and often has a factor with fewer entries.
	NestedDissection
)

// orderings are the names, in the order of the constants.
var orderings = [...]string{"automatic", "amd", "natural", "given", "nested-dissection"}

func (o Ordering) String() string {
	if int(o) < len(orderings) {
		return orderings[o]
	}
	return fmt.Sprintf("Ordering(%d)", uint8(o))
}

// ParseOrdering returns the ordering with the given name.
func ParseOrdering(name string) (Ordering, error) {
	for o, n := range orderings {
		if n == name {
			return Ordering(o), nil
		}
	}
	return 0, fmt.Errorf("csr: no ordering %q; there are %s", name, strings.Join(orderings[:], ", "))
}

// Triangle says which elements of a symmetric matrix are stored.
type Triangle uint8

const (
	// Both means that both triangles are stored. They must agree but for a few rounding errors.
	Both Triangle = iota
	// Upper means that only elements on and above the diagonal are read.
	Upper
	// Lower means that only elements on and below the diagonal are read.
	Lower
)

func (t Triangle) String() string {
	if names := [...]string{"both", "upper", "lower"}; int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("Triangle(%d)", uint8(t))
}

// CholeskyOptions are options of a sparse Cholesky factorization. The zero value works.
type CholeskyOptions struct {
	// Ordering is the order in which rows are eliminated. The number of operations and the memory depend on it.
	Ordering Ordering
	// Permutation is the order for Given: row Permutation[k] of the matrix is eliminated as number k.
	Permutation []int
	// Triangle says which elements of the matrix are read.
	Triangle Triangle
	// MaxBytes limits the memory that a factorization may take. 0 means the memory that the machine has available.
	// Factorize compares the memory with the limit before it allocates.
	MaxBytes int64
}

// validate returns a *la.OptionsError for the factorization of a matrix of order n, or nil.
func (o *CholeskyOptions) validate(n int) error {
	var bad problems.List
	bad.Check(o.Ordering <= NestedDissection, "CholeskyOptions.Ordering = %v is no ordering", o.Ordering)
	bad.Check(o.Triangle <= Lower, "CholeskyOptions.Triangle = %v is no triangle", o.Triangle)
	bad.Check(o.MaxBytes >= 0, "CholeskyOptions.MaxBytes = %d is negative", o.MaxBytes)
	if o.Ordering == Given {
		_, ok := order.Inverse(o.permutation())
		bad.Check(ok && len(o.Permutation) == n, "CholeskyOptions.Permutation, with %d elements, is no permutation of %d rows", len(o.Permutation), n)
	}
	if len(bad) > 0 {
		return &la.OptionsError{Problems: bad}
	}
	return nil
}

// permutation returns Permutation in 32 bits. An element that is out of range becomes −1.
func (o *CholeskyOptions) permutation() []int32 {
	p := make([]int32, len(o.Permutation))
	for k, i := range o.Permutation {
		p[k] = -1
		if uint(i) < uint(len(p)) {
			p[k] = int32(i)
		}
	}
	return p
}

// NotPositiveDefiniteError reports a symmetric matrix that has no Cholesky factorization.
type NotPositiveDefiniteError struct {
	// Column is the column of the matrix, from 1, in whose elimination the factorization ended. The matrix of the rows
	// and columns that were eliminated before, together with this one, is not positive definite.
	Column int
}

func (e *NotPositiveDefiniteError) Error() string {
	return fmt.Sprintf("csr: matrix is not positive definite: the pivot of column %d (counted from 1) is not positive", e.Column)
}

// Final says that another attempt would find the same: see graph.Failure.
func (e *NotPositiveDefiniteError) Final() bool { return true }

// SymmetryError reports two elements that contradict each other in a matrix that must be symmetric.
type SymmetryError struct {
	Row, Col int // the element with the smaller row, from 0, that differs from its mirror image
}

func (e *SymmetryError) Error() string {
	return fmt.Sprintf("csr: matrix is not symmetric: the element in row %d, column %d (counted from 1) differs from its mirror image", e.Row+1, e.Col+1)
}

// CholeskyStats describes a factorization.
type CholeskyStats struct {
	Ordering   Ordering // not Automatic: the one taken
	Entries    int64    // of L, zeros of supernodes not counted
	Stored     int64    // elements that are stored for L
	Supernodes int      // as many as rows if the factor is computed column by column
	Flops      float64  // multiplications and additions of a factorization
}

// MemoryError reports a factorization that would take more memory than it may.
type MemoryError struct {
	Rows    int   // of the matrix
	Entries int64 // of the factor
	Factor  int64 // bytes of the factor, with the zeros that it stores
	Work    int64 // bytes beside the factor, while it is computed
	Limit   int64 // bytes
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("csr: the Cholesky factor of order %d has %d entries: it takes %d bytes, and %d more while it is computed, together %d; the limit is %d",
		e.Rows, e.Entries, e.Factor, e.Work, e.Factor+e.Work, e.Limit)
}
