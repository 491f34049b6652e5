package bench

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/internal/problems"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/la"
)

// InvalidError lists everything that is wrong with a Spec.
type InvalidError struct{ Problems []string }

func (e *InvalidError) Error() string { return strings.Join(e.Problems, "; ") }

// Validate returns an *InvalidError that names everything that is wrong with s, or nil. It checks words and
// shapes. The run itself finds out whether the versions exist, the memory suffices and the file can be read.
func (s Spec) Validate() error {
	s = s.WithDefaults()
	var bad problems.List
	o := find(s.Op)
	if o == nil {
		bad.Add("unknown operation %q; known: %s", s.Op, strings.Join(Ops(), ", "))
		return &InvalidError{bad} // the checks below depend on it
	}
	bad.Check(slices.Contains(Types(), s.Type), "unknown type %q; known: %s", s.Type, strings.Join(Types(), ", "))
	for _, d := range []struct {
		name string
		size int
	}{{"m", s.M}, {"n", s.N}, {"k", s.K}, {"nrhs", s.NRHS}} {
		bad.Check(d.size >= 0 && d.size <= math.MaxInt32, "%s is %d, want 1 to %d", d.name, d.size, math.MaxInt32)
	}
	bad.Check(s.K == 0 || o.Has("k"), "k is %d, but %s has no k", s.K, s.Op)
	bad.Check(s.M == 0 || s.M == s.N || o.Has("m"), "m is %d and n %d, but the result of %s is square: give n alone",
		s.M, s.N, s.Op)
	if q := s.qrOptions(); o.Takes("tree") {
		var options *la.OptionsError
		if errors.As(q.Validate(), &options) {
			bad = append(bad, options.Problems...)
		}
	}
	bad.Check(s.NRHS == 0 || o.Has("nrhs"), "nrhs is %d, but %s has no right-hand sides to choose", s.NRHS, s.Op)
	bad.Check(slices.Contains(Methods(), s.Method) && (s.Method == Auto || o.Takes("method")),
		"method is %v, which %s does not have", s.Method, s.Op)
	bad.Check(!s.Mixed || o.Takes("mixed") && s.Type == "f64" && s.Method != ByQR,
		"mixed precision is for solve by cholesky or lu, of type f64")
	bad.Check(!s.Values || o.Takes("values"), "values alone are for eigen and svd")
	bad.Check(!s.General || o.Takes("general"), "general matrices are for eigen")
	bad.Check(s.Reduction == la.FasterReduction || o.Takes("reduction") && !s.General && s.B == matgen.Random,
		"reduction is %v, which is for eigen of one symmetric matrix and for svd", s.Reduction)
	bad.Check(s.B == matgen.Random || o.Takes("b") && !s.General, "b is for symmetric matrices of eigen")
	bad.Check(s.B == matgen.Random || s.B.PositiveDefinite(), "b is %v, which is not definite; known: %s", s.B, strings.Join(DefiniteKinds(), ", "))
	onNodes := s.Op == "eigen" && s.Distributed
	bad.Check(s.NB == 0 || !o.whole || onNodes, "nb is %d, but %s has no tiles unless its matrix is distributed", s.NB, s.Op)
	bad.Check(!onNodes || s.Reduction != la.OneStage, "reduction is %v, and a distributed matrix is reduced in two stages", s.Reduction)
	bad.Check(s.Checkpoint.Dir == "" || s.Pivot != la.TilePivoting,
		"a checkpoint is for %v and %v pivoting", la.PartialPivoting, la.TournamentPivoting)
	bad.Check(s.NB >= 0 && s.NB <= 1<<14, "nb is %d, want 1 to %d, or 0 to have it chosen", s.NB, 1<<14)
	bad.Check(s.Workers >= 0 && s.Workers <= 1<<14, "workers is %d, want 1 to %d, or 0 for one per core", s.Workers, 1<<14)
	if _, err := cuda.ParseRequest(s.Devices); err != nil {
		bad.Add("%v", err)
	}
	bad.Check(!s.DevicesOnly || s.Devices != "" && s.Devices != "none", "work is for devices only, of which there are none")
	bad.Check(s.Repeat >= 0, "repeat is %d, want at least 1", s.Repeat)
	bad.Check(slices.Contains(dispatch.Kinds(), s.Sched), "unknown policy %v", s.Sched)
	if s.Input == "" {
		bad = append(bad, o.checkKind(s)...)
	}
	if bad != nil {
		return &InvalidError{bad}
	}
	return nil
}

// checkKind returns what is wrong with the kind of matrix.
func (o *Operation) checkKind(s Spec) []string {
	sizes := map[string]int{"m": s.M, "n": s.N, "k": s.K}
	square := sizes[o.rows] == sizes[o.cols]
	if o.allAlike {
		square = s.M == s.N && s.N == s.K
	}
	switch {
	case !slices.Contains(matgen.Kinds(), s.Matrix):
		return []string{fmt.Sprintf("unknown kind of matrix %v", s.Matrix)}
	case o.needsSymmetric(s) && !s.Matrix.Symmetric():
		return []string{fmt.Sprintf("a matrix of kind %v is not symmetric; for %s there are: %s", s.Matrix, o.Name, strings.Join(kindsFor(o, s), ", "))}
	case s.Matrix.Square() && !square:
		var shape []string
		for _, size := range o.Sizes {
			if !o.allAlike && size != o.rows && size != o.cols {
				continue // right-hand sides
			}
			shape = append(shape, fmt.Sprintf("%s = %d", size, sizes[size]))
		}
		return []string{fmt.Sprintf("a matrix of kind %v is square, and %s", s.Matrix, strings.Join(shape, ", "))}
	}
	return nil
}

// KindsFor returns the names of the kinds of matrices that an operation takes.
func KindsFor(op string) []string { return kindsFor(find(op), Spec{Problem: Problem{Op: op}}) }

func kindsFor(o *Operation, s Spec) []string {
	var names []string
	for _, k := range matgen.Kinds() {
		if o.needsSymmetric(s) && !k.Symmetric() || o.notRandom != "" && k == matgen.Random && !s.General {
			continue
		}
		names = append(names, k.String())
	}
	return names
}

// DefiniteKinds returns the names of the kinds of symmetric positive definite matrices.
func DefiniteKinds() (names []string) {
	for _, k := range matgen.Kinds() {
		if k.PositiveDefinite() {
			names = append(names, k.String())
		}
	}
	return names
}

// WithDefaults returns s with defaults in its zero fields: type f64; N 4096; M and K as N, where the op has
// them; random matrices, or diagonally dominant ones (matgen.SPD) where the op needs them; and 3 timed runs
// after one warm-up. Fields that stay zero are decided by the run: NB by la, Workers by the machine and, with
// an Input, the shape by the file.
func (s Spec) WithDefaults() Spec {
	if s.Type == "" {
		s.Type = "f64"
	}
	if o := find(s.Op); o != nil {
		if s.Input == "" {
			s = o.fill(s)
		}
		if s.NRHS == 0 && o.Has("nrhs") {
			s.NRHS = 1
		}
		if s.Matrix == matgen.Random && !s.General {
			s.Matrix = o.kind
			if s.Method == ByCholesky {
				s.Matrix = matgen.SPD
			}
		}
	}
	if s.Repeat == 0 {
		s.Repeat = 3
	}
	if s.Warmup == 0 {
		s.Warmup = 1
	}
	return s
}
