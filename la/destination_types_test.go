package la_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

// TestDestinationTypes: what can be written is a Destination, and what is only read is none.
func TestDestinationTypes(t *testing.T) {
	doubles, singles := reflect.TypeFor[la.Destination[float64]](), reflect.TypeFor[la.Destination[float32]]()
	for _, x := range []any{
		&mat.Dense{}, &mat.VecDense{}, &mat.SymDense{}, // the last one for the inverse of a symmetric matrix
		la.General[float64]{}, &la.General[float64]{}, la.Symmetric[float64]{}, &la.Symmetric[float64]{}, la.Vector[float64]{},
		&blocked.Matrix[float64]{}, hidden[float64]{}, &counting{},
	} {
		if typ := reflect.TypeOf(x); !typ.Implements(doubles) || typ.Implements(singles) {
			t.Errorf("%v is no destination of float64, or one of float32", typ)
		}
	}
	for _, x := range []any{la.General[float32]{}, la.Vector[float32]{}, &blocked.Matrix[float32]{}} {
		if typ := reflect.TypeOf(x); !typ.Implements(singles) {
			t.Errorf("%v is no destination", typ)
		}
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[mat.Matrix](), reflect.TypeFor[mat.Vector](), reflect.TypeFor[mat.Symmetric](), reflect.TypeFor[mat.Triangular](),
		reflect.TypeFor[mat.Transpose](), reflect.TypeFor[mat.TransposeVec](), reflect.TypeFor[mat.TransposeTri](), reflect.TypeFor[mat.Dense](), reflect.TypeFor[la.Source[float64]](), reflect.TypeFor[la.SymmetricSource[float64]](),
		reflect.TypeFor[*mat.Cholesky](), reflect.TypeFor[mat.TransposeBand](), reflect.TypeFor[[]float64](),
	} {
		if typ.Implements(doubles) {
			t.Errorf("%v is a destination, and cannot be written", typ)
		}
	}
	for _, x := range []la.Destination[float64]{la.General[float64]{Rows: 2, Cols: 2, Stride: 3, Data: []float64{1, 2, 9, 3, 4}},
		la.Symmetric[float64]{Uplo: 'U', N: 2, Stride: 3, Data: []float64{1, 2, 9, 7, 4}}, la.Vector[float64]{1, 2}} {
		x.Zero()
		if r, c := x.Dims(); x.At(0, 0) != 0 || x.At(r-1, c-1) != 0 || x.At(0, c-1) != 0 {
			t.Errorf("%T: Zero leaves %v", x, x)
		}
		switch x := x.(type) {
		case la.General[float64]:
			if x.Data[2] != 9 {
				t.Error("Zero has written between the rows")
			}
		case la.Symmetric[float64]:
			if x.Data[2] != 9 || x.Data[3] != 7 {
				t.Error("Zero has written outside the triangle")
			}
		}
	}
}

// TestCompilerRefuses: a program that gives a result a place that is only read does not compile.
func TestCompilerRefuses(t *testing.T) {
	if testing.Short() {
		t.Skip("asks the go command for this package's export data")
	}
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}", ".")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "=")
		exports[path] = file
	}
	set := token.NewFileSet()
	conf := types.Config{Importer: importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	for _, c := range []struct {
		line string
		good bool
	}{
		{"la.Mul(c, a, b)", true},
		{"la.Mul(v, a, b)", true},
		{"la.Mul(c.T(), a, b)", false},
		{"la.Mul(mat.Matrix(c), a, b)", false},
		{"la.Solve(ctx, nil, v, a, b)", true},
		{"la.Solve(ctx, nil, mat.Transpose{Matrix: c}, a, b)", false},
		{"la.LeastSquares(ctx, nil, c, a, b)", true},
		{"la.LeastSquares(ctx, nil, v.T(), a, b)", false},
		{"la.Inverse(ctx, nil, s, s)", true},
		{"la.Inverse(ctx, nil, la.Source[float64](c), a)", false},
		{"la.SolveSPD(ctx, nil, g, s, b)", true},
		{"la.SolveSPD(ctx, nil, mat.Symmetric(s), s, b)", false},
		{"new(la.LU[float64]).SolveTo(c, false, b)", true},
		{"new(la.LU[float64]).SolveTo(c.T(), false, b)", false},
		{"new(la.QR[float64]).ApplyQTo(c.T(), 'L', false, b)", false},
	} {
		var src bytes.Buffer
		fmt.Fprintf(&src, `package p
import ("context"; "github.com/tessera-la/tessera/la"; "gonum.org/v1/gonum/mat")
func f(ctx context.Context, a, b, c *mat.Dense, v *mat.VecDense, s *mat.SymDense, g la.General[float64]) { _ = ctx; %s }`, c.line)
		file, err := parser.ParseFile(set, "p.go", &src, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = conf.Check("p", set, []*ast.File{file}, nil)
		if (err == nil) != c.good {
			t.Errorf("%s compiles: %v, want %v: %v", c.line, err == nil, c.good, err)
		}
		if !c.good && (err == nil || !strings.Contains(err.Error(), "Destination")) {
			t.Errorf("%s: the compiler says %v", c.line, err)
		}
	}
}
