package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tessera-la/tessera/internal/matgen"
)

// Operation is one line of the table of operations. It says how to run and describe an operation.
type Operation struct {
	Name  string
	Short string // one-line description
	// Sizes are the dimensions that can be chosen, out of "m", "n", "k" and "nrhs" (number of right-hand sides).
	// If n cannot be chosen, m sets it, too.
	Sizes []string
	// Flags are the names of further flags.
	Flags []string
	// Formula is the residual of a result in words. All norms are 1-norms; ε is 2⁻⁵³ or, for float32, 2⁻²⁴.
	// Limit is its upper bound.
	Formula string
	Limit   Number

	rows, cols string      // which dimensions A's rows and columns are
	n, m       int         // defaults; 0 means DefaultN for n, and n for m
	kind       matgen.Kind // default
	symmetric  bool        // A must be symmetric
	notRandom  string      // why A cannot be of kind random; empty if it can
	whole      bool        // one task for the whole matrix, without tiles
	compound   bool        // composed of other operations, whose tile sizes count
	packs      bool        // its tasks share packed operands
	allAlike   bool        // all operands have A's kind, so a square kind makes all dimensions equal
	// elements returns the number of elements of all matrices of a problem with known shape.
	elements func(Spec) float64
}

// table returns the operations, in the order of the help. The fields of each are in the same order: its names; its
// dimensions; its flags; how it is computed; its residual; its matrix; its elements.
var table = sync.OnceValue(func() []Operation {
	gemm := Operation{
		Name: "gemm", Short: "Multiply: C = A·B, C m×n, A m×k, B k×n",
		Sizes: []string{"n", "m", "k"}, rows: "m", cols: "k",
		allAlike: true,
		Formula:  "‖AB−C‖ / (√(k+2)·‖A‖·‖B‖·ε)", Limit: 3,
		elements: func(s Spec) float64 { m, n, k := s.floats(); return m*k + k*n + m*n },
	}
	syrk := Operation{
		Name: "syrk", Short: "Multiply by the transpose: C = A·Aᵀ, C n×n, A n×k",
		Sizes: []string{"n", "k"}, rows: "n", cols: "k",
		Formula: "‖AAᵀ−C‖ / (√(k+2)·‖A‖·‖Aᵀ‖·ε)", Limit: 3,
		elements: func(s Spec) float64 { _, n, k := s.floats(); return n*k + n*n },
	}
	trsm := Operation{
		Name: "trsm", Short: "Solve triangular systems: L·X = B, L m×m, B m×n",
		Sizes: []string{"n", "m"}, rows: "m", cols: "m",
		Formula: "‖B−LX‖ / (m·‖L‖·‖X‖·ε)", Limit: 30,
		kind: matgen.SPD, notRandom: "a random triangle is so ill conditioned that the solution overflows",
		elements: func(s Spec) float64 {
			m, n, _ := s.floats()
			if s.again() {
				return m*m + 2*m*n
			}
			return m*m + m*n
		},
	}
	cholesky := Operation{
		Name: "cholesky", Short: "Factor a symmetric positive definite matrix: A = L·Lᵀ, n×n",
		Sizes: []string{"n"}, rows: "n", cols: "n",
		Flags:   []string{"checkpoint"},
		packs:   true,
		Formula: "‖LLᵀ−A‖ / (n·‖A‖·ε)", Limit: 30,
		kind: matgen.SPD, symmetric: true, notRandom: "a random matrix is not symmetric",
		elements: func(s Spec) float64 {
			_, n, _ := s.floats()
			if s.Verify {
				return 2.5 * n * n // includes the factor, stored by rows
			}
			return 1.5 * n * n // the matrix, and half of it in tiles
		},
	}
	lu := Operation{
		Name: "lu", Short: "Factor a matrix with pivoting: A = P·L·U, m×n",
		Sizes: []string{"n", "m"}, rows: "m", cols: "n",
		Flags:   []string{"pivot", "on-breakdown", "checkpoint"},
		packs:   true,
		Formula: "‖PLU−A‖ / (n·‖A‖·ε)", Limit: 30,
		elements: func(s Spec) float64 {
			m, n, _ := s.floats()
			if s.Verify {
				return 5 * m * n // includes the separate factors, and A with its rows exchanged
			}
			return 2 * m * n // the matrix and its tiles
		},
	}
	qr := Operation{
		Name: "qr", Short: "Factor a matrix by block Givens rotations: A = Q·R, m×n",
		Sizes: []string{"n", "m"}, rows: "m", cols: "n",
		Flags:   []string{"tree", "domain", "ib", "checkpoint"},
		packs:   true,
		Formula: "‖R−QᵀA‖ / (m·‖A‖·ε)", Limit: 30,
		elements: func(s Spec) float64 {
			m, n, _ := s.floats()
			k := min(m, n)
			elements := 2 * m * n // the matrix and its tiles
			if s.Verify {
				elements += 2*m*n + m*k + k*n + k*k
			}
			return elements
		},
	}
	solve := Operation{
		Name: "solve", Short: "Solve a system of linear equations: A·X = B, n×n",
		Sizes: []string{"n", "nrhs"}, rows: "n", cols: "n",
		Flags:    []string{"method", "mixed"},
		compound: true, packs: true,
		Formula: "‖B−AX‖ / (n·‖A‖·‖X‖·ε)", Limit: 30,
		elements: func(s Spec) float64 {
			_, n, _ := s.floats()
			return 2*n*n + 4*n*float64(s.NRHS)
		},
	}
	lstsq := Operation{
		Name: "lstsq", Short: "Solve a least-squares problem: min ‖B−A·X‖, m×n",
		Sizes: []string{"n", "m", "nrhs"}, rows: "m", cols: "n", n: 1024, m: DefaultN,
		compound: true, packs: true,
		Formula: "‖(B−AX)ᵀA‖ / (m·‖A‖·(‖A‖·‖X‖+‖B‖)·ε)", Limit: 30,
		elements: func(s Spec) float64 {
			m, n, _ := s.floats()
			return 2*m*n + 3*max(m, n)*float64(s.NRHS)
		},
	}
	eigen := Operation{
		Name: "eigen", Short: "Find eigenvalues, symmetric matrix: A = V·Λ·Vᵀ, n×n",
		Sizes: []string{"n"}, rows: "n", cols: "n", n: 1024,
		Flags: []string{"values", "general", "b", "reduction"},
		whole: true, compound: true,
		Formula: "‖AV−VΛ‖ / (n·‖A‖·ε)", Limit: 30,
		kind: matgen.SPD, symmetric: true, notRandom: "a random matrix is not symmetric",
		elements: func(s Spec) float64 {
			_, n, _ := s.floats()
			if s.B != matgen.Random {
				return 12 * n * n // includes B, its tile, and two products
			}
			if s.Verify {
				return 8 * n * n // includes the vectors, a product, and a decomposition with vectors
			}
			if s.General {
				return 6 * n * n // the matrix, its tile, vectors, and the work space, which has two copies
			}
			return 4 * n * n // the matrix, its tile, the vectors, and the work space
		},
	}
	svd := Operation{
		Name: "svd", Short: "Find singular values and vectors: A = U·Σ·Vᵀ, m×n",
		Sizes: []string{"n", "m"}, rows: "m", cols: "n", n: 1024,
		Flags: []string{"values", "reduction"},
		whole: true, compound: true,
		Formula: "‖A−UΣVᵀ‖ / (max(m,n)·‖A‖·ε)", Limit: 30,
		elements: func(s Spec) float64 {
			m, n, _ := s.floats()
			long, k := max(m, n), min(m, n)
			elements := 3*long*k + 5*k*k // the matrix, its tile and left vectors; right ones, and the work space
			if s.Verify {
				elements += 2*long*k + 3*k*k
			}
			return elements
		},
	}
	return []Operation{gemm, syrk, trsm, cholesky, lu, qr, solve, lstsq, eigen, svd}
})

// DefaultN is the default order of a problem.
const DefaultN = 4096

// Operations returns the table of operations, in the order of the help.
func Operations() []Operation { return slices.Clone(table()) }

// Ops returns the names of all operations.
func Ops() []string { return names(func(Operation) bool { return true }) }

// Tunable returns the names of the operations that have tile sizes of their own.
func Tunable() []string { return names(func(o Operation) bool { return !o.compound }) }

// names returns the names of the operations for which of returns true.
func names(of func(Operation) bool) (all []string) {
	for _, o := range table() {
		if of(o) {
			all = append(all, o.Name)
		}
	}
	return all
}

// find returns the operation called name, or nil.
func find(name string) *Operation {
	all := table()
	if i := slices.IndexFunc(all, func(o Operation) bool { return o.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// known returns the operation called name. If there is none, it returns an Operation without a residual, which
// divides matrices into tiles as most do.
func known(name string) *Operation { return cmp.Or(find(name), &Operation{}) }

// Limit returns the upper bound of the residual of an operation: 3 for products, 30 for systems and
// factorizations, 0 for an unknown operation.
func Limit(op string) Number { return known(op).Limit }

// Formula returns the residual of an operation in words: see [Operation]. It is empty for an unknown operation.
func Formula(op string) string { return known(op).Formula }

// HasTiles reports whether an operation divides matrices into tiles. It returns true for an unknown operation.
func HasTiles(op string) bool { return known(op).Tiled() }

// Has reports whether a dimension can be chosen.
func (o *Operation) Has(size string) bool { return slices.Contains(o.Sizes, size) }

// Takes reports whether o has a flag.
func (o *Operation) Takes(flag string) bool { return slices.Contains(o.Flags, flag) }

// Tiled reports whether o divides matrices into tiles.
func (o *Operation) Tiled() bool { return !o.whole }

// NotRandom returns why o takes no random matrix, or "".
func (o *Operation) NotRandom() string { return o.notRandom }

// Shape formats the dimensions of a problem, as few as suffice.
func (r Result) Shape() string {
	o := find(r.Op)
	square := r.M == r.N && (r.K == r.N || !o.Has("k"))
	var words []string
	for _, d := range []struct {
		name string
		size int
	}{{"m", r.M}, {"n", r.N}, {"k", r.K}} {
		if d.name == "n" || o.Has(d.name) && !square {
			words = append(words, fmt.Sprintf("%s = %d", d.name, d.size))
		}
	}
	if o.Has("nrhs") {
		words = append(words, fmt.Sprintf("nrhs = %d", r.NRHS))
	}
	return strings.Join(words, ", ")
}

// needsSymmetric reports whether A must be symmetric.
func (o *Operation) needsSymmetric(s Spec) bool {
	return o.symmetric && !s.General || s.Method == ByCholesky
}

// fill returns s with defaults for the missing dimensions.
func (o *Operation) fill(s Spec) Spec {
	if s.N == 0 {
		if s.N = DefaultN; o.n > 0 {
			s.N = o.n
		}
		if s.M > 0 && !o.Has("m") {
			s.N = s.M
		}
	}
	if s.M == 0 {
		if s.M = s.N; o.m > 0 {
			s.M = max(o.m, s.N)
		}
	}
	if s.K == 0 && o.Has("k") {
		s.K = s.N
	}
	return s
}

// take returns s with the dimensions of A, an r×c matrix from a file.
func (o *Operation) take(s Spec, r, c int) (Spec, error) {
	fail := func(format string, args ...any) (Spec, error) {
		return s, &ShapeError{s.Input, fmt.Sprintf("the matrix is %d×%d, %s", r, c, fmt.Sprintf(format, args...))}
	}
	if r == 0 || c == 0 {
		return fail("which is nothing to measure")
	}
	if r != c && o.rows == o.cols {
		return fail("and %s needs a square one", o.Name)
	}
	sizes := map[string]*int{"m": &s.M, "n": &s.N, "k": &s.K}
	ok := true
	set := func(name string, to int) {
		size := sizes[name]
		ok = ok && (*size == 0 || *size == to)
		*size = to
	}
	set(o.rows, r)
	set(o.cols, c)
	if s.N == 0 {
		s.N = c
	}
	if !o.Has("m") {
		set("m", s.N)
	}
	if !ok {
		return fail("but another shape was asked for: leave the dimensions out")
	}
	return s, nil
}
