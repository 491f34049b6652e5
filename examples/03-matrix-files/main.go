// Command 03-matrix-files writes and reads matrix files: a stiffness matrix in Matrix Market format, the loads
// and the deflections as NumPy's .npy. Then it shows the typed errors for a malformed file and for a matrix
// that is not positive definite. The errors contain the place.
//
// The structure is a beam, clamped at one end and free at the other. Its
// deflection under a load at the free end is known exactly, so the program can
// check how many digits a condition number of 10¹¹ leaves.
//
//	go run ./examples/03-matrix-files
package main

import (
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/mat"
)

const (
	n  = 600 // nodes of the beam
	nb = 128 // tile size
)

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	dir, err := os.MkdirTemp("", "matrix-files")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	if err := solve(dir); err != nil {
		return err
	}
	if err := malformed(dir); err != nil {
		return err
	}
	return indefinite(dir)
}

// beam returns the stiffness matrix K = DᵀD, where D takes second differences
// of the deflections:
//
//	    ⎡  6 -4  1             ⎤
//	    ⎢ -4  6 -4  1          ⎥
//	K = ⎢  1 -4  6 -4  1       ⎥
//	    ⎢        ⋱  ⋱  ⋱  ⋱    ⎥
//	    ⎢           1 -4  5 -2 ⎥
//	    ⎣              1 -2  1 ⎦
//
// Only the lower half is kept; setting an element sets its mirror image.
func beam() *blocked.Matrix[float64] {
	k := blocked.New[float64](blocked.SymLower, n, n, nb)
	for i := range n {
		k.Set(i, i, 6)
		if i >= 1 {
			k.Set(i, i-1, -4)
		}
		if i >= 2 {
			k.Set(i, i-2, 1)
		}
	}
	k.Set(n-2, n-2, 5)
	k.Set(n-1, n-2, -2)
	k.Set(n-1, n-1, 1)
	return k
}

// solve writes the matrix and the loads, reads them back, and solves for the
// deflections.
func solve(dir string) error {
	stiffness, loads := filepath.Join(dir, "beam.mtx.gz"), filepath.Join(dir, "loads.npy")

	// A symmetric matrix is written as a symmetric file. Coordinate leaves out the zeros. The name determines
	// the format; .gz asks for compression.
	err := file.Write(stiffness, beam(), &file.WriteOptions{
		Coordinate: true,
		Comment:    "beam, clamped at node 0",
	})
	if err != nil {
		return err
	}
	f := blocked.New[float64](blocked.Full, n, 1, nb)
	f.Set(n-1, 0, 1) // one unit at the free end
	if err := file.Write(loads, f, nil); err != nil {
		return err
	}

	// Read recognizes the format by the content. The same file can be read in Python with
	// numpy.load("loads.npy").
	k, err := file.Read[float64](stiffness, &file.ReadOptions{NB: nb})
	if err != nil {
		return err
	}
	if f, err = file.Read[float64](loads, &file.ReadOptions{NB: nb}); err != nil {
		return err
	}
	if !same(k, beam()) {
		return errors.New("the matrix that was read is not the one that was written")
	}
	fmt.Printf("read %d×%d, %v\n", n, n, k.Kind())

	// la treats a matrix from a file like any other.
	var chol la.Cholesky[float64]
	if err := chol.Factorize(k); err != nil {
		return err
	}
	w := blocked.New[float64](blocked.Full, n, 1, nb)
	if err := chol.SolveTo(w, f); err != nil {
		return err
	}
	if err := file.Write(filepath.Join(dir, "deflections.npy"), w, nil); err != nil {
		return err
	}
	return check(&chol, k, w, f)
}

// check checks the factor and the solution. The residuals are small for any condition number, since the method
// is stable. The error of the deflection may be as large as the condition number times the rounding error.
func check(chol *la.Cholesky[float64], k, w, f *blocked.Matrix[float64]) error {
	const epsilon = 0x1p-53
	norm := k.Norm(lapack.MaxColumnSum, 0)

	// ‖L·Lᵀ - K‖ / (n·‖K‖·ε).
	var l mat.TriDense
	chol.LTo(&l)
	var d mat.Dense
	if err := la.Mul(&d, &l, l.T()); err != nil {
		return err
	}
	d.Apply(func(i, j int, v float64) float64 { return v - k.At(i, j) }, &d)
	factor := mat.Norm(&d, 1) / (n * norm * epsilon)

	// ‖f - K·w‖ / (n·‖K‖·‖w‖·ε).
	var kw mat.Dense
	if err := la.Mul(&kw, k, w); err != nil {
		return err
	}
	kw.Apply(func(i, j int, v float64) float64 { return f.At(i, j) - v }, &kw)
	solution := mat.Norm(&kw, 1) / (n * norm * w.Norm(lapack.MaxColumnSum, 0) * epsilon)

	// The bending moment grows by one from node to node, and the deflection
	// of the free end is the sum of squares 1² + 2² + … + n².
	exact := float64(n) * (n + 1) * (2*n + 1) / 6
	relative := math.Abs(w.At(n-1, 0)-exact) / exact
	cond := chol.Cond()

	fmt.Printf("condition number, estimated  %.1e\n", cond)
	fmt.Printf("residual of the factor       %.2g\n", factor)
	fmt.Printf("residual of the solution     %.2g\n", solution)
	fmt.Printf("deflection of the free end   %.6f, relative error %.1e\n", w.At(n-1, 0), relative)
	switch { // the comparisons are such that a NaN fails, too
	case !(factor < 30):
		return fmt.Errorf("residual of the factor: %g, want below 30", factor)
	case !(solution < 30):
		return fmt.Errorf("residual of the solution: %g, want below 30", solution)
	case !(relative < cond*epsilon):
		return fmt.Errorf("relative error %g, want below %g", relative, cond*epsilon)
	}
	return nil
}

// malformed reads a file with a typing error. The error names file and line.
func malformed(dir string) error {
	path := filepath.Join(dir, "typo.mtx")
	text := `%%MatrixMarket matrix coordinate real symmetric
3 3 4
1 1 2.0
2 2 2.O
3 3 2.0
2 1 -1.0
`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	_, err := file.Read[float64](path, nil)
	var format *file.FormatError
	if !errors.As(err, &format) || format.Line != 4 {
		return fmt.Errorf("reading a malformed file: got error %v, want a FormatError for line 4", err)
	}
	fmt.Printf("malformed: %s, line %d: %s\n", filepath.Base(format.File), format.Line, format.Reason)
	return nil
}

// indefinite factors the matrix of a beam in which one node has no stiffness of its own. The error names the
// first leading minor that is not positive.
func indefinite(dir string) error {
	const node = 400
	k := beam()
	k.Set(node, node, 0)
	path := filepath.Join(dir, "broken.npy")
	if err := file.Write(path, k, nil); err != nil {
		return err
	}

	// A .npy file does not say that its matrix is symmetric, so ask for one half.
	k, err := file.Read[float64](path, &file.ReadOptions{NB: nb, Want: file.WantSymLower})
	if err != nil {
		return err
	}
	var chol la.Cholesky[float64]
	err = chol.Factorize(k)
	var minor *la.NotPositiveDefiniteError
	if !errors.As(err, &minor) || minor.Minor != node+1 {
		return fmt.Errorf("factoring an indefinite matrix: got error %v, want minor %d", err, node+1)
	}
	fmt.Printf("indefinite: %v\n", err)
	return nil
}

// same reports whether a and b have the same elements, to the last bit.
func same(a, b *blocked.Matrix[float64]) bool {
	for i := range n {
		for j := range i + 1 {
			if math.Float64bits(a.At(i, j)) != math.Float64bits(b.At(i, j)) {
				return false
			}
		}
	}
	return true
}
