package matgen

import (
	"errors"
	"fmt"
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
)

// Element is a type of matrix elements.
type Element interface {
	float32 | float64
}

// Validate returns an error that lists everything that is wrong with s, or nil.
func (s *Spec) Validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("matgen: "+format, args...))
	}
	t := s.Kind.traits()
	if s.Kind >= kinds {
		bad("there is no %v", s.Kind)
	}
	if s.M < 0 || s.N < 0 {
		bad("negative dimensions %d×%d", s.M, s.N)
	}
	if t.square && s.M != s.N {
		bad("kind %v is square, not %d×%d", s.Kind, s.M, s.N)
	}
	if s.Cond != 0 && !(s.Cond >= 1 && s.Cond <= math.MaxFloat64) {
		bad("condition number %g is not a number from 1", s.Cond)
	}
	if s.Minor < 0 || s.Minor > s.N {
		bad("there is no minor of order %d in a matrix of order %d", s.Minor, s.N)
	}
	if s.NB < 0 {
		bad("negative tile size %d", s.NB)
	}
	if t.tiled && s.NB >= 0 {
		nb := s.nb()
		row, col := s.TileRow, s.TileCol
		if t.symmetric {
			col = row
		}
		if row < 0 || col < 0 || (s.M > 0 && row > (s.M-1)/nb) || (s.N > 0 && col > (s.N-1)/nb) {
			bad("there is no tile (%d, %d) of size %d in a matrix of %d×%d", row, col, nb, s.M, s.N)
		}
	}
	return errors.Join(errs...)
}

// Generator makes the elements of one matrix. It is read-only and safe for
// concurrent use.
type Generator[T Element] struct {
	spec Spec
	at   func(i, j int) float64
}

// New returns the generator of the matrix that s names, or the error of
// [Spec.Validate]. It takes O(m+n) time.
func New[T Element](s Spec) (*Generator[T], error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return &Generator[T]{spec: s, at: s.elements(limitsOf[T]())}, nil
}

// Generate fills a with the M×N matrix that s names, row-major with leading dimension lda. The elements from
// column N on are not written. It returns the error of [Spec.Validate], or an error if a is too small.
func Generate[T Element](s Spec, a []T, lda int) error {
	g, err := New[T](s)
	if err != nil {
		return err
	}
	if lda < s.N || (s.M > 0 && len(a) < (s.M-1)*lda+s.N) {
		return fmt.Errorf("matgen: %d elements of stride %d do not hold a matrix of %d×%d", len(a), lda, s.M, s.N)
	}
	g.Block(0, 0, s.M, s.N, a, lda)
	return nil
}

// Dims returns the number of rows and columns.
func (g *Generator[T]) Dims() (m, n int) { return g.spec.M, g.spec.N }

// At returns element (i, j). It does not check the index.
func (g *Generator[T]) At(i, j int) T { return T(g.at(i, j)) }

// Block writes the r×c block whose first element is (i, j) to dst, row-major with leading dimension ld. The
// elements from column c on are not written. It panics if the block does not lie in the matrix or does not fit
// into dst.
func (g *Generator[T]) Block(i, j, r, c int, dst []T, ld int) {
	if i < 0 || j < 0 || r < 0 || c < 0 || i+r > g.spec.M || j+c > g.spec.N {
		panic(fmt.Sprintf("matgen: block of %d×%d at (%d, %d) in a matrix of %d×%d", r, c, i, j, g.spec.M, g.spec.N))
	}
	for p := range r {
		row := dst[p*ld : p*ld+c]
		for q := range row {
			row[q] = T(g.at(i+p, j+q))
		}
	}
}

func limitsOf[T Element]() limits {
	eps := 2 * scalar.Eps[T]()
	return limits{eps: eps, tiny: 0.25 * scalar.SafeMin[T]() / eps}
}
