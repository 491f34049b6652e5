package la_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

// window is a matrix whose rows come and go.
type window[T la.Element] struct {
	n    int
	rows [][]T
}

func (w *window[T]) matrix() la.General[T] {
	g := la.General[T]{Rows: len(w.rows), Cols: w.n, Stride: max(w.n, 1), Data: make([]T, len(w.rows)*w.n)}
	for i, row := range w.rows {
		copy(g.Data[i*w.n:], row)
	}
	return g
}

func (w *window[T]) add(rnd *rand.Rand, p int, scale float64) la.General[T] {
	g := random[T](rnd, p, w.n, 3)
	for i := range p {
		row := g.Data[i*g.Stride:][:w.n]
		for j := range row {
			row[j] *= T(scale)
		}
		w.rows = append(w.rows, append([]T(nil), row...))
	}
	return g
}

func (w *window[T]) drop(i int) { w.rows = append(w.rows[:i:i], w.rows[i+1:]...) }

// checkThin checks q against the matrix, of which top is the largest element ever: a row that was dropped leaves
// rounding errors of its size.
func checkThin[T la.Element](t *testing.T, q *la.ThinQR[T], a la.General[T], top float64, what string) {
	t.Helper()
	m, n := a.Rows, a.Cols
	if gotM, gotN := q.Dims(); gotM != m || gotN != n {
		t.Fatalf("%s: %d×%d, want %d×%d", what, gotM, gotN, m, n)
	}
	qq, r := random[T](rand.New(rand.NewPCG(1, 1)), m, n, 1), random[T](rand.New(rand.NewPCG(1, 1)), n, n, 2)
	q.QTo(qq)
	q.RTo(r)
	for i := range n {
		for j := range i {
			if r.At(i, j) != 0 {
				t.Fatalf("%s: R has %v below its diagonal", what, r.At(i, j))
			}
		}
	}
	unit := eps[T]() * math.Sqrt(float64(m+n+1))
	orthogonality, residual := 0.0, 0.0
	for i := range n {
		for j := range i + 1 {
			s := 0.0
			if i == j {
				s = -1
			}
			for k := range m {
				s += float64(qq.At(k, i)) * float64(qq.At(k, j))
			}
			orthogonality = max(orthogonality, math.Abs(s))
		}
	}
	for i := range m {
		for j := range n {
			s := 0.0
			for k := range j + 1 {
				s += float64(qq.At(i, k)) * float64(r.At(k, j)) / top
			}
			residual = max(residual, math.Abs(s-float64(a.At(i, j))/top))
		}
	}
	if orthogonality /= unit; !(orthogonality < 30) {
		t.Errorf("%s: QᵀQ − I has %.3g units", what, orthogonality)
	}
	if residual /= unit; !(residual < 30) {
		t.Errorf("%s: QR − A has %.3g units", what, residual)
	}
}

func testThinQR[T la.Element](t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	e := start(t, la.Options{Workers: 2, NB: 8, Deterministic: true})
	for _, scale := range []float64{1, math.MaxFloat32 / 4096, 1e-36} {
		for _, n := range []int{0, 1, 2, 7, 20, 65} {
			w := &window[T]{n: n}
			first := w.add(rnd, n, scale)
			q := la.NewThinQR[T](e)
			if n > 7 {
				q = la.NewThinQR[T](nil)
			}
			if err := q.Factorize(first); err != nil {
				t.Fatal(err)
			}
			checkThin(t, q, w.matrix(), scale, fmt.Sprint("n = ", n))
			for step := range 60 {
				var what string
				if rnd.IntN(3) > 0 || len(w.rows) <= n {
					p := []int{0, 1, 1, 2, 5, 40}[rnd.IntN(6)]
					what = fmt.Sprintf("n = %d, scale %g, step %d: %d rows more", n, scale, step, p)
					if err := q.AppendRows(w.add(rnd, p, scale)); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
				} else {
					i := rnd.IntN(len(w.rows))
					what = fmt.Sprintf("n = %d, scale %g, step %d: row %d of %d less", n, scale, step, i, len(w.rows))
					w.drop(i)
					if err := q.DropRow(i); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
				}
				if step%7 == 0 || step > 57 {
					checkThin(t, q, w.matrix(), scale*10, what)
				}
			}
			// It solves as a new factorization does.
			a := w.matrix()
			if len(w.rows) <= n || n == 0 {
				continue
			}
			b := random[T](rnd, a.Rows, 2, 0)
			x, want := random[T](rnd, n, 2, 0), random[T](rnd, n, 2, 0)
			if err := q.SolveTo(x, b); err != nil {
				t.Fatal(err)
			}
			if err := la.LeastSquares(t.Context(), e, want, a, b); err != nil {
				t.Fatal(err)
			}
			top := load[T](want, 'N').maxAbs()
			for i := range n * 2 {
				if d := math.Abs(float64(x.Data[i]-want.Data[i])) / top; !(d < 1e4*eps[T]()*q.Cond()) {
					t.Fatalf("n = %d, scale %g: x differs by %g", n, scale, d)
				}
			}
		}
	}
}

// The factorization follows rows that come and go.
func TestThinQR(t *testing.T) {
	t.Run("f64", testThinQR[float64])
	t.Run("f32", testThinQR[float32])
}

// A row that no other row replaces leaves a matrix whose columns depend on each other.
func TestThinQRLosesRank(t *testing.T) {
	const n = 5
	rnd := rand.New(rand.NewPCG(8, 8))
	w := &window[float64]{n: n}
	w.add(rnd, 9, 1)
	for i, row := range w.rows {
		row[2] = 0
		if i == 4 {
			row[2] = 3
		}
	}
	var q la.ThinQR[float64]
	if err := q.Factorize(w.matrix()); err != nil {
		t.Fatal(err)
	}
	w.drop(4)
	if err := q.DropRow(4); err != nil {
		t.Fatal(err)
	}
	checkThin(t, &q, w.matrix(), 3, "without the row")
	var condition mat.Condition
	x, b := mat.NewVecDense(n, nil), mat.NewVecDense(8, nil)
	if err := q.SolveVecTo(x, b); !errors.As(err, &condition) || q.Cond() < 1e14 {
		t.Errorf("SolveVecTo: %v; Cond %g", err, q.Cond())
	}
	// A row like it makes it whole again.
	row := la.General[float64]{Rows: 1, Cols: n, Stride: n, Data: []float64{1, 2, 3, 4, 5}}
	w.rows = append(w.rows, row.Data)
	if err := q.AppendRows(row); err != nil {
		t.Fatal(err)
	}
	checkThin(t, &q, w.matrix(), 3, "with another one")
	if err := q.SolveVecTo(mat.NewVecDense(n, nil), mat.NewVecDense(9, nil)); err != nil {
		t.Error(err)
	}
	// Rows of zeros, and rows that are equal.
	for range 3 {
		zero := la.General[float64]{Rows: 1, Cols: n, Stride: n, Data: make([]float64, n)}
		w.rows = append(w.rows, zero.Data, row.Data)
		if err := errors.Join(q.AppendRows(zero), q.AppendRows(row)); err != nil {
			t.Fatal(err)
		}
	}
	for len(w.rows) > n {
		w.drop(0)
		if err := q.DropRow(0); err != nil {
			t.Fatal(err)
		}
		checkThin(t, &q, w.matrix(), 10, fmt.Sprint(len(w.rows), " rows"))
	}
}

func TestThinQRErrors(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 9))
	var q la.ThinQR[float64]
	if panics(func() { q.Dims() }) != la.ErrNotFactorized || !q.IsEmpty() {
		t.Error("an empty factorization has a shape")
	}
	var shape *la.ShapeError
	if err := q.Factorize(random[float64](rnd, 3, 4, 0)); !errors.As(err, &shape) || !q.IsEmpty() {
		t.Errorf("a wide matrix: %v", err)
	}
	a := random[float64](rnd, 30, 4, 0)
	if err := q.Factorize(a); err != nil {
		t.Fatal(err)
	}
	nan := random[float64](rnd, 20, 4, 0)
	nan.Set(17, 2, math.NaN())
	for _, p := range []int{20, 18} { // in blocks and one by one
		g := nan
		g.Rows = p
		var bad *la.NonFiniteError
		if err := q.AppendRows(g); !errors.As(err, &bad) || bad.Row != 17 || bad.Col != 2 {
			t.Errorf("NaN: %v", err)
		}
	}
	if err := q.AppendRows(random[float64](rnd, 2, 5, 0)); !errors.As(err, &shape) {
		t.Errorf("rows of another length: %v", err)
	}
	if err := q.SolveTo(random[float64](rnd, 4, 1, 0), random[float64](rnd, 29, 1, 0)); !errors.As(err, &shape) {
		t.Errorf("a short b: %v", err)
	}
	if panics(func() { q.DropRow(30) }) != mat.ErrRowAccess {
		t.Error("row 30 of 30 was dropped")
	}
	checkThin(t, &q, a, 1, "after errors")
	if err := q.Factorize(random[float64](rnd, 4, 4, 0)); err != nil {
		t.Fatal(err)
	}
	if err := q.DropRow(1); !errors.As(err, &shape) {
		t.Errorf("a square one: %v", err)
	}
}

// The bits do not depend on the number of workers.
func TestThinQRWorkers(t *testing.T) {
	var want []float64
	for workers := 1; workers <= 3; workers++ {
		rnd := rand.New(rand.NewPCG(1, 9))
		q := la.NewThinQR[float64](start(t, la.Options{Workers: workers, NB: 64, Deterministic: true}))
		if err := q.Factorize(random[float64](rnd, 900, 130, 0)); err != nil {
			t.Fatal(err)
		}
		for _, p := range []int{1, 3, 60} {
			if err := errors.Join(q.AppendRows(random[float64](rnd, p, 130, 0)), q.DropRow(5), q.DropRow(400)); err != nil {
				t.Fatal(err)
			}
		}
		m, n := q.Dims()
		got := random[float64](rnd, m+n, n, 0)
		above, below := got, got
		above.Rows, below.Rows, below.Data = m, n, got.Data[m*n:]
		q.QTo(above)
		q.RTo(below)
		if want == nil {
			want = got.Data
		}
		for i, v := range got.Data[:(m+n)*n] {
			if v != want[i] {
				t.Fatalf("%d workers: element %d is %v, and with one %v", workers, i, v, want[i])
			}
		}
	}
}

// A line is fitted to the last four of the points that come one by one.
func ExampleThinQR() {
	y := []float64{1, 3, 5, 7, 6, 5, 4}
	point := func(i int) *mat.Dense { return mat.NewDense(1, 2, []float64{1, float64(i)}) }
	q := la.NewThinQR[float64](nil)
	if err := q.Factorize(mat.NewDense(4, 2, []float64{1, 0, 1, 1, 1, 2, 1, 3})); err != nil {
		fmt.Println(err)
	}
	for i := 3; i < len(y); i++ {
		if i > 3 {
			if err := errors.Join(q.AppendRows(point(i)), q.DropRow(0)); err != nil {
				fmt.Println(err)
			}
		}
		var x mat.VecDense
		if err := q.SolveVecTo(&x, mat.NewVecDense(4, y[i-3:i+1])); err != nil {
			fmt.Println(err)
		}
		fmt.Printf("slope %.2f\n", x.AtVec(1))
	}
	// Output:
	// slope 2.00
	// slope 1.10
	// slope -0.10
	// slope -1.00
}

func BenchmarkThinQR(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	e := start(b, la.Options{Workers: 2})
	for _, s := range []struct{ m, n int }{{1000, 20}, {2000, 200}, {10000, 500}} {
		a, row := random[float64](rnd, s.m, s.n, 0), random[float64](rnd, 1, s.n, 0)
		q := la.NewThinQR[float64](e)
		if err := q.Factorize(a); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("append and drop/%d×%d", s.m, s.n), func(b *testing.B) {
			for b.Loop() {
				if err := errors.Join(q.AppendRows(row), q.DropRow(0)); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("factorize/%d×%d", s.m, s.n), func(b *testing.B) {
			for b.Loop() {
				if err := q.Factorize(a); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
