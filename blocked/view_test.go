package blocked_test

import (
	"errors"
	"math"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// Raw matrices satisfy the interfaces that gonum's do, and convert from and to
// gonum's.
var (
	_ blocked.Sink[float32]             = blocked.General[float32]{}
	_ blocked.SymmetricSink[float32]    = blocked.Symmetric[float32]{}
	_ blocked.TriangularSink[float32]   = blocked.Triangular[float32]{}
	_ blocked.Sink[float32]             = (*blocked.Matrix[float32])(nil)
	_ blocked.Sink[float64]             = (*mat.Dense)(nil)
	_ blocked.SymmetricSink[float64]    = (*mat.SymDense)(nil)
	_ blocked.TriangularSink[float64]   = (*mat.TriDense)(nil)
	_ blocked.Source[float64]           = mat.Matrix(nil)
	_ blocked.SymmetricSource[float64]  = mat.Symmetric(nil)
	_ blocked.TriangularSource[float64] = mat.Triangular(nil)

	_ = blocked.General[float64](blas64.General{})
	_ = blocked.Symmetric[float64](blas64.Symmetric{})
	_ = blocked.Triangular[float64](blas64.Triangular{})
)

func TestNewRaw(t *testing.T) {
	const huge = math.MaxInt
	for _, test := range []struct {
		rows, cols, stride, length int
		ok                         bool
	}{
		{0, 0, 1, 0, true},
		{3, 0, 1, 0, true},
		{0, 3, 3, 0, true},
		{2, 3, 3, 6, true},
		{2, 3, 5, 8, true},
		{2, 3, 5, 7, false},
		{2, 3, 2, 100, false},
		{0, 0, 0, 0, false},
		{-1, 3, 3, 9, false},
		{3, -1, 3, 9, false},
		{huge, 1, huge, 1, false},
		{huge, huge, huge, 100, false},
		{2, 1, huge, 100, false},
	} {
		_, err := blocked.NewGeneral(test.rows, test.cols, test.stride, make([]float32, test.length))
		var se *blocked.StorageError
		if (err == nil) != test.ok || (err != nil && !errors.As(err, &se)) {
			t.Errorf("%+v: %v", test, err)
		}
		if test.rows == test.cols {
			_, err1 := blocked.NewSymmetric(blas.Upper, test.rows, test.stride, make([]float64, test.length))
			_, err2 := blocked.NewTriangular(blas.Lower, blas.Unit, test.rows, test.stride, make([]float64, test.length))
			if (err1 == nil) != test.ok || (err2 == nil) != test.ok {
				t.Errorf("%+v: %v, %v", test, err1, err2)
			}
		}
	}
	if g, err := blocked.NewGeneral[float32](2, 3, 4, nil); err != nil || len(g.Data) != 8 {
		t.Errorf("allocating: %v, %v", g, err)
	}
	if _, err := blocked.NewGeneral[float32](huge/2, 1, 8, nil); err == nil {
		t.Error("allocating too much: no error")
	}
	if _, err := blocked.NewSymmetric[float64](blas.All, 2, 2, nil); err == nil {
		t.Error("NewSymmetric took blas.All")
	}
	if _, err := blocked.NewTriangular[float64](blas.All, blas.NonUnit, 2, 2, nil); err == nil {
		t.Error("NewTriangular took blas.All")
	}
	if _, err := blocked.NewTriangular[float64](blas.Upper, 0, 2, 2, nil); err == nil {
		t.Error("NewTriangular took diag 0")
	}
}

func TestRawPanics(t *testing.T) {
	g, _ := blocked.NewGeneral[float64](2, 3, 4, nil)
	s, _ := blocked.NewSymmetric[float64](blas.Lower, 2, 2, nil)
	u, _ := blocked.NewTriangular[float64](blas.Upper, blas.Unit, 2, 2, nil)
	l, _ := blocked.NewTriangular[float64](blas.Lower, blas.NonUnit, 2, 2, nil)
	for i, test := range []struct {
		want blocked.Error
		f    func()
	}{
		{blocked.ErrIndex, func() { g.At(0, 3) }},
		{blocked.ErrIndex, func() { g.At(2, 0) }},
		{blocked.ErrIndex, func() { g.Set(-1, 0, 1) }},
		{blocked.ErrIndex, func() { s.At(0, 2) }},
		{blocked.ErrIndex, func() { s.SetSym(2, 0, 1) }},
		{blocked.ErrIndex, func() { u.At(0, -1) }},
		{blocked.ErrIndex, func() { u.SetTri(0, 2, 1) }},
		{blocked.ErrNotStored, func() { u.SetTri(1, 0, 1) }},
		{blocked.ErrNotStored, func() { u.SetTri(1, 1, 1) }},
		{blocked.ErrNotStored, func() { l.SetTri(0, 1, 1) }},
		{blocked.ErrShape, func() { blocked.View(g, 0) }},
		{blocked.ErrShape, func() { blocked.ViewOf(g, 0) }},
		{blocked.ErrStorage, func() { blocked.View(blocked.General[float64]{Rows: 2, Cols: 2, Stride: 2}, 1) }},
		{blocked.ErrKind, func() { blocked.ViewTriangular(u, 1) }},
		{blocked.ErrKind, func() { blocked.ViewSymmetric(blocked.Symmetric[float64]{Stride: 1}, 1) }},
	} {
		if got := recovered(test.f); got != test.want {
			t.Errorf("case %d: panic %v, want %v", i, got, test.want)
		}
	}
	if n, kind := u.Triangle(); n != 2 || kind != mat.Upper {
		t.Error("Triangle of an upper one:", n, kind)
	}
	if n, kind := l.Triangle(); n != 2 || kind != mat.Lower {
		t.Error("Triangle of a lower one:", n, kind)
	}
}

// What is written to a view is seen in the memory, and the other way round;
// nothing else of the memory is written.
func testViewAliases[T blocked.Element](t *testing.T) {
	for _, size := range []struct{ m, n int }{{0, 0}, {0, 4}, {4, 0}, {1, 1}, {7, 7}, {8, 8}, {9, 9}, {5, 18}, {18, 5}} {
		for _, nb := range []int{1, 3, 8, 100} {
			m, n := size.m, size.n
			stride := max(1, n) + 3
			g := blocked.General[T]{Rows: m, Cols: n, Stride: stride, Data: filled[T](m * stride)}
			v := blocked.View(g, nb)
			for i := range m {
				for j := range n {
					v.Set(i, j, value[T](i, j))
				}
			}
			checkElements(t, "View", g, value[T])
			checkOutside(t, "View", g.Data, stride, func(i, j int) bool { return j < n })
			if m > 0 && n > 0 {
				g.Set(m-1, n-1, 5)
				mt, nt := v.Tiles()
				last := v.Tile(mt-1, nt-1)
				if last.At(last.Rows-1, last.Cols-1) != 5 || last.Stride != stride {
					t.Errorf("%d×%d, nb %d: last tile %+v", m, n, nb, last)
				}
			}
			v.SetIdentity()
			checkElements(t, "identity", g, func(i, j int) T {
				if i == j {
					return 1
				}
				return 0
			})
			checkOutside(t, "identity", g.Data, stride, func(i, j int) bool { return j < n })
			if m != n {
				continue
			}
			for _, uplo := range []blas.Uplo{blas.Lower, blas.Upper} {
				in := func(i, j int) bool { return j < n && (i == j || (i > j) == (uplo == blas.Lower)) }
				s := blocked.Symmetric[T]{Uplo: uplo, N: n, Stride: stride, Data: filled[T](n * stride)}
				u := blocked.Triangular[T]{Uplo: uplo, Diag: blas.NonUnit, N: n, Stride: stride, Data: filled[T](n * stride)}
				vs, vu := blocked.ViewSymmetric(s, nb), blocked.ViewTriangular(u, nb)
				vs.SetIdentity()
				vu.SetIdentity()
				for i := range n {
					for j := range n {
						if in(i, j) {
							vs.Set(j, i, value[T](i, j))
							vu.Set(i, j, value[T](i, j))
						}
					}
				}
				checkElements(t, "ViewSymmetric", s, vs.At)
				checkElements(t, "ViewTriangular", u, vu.At)
				checkOutside(t, "ViewSymmetric", s.Data, stride, in)
				checkOutside(t, "ViewTriangular", u.Data, stride, in)
			}
		}
	}
}

func TestViewAliases(t *testing.T) {
	t.Run("float64", testViewAliases[float64])
	t.Run("float32", testViewAliases[float32])
}

func TestViewOf(t *testing.T) {
	dense := mat.NewDense(5, 7, nil)
	v, trans, ok := blocked.ViewOf(dense, 4) // T is inferred
	if !ok || trans != blas.NoTrans || v.Kind() != blocked.Full || v.NB() != 4 {
		t.Fatalf("Dense: %v, %c, %v", v, trans, ok)
	}
	v.Set(3, 5, 2)
	if dense.At(3, 5) != 2 {
		t.Error("Dense: not the same memory")
	}
	sym, low, vec := mat.NewSymDense(3, nil), mat.NewTriDense(3, mat.Lower, nil), mat.NewVecDense(3, nil)
	tiled := blocked.New[float64](blocked.Full, 3, 3, 2)
	for _, test := range []struct {
		name  string
		src   blocked.Source[float64]
		kind  blocked.Kind
		trans blas.Transpose
		ok    bool
	}{
		{"Dense.T", dense.T(), blocked.Full, blas.Trans, true},
		{"SymDense", sym, blocked.SymUpper, blas.NoTrans, true},
		{"SymDense.T", mat.Transpose{Matrix: sym}, blocked.SymUpper, blas.NoTrans, true},
		{"TriDense", low, blocked.TriLower, blas.NoTrans, true},
		{"TriDense.T", low.T(), blocked.TriLower, blas.Trans, true},
		{"TriDense.TTri", low.TTri(), blocked.TriLower, blas.Trans, true},
		{"VecDense", vec, blocked.Full, blas.NoTrans, true},
		{"VecDense.T", vec.T(), blocked.Full, blas.Trans, true},
		{"Matrix", tiled, blocked.Full, blas.NoTrans, true},
		{"Matrix of another nb", blocked.New[float64](blocked.Full, 3, 3, 3), 0, 0, false},
		{"unit triangular", blocked.Triangular[float64]{Uplo: blas.Lower, Diag: blas.Unit, N: 1, Stride: 1, Data: []float64{9}}, 0, 0, false},
		{"DiagDense", mat.NewDiagDense(3, nil), 0, 0, false},
		{"inconsistent", liar{mat.NewDense(3, 3, nil)}, 0, 0, false},
		{"empty Dense", &mat.Dense{}, blocked.Full, blas.NoTrans, false},
	} {
		v, trans, ok := blocked.ViewOf(test.src, 2)
		if ok != test.ok || (ok && (v.Kind() != test.kind || trans != test.trans)) {
			t.Errorf("%s: %v, %c, %v", test.name, v, trans, ok)
		}
	}
	if v, _, _ := blocked.ViewOf[float64](tiled, 2); v != tiled {
		t.Error("the view of a Matrix is another one")
	}
}

// liar is a matrix whose memory has another shape than it says.
type liar struct{ *mat.Dense }

func (liar) Dims() (int, int) { return 2, 2 }

func TestInconsistentRawMatrixIsReadByAt(t *testing.T) {
	d := mat.NewDense(3, 3, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9})
	a, _ := blocked.From(liar{d}, blocked.Full, 2, blocked.CopyOptions{})
	checkElements(t, "liar", a, d.At)
}
