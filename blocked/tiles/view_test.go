package tiles_test

import (
	"errors"
	"math"
	"testing"

	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/blocked/tiles"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// Raw matrices satisfy the interfaces that gonum's do, and convert from and to
// gonum's.
var (
	_ tiles.Sink[float32]             = tiles.General[float32]{}
	_ tiles.SymmetricSink[float32]    = tiles.Symmetric[float32]{}
	_ tiles.TriangularSink[float32]   = tiles.Triangular[float32]{}
	_ tiles.Sink[float32]             = (*tiles.Matrix[float32])(nil)
	_ tiles.Sink[float64]             = (*mat.Dense)(nil)
	_ tiles.SymmetricSink[float64]    = (*mat.SymDense)(nil)
	_ tiles.TriangularSink[float64]   = (*mat.TriDense)(nil)
	_ tiles.Source[float64]           = mat.Matrix(nil)
	_ tiles.SymmetricSource[float64]  = mat.Symmetric(nil)
	_ tiles.TriangularSource[float64] = mat.Triangular(nil)

	_ = tiles.General[float64](blas64.General{})
	_ = tiles.Symmetric[float64](blas64.Symmetric{})
	_ = tiles.Triangular[float64](blas64.Triangular{})
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
		g := tiles.General[float32]{Rows: test.rows, Cols: test.cols, Stride: test.stride, Data: make([]float32, test.length)}
		err := g.Validate()
		var se *tiles.StorageError
		if (err == nil) != test.ok || (err != nil && !errors.As(err, &se)) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

func TestRawPanics(t *testing.T) {
	g := tiles.General[float64]{Rows: 2, Cols: 3, Stride: 4, Data: make([]float64, 8)}
	s := tiles.Symmetric[float64]{Uplo: blas.Lower, N: 2, Stride: 2, Data: make([]float64, 4)}
	u := tiles.Triangular[float64]{Uplo: blas.Upper, Diag: blas.Unit, N: 2, Stride: 2, Data: make([]float64, 4)}
	l := tiles.Triangular[float64]{Uplo: blas.Lower, Diag: blas.NonUnit, N: 2, Stride: 2, Data: make([]float64, 4)}
	for i, test := range []struct {
		want tiles.Error
		f    func()
	}{
		{tiles.ErrIndex, func() { g.At(0, 3) }},
		{tiles.ErrIndex, func() { g.At(2, 0) }},
		{tiles.ErrIndex, func() { g.Set(-1, 0, 1) }},
		{tiles.ErrIndex, func() { s.At(0, 2) }},
		{tiles.ErrIndex, func() { s.SetSym(2, 0, 1) }},
		{tiles.ErrIndex, func() { u.At(0, -1) }},
		{tiles.ErrIndex, func() { u.SetTri(0, 2, 1) }},
		{tiles.ErrNotStored, func() { u.SetTri(1, 0, 1) }},
		{tiles.ErrNotStored, func() { u.SetTri(1, 1, 1) }},
		{tiles.ErrNotStored, func() { l.SetTri(0, 1, 1) }},
		{tiles.ErrShape, func() { tiles.View(g, 0) }},
		{tiles.ErrShape, func() { tiles.ViewOf(g, 0) }},
		{tiles.ErrStorage, func() { tiles.View(tiles.General[float64]{Rows: 2, Cols: 2, Stride: 2}, 1) }},
		{tiles.ErrKind, func() { tiles.ViewTriangular(u, 1) }},
		{tiles.ErrKind, func() { tiles.ViewSymmetric(tiles.Symmetric[float64]{Stride: 1}, 1) }},
	} {
		if got := blockedtest.Recovered(test.f); got != test.want {
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
func testViewAliases[T tiles.Element](t *testing.T) {
	for _, size := range []struct{ m, n int }{{0, 0}, {0, 4}, {4, 0}, {1, 1}, {7, 7}, {8, 8}, {9, 9}, {5, 18}, {18, 5}} {
		for _, nb := range []int{1, 3, 8, 100} {
			m, n := size.m, size.n
			stride := max(1, n) + 3
			g := tiles.General[T]{Rows: m, Cols: n, Stride: stride, Data: blockedtest.Filled[T](m * stride)}
			v := tiles.View(g, nb)
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
				s := tiles.Symmetric[T]{Uplo: uplo, N: n, Stride: stride, Data: blockedtest.Filled[T](n * stride)}
				u := tiles.Triangular[T]{Uplo: uplo, Diag: blas.NonUnit, N: n, Stride: stride, Data: blockedtest.Filled[T](n * stride)}
				vs, vu := tiles.ViewSymmetric(s, nb), tiles.ViewTriangular(u, nb)
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
	v, trans, ok := tiles.ViewOf(dense, 4) // T is inferred
	if !ok || trans != blas.NoTrans || v.Kind() != tiles.Full || v.NB() != 4 {
		t.Fatalf("Dense: %v, %c, %v", v, trans, ok)
	}
	v.Set(3, 5, 2)
	if dense.At(3, 5) != 2 {
		t.Error("Dense: not the same memory")
	}
	sym, low, vec := mat.NewSymDense(3, nil), mat.NewTriDense(3, mat.Lower, nil), mat.NewVecDense(3, nil)
	tiled := tiles.New[float64](tiles.Full, 3, 3, 2)
	for _, test := range []struct {
		name  string
		src   tiles.Source[float64]
		kind  tiles.Kind
		trans blas.Transpose
		ok    bool
	}{
		{"Dense.T", dense.T(), tiles.Full, blas.Trans, true},
		{"SymDense", sym, tiles.SymUpper, blas.NoTrans, true},
		{"SymDense.T", mat.Transpose{Matrix: sym}, tiles.SymUpper, blas.NoTrans, true},
		{"TriDense", low, tiles.TriLower, blas.NoTrans, true},
		{"TriDense.T", low.T(), tiles.TriLower, blas.Trans, true},
		{"TriDense.TTri", low.TTri(), tiles.TriLower, blas.Trans, true},
		{"VecDense", vec, tiles.Full, blas.NoTrans, true},
		{"VecDense.T", vec.T(), tiles.Full, blas.Trans, true},
		{"Matrix", tiled, tiles.Full, blas.NoTrans, true},
		{"Matrix of another nb", tiles.New[float64](tiles.Full, 3, 3, 3), 0, 0, false},
		{"unit triangular", tiles.Triangular[float64]{Uplo: blas.Lower, Diag: blas.Unit, N: 1, Stride: 1, Data: []float64{9}}, 0, 0, false},
		{"DiagDense", mat.NewDiagDense(3, nil), 0, 0, false},
		{"inconsistent", liar{mat.NewDense(3, 3, nil)}, 0, 0, false},
		{"empty Dense", &mat.Dense{}, tiles.Full, blas.NoTrans, false},
	} {
		v, trans, ok := tiles.ViewOf(test.src, 2)
		if ok != test.ok || (ok && (v.Kind() != test.kind || trans != test.trans)) {
			t.Errorf("%s: %v, %c, %v", test.name, v, trans, ok)
		}
	}
	if v, _, _ := tiles.ViewOf[float64](tiled, 2); v != tiled {
		t.Error("the view of a Matrix is another one")
	}
}

// liar is a matrix whose memory has another shape than it says.
type liar struct{ *mat.Dense }

func (liar) Dims() (int, int) { return 2, 2 }

func TestInconsistentRawMatrixIsReadByAt(t *testing.T) {
	d := mat.NewDense(3, 3, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9})
	a, _ := tiles.From(liar{d}, tiles.Full, 2, tiles.CopyOptions{})
	checkElements(t, "liar", a, d.At)
}
