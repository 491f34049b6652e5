package file_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/file"
	"gonum.org/v1/gonum/mat"
)

// A symmetric matrix goes into a compressed Matrix Market file and comes back
// symmetric, in its lower half.
func ExampleRead() {
	dir, err := os.MkdirTemp("", "matrix")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "spring.mtx.gz")

	a := blocked.New[float64](blocked.SymLower, 3, 3, 2)
	for i := range 3 {
		a.Set(i, i, 2)
		if i > 0 {
			a.Set(i, i-1, -1)
		}
	}
	if err := file.Write(path, a, &file.WriteOptions{Coordinate: true}); err != nil {
		log.Fatal(err)
	}
	b, err := file.Read[float64](path, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(b.Kind())
	for i := range 3 {
		fmt.Println(b.At(i, 0), b.At(i, 1), b.At(i, 2))
	}
	// Output:
	// symmetric, lower half stored
	// 2 -1 0
	// -1 2 -1
	// 0 -1 2
}

// What is wrong with a file is reported with its line.
func ExampleReadMatrixMarket() {
	const text = `%%MatrixMarket matrix coordinate real symmetric
% row column value
3 3 2
1 1 4.0
4 3 0.5
`
	_, err := file.ReadMatrixMarket[float64](strings.NewReader(text), nil)
	var fe *file.FormatError
	if errors.As(err, &fe) {
		fmt.Println("line", fe.Line)
		fmt.Println(fe.Reason)
	}
	// Output:
	// line 5
	// row index 4 is outside 1..3
}

// Some files that are against the rules are read all the same. A caller that wants to know
// asks for warnings.
func ExampleReadOptions_warn() {
	const text = `%%MatrixMarket matrix coordinate real symmetric
3 3 2
1 1 4.0
1 3 0.5
`
	a, err := file.ReadMatrixMarket[float64](strings.NewReader(text), &file.ReadOptions{
		Warn: func(w file.Warning) { fmt.Printf("line %d: %s\n", w.Line, w.Reason) },
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.At(2, 0))
	// Output:
	// line 4: an entry is above the diagonal, of which a symmetric file holds what is below: it is taken for its mirror image
	// 0.5
}

// A program that uses gonum reads and writes its matrices.
func ExampleReadDense() {
	dir, err := os.MkdirTemp("", "matrix")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "a.npy") // in Python: numpy.load("a.npy")

	a := mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6})
	if err := file.Write(path, a.T(), nil); err != nil {
		log.Fatal(err)
	}
	b, err := file.ReadDense(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(mat.Formatted(b))
	// Output:
	// ⎡1  4⎤
	// ⎢2  5⎥
	// ⎣3  6⎦
}
