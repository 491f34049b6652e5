package tiles_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/tessera-la/tessera/blocked/tiles"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// hiddenType shows a matrix through At alone.
type hiddenType[T tiles.Element] struct{ tiles.Source[T] }

func testConvert[T, U tiles.Element](t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 7, 8, 9, 33, 70} {
		g := tiles.General[U]{Rows: n, Cols: n, Stride: n + 3, Data: make([]U, n*(n+3))}
		for i := range g.Data {
			g.Data[i] = U(rnd.NormFloat64())
		}
		upper := tiles.Symmetric[U]{Uplo: blas.Upper, N: n, Stride: g.Stride, Data: g.Data}
		lower := tiles.Symmetric[U]{Uplo: blas.Lower, N: n, Stride: g.Stride, Data: g.Data}
		unit := tiles.Triangular[U]{Uplo: blas.Lower, Diag: blas.Unit, N: n, Stride: g.Stride, Data: g.Data}
		tiled, _ := tiles.From[U](g, tiles.Full, 5, tiles.CopyOptions{})
		for name, src := range map[string]tiles.Source[U]{
			"general": g, "upper": upper, "lower": lower, "unit": unit, "tiles": tiled, "hidden": hiddenType[U]{g},
		} {
			for _, kind := range []tiles.Kind{tiles.Full, tiles.SymLower, tiles.SymUpper, tiles.TriLower, tiles.TriUpper} {
				for _, nb := range []int{1, 4, 32, 40, 100} {
					what := fmt.Sprintf("%s, n %d, %v, nb %d", name, n, kind, nb)
					a, stats := tiles.Convert[T](src, kind, nb, tiles.CopyOptions{Workers: 3, Stats: true})
					for i := range n {
						for j := range n {
							if up := kind.Uplo(); up == blas.Upper && i > j || up == blas.Lower && i < j {
								continue
							}
							if got, want := a.At(i, j), T(src.At(i, j)); got != want {
								t.Fatalf("%s: (%d, %d) is %v, want %v", what, i, j, got, want)
							}
						}
					}
					same, _ := tiles.From[T](a, kind, nb, tiles.CopyOptions{})
					if want := same.CopyFrom(a, tiles.CopyOptions{Stats: true}); !reflect.DeepEqual(stats, want) {
						t.Errorf("%s: stats %+v, want %+v", what, stats, want)
					}
				}
			}
		}
	}
}

func TestConvert(t *testing.T) {
	t.Run("f64 to f32", testConvert[float32, float64])
	t.Run("f32 to f64", testConvert[float64, float32])
	t.Run("f64 to f64", testConvert[float64, float64])
}

// What float32 cannot hold becomes infinite, and is told of.
func TestConvertRange(t *testing.T) {
	for _, v := range []struct {
		x, want float64
	}{
		{1e39, math.Inf(1)}, {-math.MaxFloat64, math.Inf(-1)}, {math.NaN(), math.NaN()}, {1e-60, 0},
		{math.MaxFloat32, math.MaxFloat32}, {1e-45, float64(float32(1e-45))}, {1 + 0x1p-25, 1}, {math.Copysign(0, -1), math.Copysign(0, -1)},
	} {
		const n = 20
		a := mat.NewDense(n, n, nil)
		a.Set(13, 7, v.x)
		b, stats := tiles.Convert[float32](a.T(), tiles.Full, 8, tiles.CopyOptions{Stats: true})
		got := float64(b.At(7, 13))
		if math.Float64bits(got) != math.Float64bits(v.want) && !(math.IsNaN(got) && math.IsNaN(v.want)) {
			t.Errorf("%v became %v, want %v", v.x, got, v.want)
		}
		bad := math.IsNaN(v.want) || math.IsInf(v.want, 0)
		if stats.NonFinite != bad || bad && (stats.Row != 7 || stats.Col != 13) {
			t.Errorf("%v: %+v", v.x, stats)
		}
	}
}

func TestConvertShape(t *testing.T) {
	defer func() {
		if p := recover(); p != tiles.ErrShape {
			t.Errorf("panic %v, want ErrShape", p)
		}
	}()
	tiles.ConvertTo(tiles.New[float32](tiles.Full, 2, 3, 2), tiles.Source[float64](mat.NewDense(3, 2, nil)), tiles.CopyOptions{})
}

func BenchmarkConvert(b *testing.B) {
	const n = 4096
	s := mat.NewSymDense(n, nil)
	for i := range n {
		s.SetSym(i, i, 1)
	}
	b.Run("same", func(b *testing.B) {
		a := tiles.New[float64](tiles.SymUpper, n, n, 512)
		b.SetBytes(n * n * 4)
		for b.Loop() {
			a.CopyFrom(s, tiles.CopyOptions{Stats: true})
		}
	})
	b.Run("f32", func(b *testing.B) {
		a := tiles.New[float32](tiles.SymUpper, n, n, 512)
		b.SetBytes(n * n * 4)
		for b.Loop() {
			tiles.ConvertTo[float32, float64](a, s, tiles.CopyOptions{Stats: true})
		}
	})
}
