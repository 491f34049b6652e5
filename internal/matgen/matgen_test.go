package matgen

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// specOf returns a Spec of kind k with every field that k uses set.
func specOf(k Kind, m, n int) Spec {
	if k.Square() {
		m = n
	}
	return Spec{Kind: k, M: m, N: n, Seed: 7, Cond: 1e3, NB: 4, TileRow: 1, TileCol: 2}
}

func dense[T Element](t *testing.T, s Spec) *mat.Dense {
	t.Helper()
	a := make([]T, s.M*s.N)
	if err := Generate(s, a, s.N); err != nil {
		t.Fatal(err)
	}
	d := mat.NewDense(s.M, s.N, nil)
	for i := range s.M {
		for j := range s.N {
			d.Set(i, j, float64(a[i*s.N+j]))
		}
	}
	return d
}

func TestKindNames(t *testing.T) {
	seen := make(map[string]bool)
	for _, k := range Kinds() {
		name := k.String()
		if seen[name] || strings.Contains(name, "(") || name != strings.ToLower(name) {
			t.Errorf("kind %d is called %q", k, name)
		}
		seen[name] = true
		if got, err := ParseKind(strings.ToUpper(name)); err != nil || got != k {
			t.Errorf("ParseKind(%q) = %v, %v", name, got, err)
		}
		if k.PositiveDefinite() && !k.Symmetric() || k.Symmetric() && !k.Square() {
			t.Errorf("%v: definite %v, symmetric %v, square %v", k, k.PositiveDefinite(), k.Symmetric(), k.Square())
		}
	}
	_, err := ParseKind("hilberd")
	if err == nil || !strings.Contains(err.Error(), "hilbert, lehmer") {
		t.Errorf("error %v does not list what is known", err)
	}
	if got := Kind(200).String(); got != "Kind(200)" {
		t.Errorf("unknown kind is %q", got)
	}
}

func TestBlocks(t *testing.T) {
	t.Run("float64", testBlocks[float64])
	t.Run("float32", testBlocks[float32])
}

// testBlocks checks that a matrix is the same in one piece and in tiles, made
// in any order, and that padding is left alone.
func testBlocks[T Element](t *testing.T) {
	nan := T(math.NaN())
	for _, k := range Kinds() {
		s := specOf(k, 13, 17)
		lda := s.N + 3
		a := make([]T, s.M*lda)
		for i := range a {
			a[i] = nan
		}
		if err := Generate(s, a, lda); err != nil {
			t.Errorf("%v: %v", k, err)
			continue
		}
		g, err := New[T](s)
		if err != nil {
			t.Fatal(err)
		}
		const nb = 5
		b := make([]T, nb*nb)
		for i := s.M / nb * nb; i >= 0; i -= nb {
			for j := s.N / nb * nb; j >= 0; j -= nb {
				r, c := min(nb, s.M-i), min(nb, s.N-j)
				g.Block(i, j, r, c, b, nb)
				for p := range r {
					for q := range c {
						if got, want := b[p*nb+q], a[(i+p)*lda+j+q]; got != want || got != g.At(i+p, j+q) {
							t.Fatalf("%v: element (%d, %d) is %v in a tile, %v in the whole", k, i+p, j+q, got, want)
						}
					}
				}
			}
		}
		for i, v := range a {
			if pad := i%lda >= s.N; pad != (v != v) {
				t.Fatalf("%v: element %d is %v", k, i, v)
			}
		}
		if !k.Symmetric() {
			continue
		}
		for i := range s.M {
			for j := range i {
				if a[i*lda+j] != a[j*lda+i] {
					t.Errorf("%v is not symmetric at (%d, %d)", k, i, j)
				}
			}
		}
	}
}

func TestSmall(t *testing.T) {
	for _, k := range Kinds() {
		for _, n := range []int{0, 1, 2, 3} {
			s := Spec{Kind: k, M: n, N: n}
			a := make([]float64, n*n)
			if err := Generate(s, a, n); err != nil {
				t.Errorf("%v of order %d: %v", k, n, err)
			}
			for _, v := range a {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Errorf("%v of order %d: %v", k, n, a)
				}
			}
		}
		if k.Square() {
			continue
		}
		for _, dims := range [][2]int{{0, 3}, {3, 0}, {1, 4}, {4, 1}} {
			a := make([]float64, dims[0]*dims[1])
			if err := Generate(Spec{Kind: k, M: dims[0], N: dims[1]}, a, dims[1]); err != nil {
				t.Errorf("%v of %v: %v", k, dims, err)
			}
		}
	}
}

func TestSeed(t *testing.T) {
	a, _ := New[float64](Spec{Kind: Random, M: 4, N: 4, Seed: 1})
	b, _ := New[float64](Spec{Kind: Random, M: 4, N: 4, Seed: 2})
	if a.At(1, 2) == b.At(1, 2) || a.At(1, 2) == a.At(2, 1) {
		t.Error("random elements repeat")
	}
	// Another machine or release must make the same matrix of a seed.
	if got, want := a.At(1, 2), Uniform(1, 1, 2); got != want {
		t.Errorf("element is %v, want %v", got, want)
	}
	// The first is the published first output of splitmix64 from seed 0.
	if got, want := rowKey(0, 0), uint64(0xe220a8397b1dcdaf); got != want {
		t.Errorf("rowKey(0, 0) = %#x, want %#x", got, want)
	}
	const golden = 0xaafe740f2a046de3
	if got := word(42, 3, 5); got != golden {
		t.Errorf("word(42, 3, 5) = %#x, want %#x", got, uint64(golden))
	}
	// Mean, variance and correlation of neighbours, within five sigmas.
	const n = 400
	var sum, square, right, down float64
	for i := range n {
		for j := range n {
			v := Uniform(9, i, j)
			sum += v
			square += v * v
			right += v * Uniform(9, i, j+1)
			down += v * Uniform(9, i+1, j)
		}
	}
	for name, x := range map[string]float64{
		"mean":                  sum / n / n / math.Sqrt(1.0/12),
		"variance":              (square/n/n - 1.0/12) / math.Sqrt(1.0/180),
		"correlation along row": right / n / n * 12,
		"correlation of rows":   down / n / n * 12,
	} {
		if math.Abs(x) > 5.0/n {
			t.Errorf("%s off by %g", name, x)
		}
	}
}

func TestConditionNumbers(t *testing.T) {
	const m, n = 40, 30
	for _, test := range []struct {
		kind       Kind
		norm, cond float64
	}{
		{Cond, 1, 1e3},
		{Diagonal, 1, 2},
		{Cond2, 1, 2},
		{CondSqrt, 1, math.Sqrt(0.1 / 0x1p-52)},
		{CondMax, 1, 0.1 / 0x1p-52},
		{Tiny, 0x1p-972, 2},
		{Huge, 0x1p972, 2},
		{SPDCond, 1, 1e3},
		{SPDDiagonal, 1, 2},
		{SPDCond2, 1, 2},
		{SPDCondSqrt, 1, math.Sqrt(0.1 / 0x1p-52)},
		{SPDCondMax, 1, 0.1 / 0x1p-52},
		{SPDTiny, 0x1p-972, 2},
		{SPDHuge, 0x1p972, 2},
	} {
		a := dense[float64](t, specOf(test.kind, m, n))
		a.Scale(1/test.norm, a)
		var svd mat.SVD
		if !svd.Factorize(a, mat.SVDNone) {
			t.Fatalf("%v: no SVD", test.kind)
		}
		v := svd.Values(nil)
		if math.Abs(v[0]-1) > 1e-10 {
			t.Errorf("%v: norm %g, want %g", test.kind, v[0]*test.norm, test.norm)
		}
		// Rounding moves singular values by a few ε, the smallest of which
		// are themselves only ten ε.
		if got := v[0] / v[len(v)-1]; got < test.cond/1.5 || got > test.cond*1.5 {
			t.Errorf("%v: condition number %g, want %g", test.kind, got, test.cond)
		}
	}
}

// minor returns LAPACK's info for the Cholesky factorization of a: 0, or the
// order of the first leading minor that is not positive.
func minor(a *mat.Dense) int {
	n, _ := a.Dims()
	l := mat.DenseCopyOf(a)
	for j := range n {
		d := l.At(j, j)
		for k := range j {
			d -= l.At(j, k) * l.At(j, k)
		}
		if !(d > 0) {
			return j + 1
		}
		d = math.Sqrt(d)
		l.Set(j, j, d)
		for i := j + 1; i < n; i++ {
			s := l.At(i, j)
			for k := range j {
				s -= l.At(i, k) * l.At(j, k)
			}
			l.Set(i, j, s/d)
		}
	}
	return 0
}

func TestDefinite(t *testing.T) {
	for _, k := range Kinds() {
		if !k.Symmetric() {
			continue
		}
		n := 41
		switch k {
		case Hilbert:
			n = 10
		case Prolate:
			n = 20
		}
		want := 0
		switch k {
		case FirstZero:
			want = 1
		case MiddleZero:
			want = n/2 + 1
		case LastZero, Indefinite:
			want = n
		}
		if got := minor(dense[float64](t, specOf(k, n, n))); got != want {
			t.Errorf("%v in float64: minor %d fails, want %d", k, got, want)
		}
		if k == Hilbert || k == Prolate {
			continue // beyond float32
		}
		if got := minor(dense[float32](t, specOf(k, n, n))); got != want {
			t.Errorf("%v in float32: minor %d fails, want %d", k, got, want)
		}
	}
}

func TestIndefinite(t *testing.T) {
	const n = 23
	for m := 1; m <= n; m++ {
		a := dense[float32](t, Spec{Kind: Indefinite, M: n, N: n, Minor: m, Seed: uint64(m)})
		if got := minor(a); got != m {
			t.Errorf("minor %d fails, want %d", got, m)
		}
		for i := range n {
			if m > 1 && a.At(i, i) <= 0 {
				t.Errorf("minor %d: diagonal element %d gives it away", m, i)
			}
		}
	}
}

// growth returns the largest element of U over the largest of A after
// elimination with partial pivoting.
func growth(a *mat.Dense) float64 {
	var lu mat.LU
	lu.Factorize(a)
	var u mat.TriDense
	lu.UTo(&u)
	return mat.Max(absolute(&u)) / mat.Max(absolute(a))
}

func absolute(a mat.Matrix) *mat.Dense {
	var b mat.Dense
	b.Apply(func(_, _ int, v float64) float64 { return math.Abs(v) }, a)
	return &b
}

func TestGrowth(t *testing.T) {
	const n = 30
	if got, want := growth(dense[float64](t, specOf(Wilkinson, n, n))), math.Ldexp(1, n-1); got != want {
		t.Errorf("Wilkinson: growth %g, want %g", got, want)
	}
	if got, want := growth(dense[float64](t, specOf(Foster, n, n))), 2.0/3*(math.Ldexp(1, n-1)-1)+1; math.Abs(got/want-1) > 1e-6 {
		t.Errorf("Foster: growth %g, want %g", got, want)
	}
	if got := growth(dense[float64](t, specOf(Random, n, n))); got > 10 {
		t.Errorf("random: growth %g", got)
	}
}

func TestBeam(t *testing.T) {
	const n = 300
	a := dense[float64](t, specOf(Beam, n, n))
	// A = TᵀT with T⁻¹[i][j] = i-j+1: the norm of the inverse is had exactly.
	inv := mat.NewTriDense(n, mat.Lower, nil)
	for i := range n {
		for j := range i + 1 {
			inv.SetTri(i, j, float64(i-j+1))
		}
	}
	var ai mat.Dense
	ai.Mul(inv, inv.T())
	var id mat.Dense
	id.Mul(a, &ai)
	for i := range n {
		id.Set(i, i, id.At(i, i)-1)
	}
	if r := mat.Max(absolute(&id)); r != 0 {
		t.Fatalf("the inverse is off by %g", r)
	}
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			s.SetSym(i, j, ai.At(i, j))
		}
	}
	var e mat.EigenSym
	if !e.Factorize(s, false) {
		t.Fatal("no eigenvalues")
	}
	v := e.Values(nil)
	if cond := v[n-1] * 16; cond < 1e10 { // the norm of A is just below 16
		t.Errorf("condition number %g at n = %d", cond, n)
	} else if want := 16 * math.Pow(n/1.875, 4); math.Abs(cond/want-1) > 0.05 {
		t.Errorf("condition number %g, want %g", cond, want)
	}
}

func TestPoisson2D(t *testing.T) {
	// On a full grid the eigenvalues are known: the smallest is
	// 8·sin²(π/2(side+1)).
	const side = 6
	a := dense[float64](t, specOf(Poisson2D, side*side, side*side))
	s := mat.NewSymDense(side*side, nil)
	for i := range side * side {
		for j := range i + 1 {
			s.SetSym(i, j, a.At(i, j))
		}
	}
	var e mat.EigenSym
	e.Factorize(s, false)
	sin := math.Sin(math.Pi / 2 / (side + 1))
	if got, want := e.Values(nil)[0], 8*sin*sin; math.Abs(got-want) > 1e-12 {
		t.Errorf("smallest eigenvalue %g, want %g", got, want)
	}
}

func TestTiles(t *testing.T) {
	const n = 12
	random := dense[float64](t, specOf(Random, n, n))
	for _, k := range []Kind{SingularTile, ZeroTile, ScaledTile} {
		a := dense[float64](t, specOf(k, n, n))
		tile := a.Slice(4, 8, 8, 12)
		switch k {
		case SingularTile:
			var svd mat.SVD
			svd.Factorize(tile, mat.SVDNone)
			if v := svd.Values(nil); v[0] == 0 || v[1] > 1e-15*v[0] {
				t.Errorf("singular tile has singular values %v", v)
			}
		case ZeroTile:
			if mat.Norm(tile, 1) != 0 {
				t.Errorf("zero tile is not zero")
			}
		case ScaledTile:
			if got, want := mat.Norm(tile, 1), 1e-8*mat.Norm(random.Slice(4, 8, 8, 12), 1); math.Abs(got/want-1) > 1e-12 {
				t.Errorf("scaled tile has norm %g, want %g", got, want)
			}
		}
		for i := range n {
			for j := range n {
				if (i/4 != 1 || j/4 != 2) && a.At(i, j) != random.At(i, j) {
					t.Errorf("%v changed element (%d, %d) outside its tile", k, i, j)
				}
			}
		}
	}
}

func TestValues(t *testing.T) {
	for _, test := range []struct {
		kind Kind
		i, j int
		want float64
	}{
		{Hilbert, 2, 3, 1.0 / 6},
		{Lehmer, 1, 3, 0.5},
		{Moler, 3, 3, 4},
		{Moler, 2, 3, 1},
		{MinIJ, 4, 2, 3},
		{KMS, 1, 4, 0.125},
		{Prolate, 3, 3, 0.5},
		{Prolate, 5, 3, 0},
		{Prolate, 4, 3, 1 / math.Pi},
		{Prolate, 0, 3, -1 / (3 * math.Pi)},
		{Beam, 2, 2, 6},
		{Identity, 3, 3, 1},
		{Kahan, 4, 3, 0},
		{Kahan, 0, 5, -math.Cos(1.2)},
	} {
		g, err := New[float64](specOf(test.kind, 9, 9))
		if err != nil {
			t.Fatal(err)
		}
		if got := g.At(test.i, test.j); math.Abs(got-test.want) > 1e-16 {
			t.Errorf("%v: element (%d, %d) is %g, want %g", test.kind, test.i, test.j, got, test.want)
		}
	}
}

func TestValidate(t *testing.T) {
	s := Spec{Kind: SPDScaledTile, M: 3, N: -4, Cond: 0.5, Minor: -1, NB: -2}
	err := s.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"negative dimensions", "is square", "condition number", "minor", "tile size"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no word about %q in %v", want, err)
		}
	}
	for _, s := range []Spec{
		{Kind: 200},
		{Kind: Cond, M: 2, N: 2, Cond: math.NaN()},
		{Kind: Cond, M: 2, N: 2, Cond: math.Inf(1)},
		{Kind: Indefinite, M: 2, N: 2, Minor: 3},
		{Kind: ZeroTile, M: 8, N: 8, NB: 4, TileRow: 2},
		{Kind: ZeroTile, M: 8, N: 8, NB: 4, TileCol: -1},
		{Kind: Wilkinson, M: 8, N: 7},
	} {
		if _, err := New[float64](s); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
	for _, short := range []struct{ length, lda int }{{5, 3}, {6, 2}} {
		if Generate(Spec{M: 2, N: 3}, make([]float64, short.length), short.lda) == nil {
			t.Errorf("%d elements of stride %d hold 2×3", short.length, short.lda)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic for a block outside the matrix")
		}
	}()
	g, _ := New[float64](Spec{M: 2, N: 2})
	g.Block(1, 1, 2, 1, make([]float64, 9), 3)
}

func BenchmarkGenerate(b *testing.B) {
	const n = 512
	a := make([]float64, n*n)
	for _, k := range []Kind{Random, SPD, SPDCond, Poisson2D} {
		b.Run(k.String(), func(b *testing.B) {
			b.SetBytes(n * n * 8)
			for b.Loop() {
				if err := Generate(Spec{Kind: k, M: n, N: n}, a, n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
