package la_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/la"
)

func benchQR[T la.Element](b *testing.B, opt la.Options, qo la.QROptions, m, n int) {
	a := random[T](rand.New(rand.NewPCG(1, 1)), m, n, 0)
	q := newQR[T](b, start(b, opt), qo)
	for b.Loop() {
		if err := q.Factorize(a); err != nil {
			b.Fatal(err)
		}
	}
	rate(b, qr.QRFlops(m, n))
}

// BenchmarkQR reports rates by Householder's count of operations.
func BenchmarkQR(b *testing.B) {
	for _, s := range []struct {
		class string
		m, n  int
	}{
		{"small", 16, 16}, {"small", 128, 128}, {"square", 1024, 1024}, {"square", 2048, 2048}, {"tall", 16384, 256},
		{"narrow", 65536, 8}, {"wide", 256, 4096}, {"ragged", 1021, 513},
	} {
		name := fmt.Sprintf("%s/%dx%d", s.class, s.m, s.n)
		b.Run("f64/"+name, func(b *testing.B) { benchQR[float64](b, la.Options{}, la.QROptions{}, s.m, s.n) })
		b.Run("f32/"+name, func(b *testing.B) { benchQR[float32](b, la.Options{}, la.QROptions{}, s.m, s.n) })
	}
}

// BenchmarkQROptions compares trees, tile sizes and widths of block reflectors.
func BenchmarkQROptions(b *testing.B) {
	for _, s := range [][2]int{{1024, 1024}, {2048, 2048}, {16384, 256}} {
		for _, tree := range qr.Trees() {
			for _, nb := range []int{128, 192, 256} {
				for _, ib := range []int{32, 48, 64} {
					if tree != qr.TreeAuto && (nb != 192 || ib != 32) {
						continue
					}
					b.Run(fmt.Sprintf("%dx%d/%v/nb=%d/ib=%d", s[0], s[1], tree, nb, ib), func(b *testing.B) {
						benchQR[float64](b, la.Options{Static: true}, la.QROptions{Tree: tree, TileSize: nb, InnerBlock: ib}, s[0], s[1])
					})
				}
			}
		}
	}
}
