package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/exec/sched"
	"github.com/tessera-la/tessera/internal/matgen"
)

// InvalidError lists everything that is wrong with a Spec.
type InvalidError struct{ Problems []string }

func (e *InvalidError) Error() string { return strings.Join(e.Problems, "; ") }

// MemoryError reports a problem that this process cannot hold.
type MemoryError struct {
	Need float64 // bytes; a float64, since what is asked for may overflow
	Have int64   // bytes that the process may use at most
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("the matrices need %.0f bytes (%s), and this process may use %d (%s)",
		e.Need, Bytes(e.Need), e.Have, Bytes(float64(e.Have)))
}

// Bytes returns a number of bytes in words: "128 MiB".
func Bytes(n float64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	i := 0
	for n >= 1024 && i < len(units)-1 {
		n, i = n/1024, i+1
	}
	if n < 10 && i > 0 {
		return fmt.Sprintf("%.1f %s", n, units[i])
	}
	return fmt.Sprintf("%.0f %s", n, units[i])
}

// Validate returns an *InvalidError that names everything wrong with s, or
// nil. Words and shapes are checked; whether the versions that s names exist,
// whether the memory suffices and whether the file can be read, the run finds
// out.
func (s Spec) Validate() error {
	s = s.WithDefaults()
	var bad []string
	note := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	if !slices.Contains(Ops(), s.Op) {
		note("unknown operation %q; known: %s", s.Op, strings.Join(Ops(), ", "))
		return &InvalidError{bad} // the rest depends on it
	}
	if !slices.Contains(Types(), s.Type) {
		note("unknown type %q; known: %s", s.Type, strings.Join(Types(), ", "))
	}
	for _, d := range []struct {
		name string
		size int
	}{{"m", s.M}, {"n", s.N}, {"k", s.K}} {
		if d.size < 0 || d.size > math.MaxInt32 {
			note("%s is %d, want 1 to %d", d.name, d.size, math.MaxInt32)
		}
	}
	if s.K != 0 && (s.Op == "trsm" || s.Op == "cholesky") {
		note("k is %d, but %s has no k", s.K, s.Op)
	}
	if s.M != 0 && s.M != s.N && (s.Op == "syrk" || s.Op == "cholesky") {
		note("m is %d and n %d, but the result of %s is square: give n alone", s.M, s.N, s.Op)
	}
	if s.NB < 0 || s.NB > 1<<14 {
		note("nb is %d, want 1 to %d, or 0 to have it chosen", s.NB, 1<<14)
	}
	if s.Workers < 0 || s.Workers > 1<<14 {
		note("workers is %d, want 1 to %d, or 0 for one per core", s.Workers, 1<<14)
	}
	if s.Repeat < 0 {
		note("repeat is %d, want at least 1", s.Repeat)
	}
	if !slices.Contains(sched.Kinds(), s.Sched) {
		note("unknown policy %v", s.Sched)
	}
	if s.Input == "" {
		bad = append(bad, s.checkKind()...)
	}
	if bad != nil {
		return &InvalidError{bad}
	}
	return nil
}

// checkKind returns what is wrong with the kind of matrix.
func (s Spec) checkKind() []string {
	switch {
	case !slices.Contains(matgen.Kinds(), s.Matrix):
		return []string{fmt.Sprintf("unknown kind of matrix %v", s.Matrix)}
	case s.Op == "cholesky" && !s.Matrix.Symmetric():
		return []string{fmt.Sprintf("a matrix of kind %v is not symmetric; for cholesky there are: %s", s.Matrix, strings.Join(KindsFor(s.Op), ", "))}
	case s.Matrix.Square() && s.Op == "gemm" && (s.M != s.K || s.K != s.N):
		return []string{fmt.Sprintf("a matrix of kind %v is square, and m, n and k are %d, %d and %d", s.Matrix, s.M, s.N, s.K)}
	case s.Matrix.Square() && s.Op == "syrk" && s.N != s.K:
		return []string{fmt.Sprintf("a matrix of kind %v is square, and n and k are %d and %d", s.Matrix, s.N, s.K)}
	}
	return nil
}

// KindsFor returns the names of the kinds of matrices that an operation
// takes.
func KindsFor(op string) []string {
	var names []string
	for _, k := range matgen.Kinds() {
		if op == "cholesky" && !k.Symmetric() || op == "trsm" && k == matgen.Random {
			continue
		}
		names = append(names, k.String())
	}
	return names
}

// bytes returns the memory that the matrices of s take, its shape known.
func (s Spec) bytes() float64 {
	m, n, k := float64(s.M), float64(s.N), float64(s.K)
	size := 8.0
	if s.Type == "f32" {
		size = 4
	}
	var elements float64
	switch s.Op {
	case "gemm":
		elements = m*k + k*n + m*n
	case "syrk":
		elements = n*k + n*n
	case "trsm":
		elements = m*m + m*n
		if s.again() {
			elements += m * n
		}
	case "cholesky":
		elements = 1.5 * n * n // the matrix, and the half of it in tiles
		if s.Verify {
			elements += n * n // the factor in rows
		}
	}
	return elements * size
}

// again reports whether the right-hand sides of a system are needed after they
// were solved for.
func (s Spec) again() bool { return s.Repeat > 1 || s.Warmup > 0 || s.Verify }
