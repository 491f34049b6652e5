package tiles_test

import (
	"fmt"
	"testing"

	"github.com/tessera-la/tessera/blocked/tiles"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/mat"
)

const benchN, benchNB = 2048, 256

// Bytes counted are those of the elements read; as many are written, so a
// copy moves twice what it reports.
func BenchmarkCopy(b *testing.B) {
	const n = benchN
	data := make([]float64, n*n)
	for i := range data {
		data[i] = float64(i)
	}
	to := make([]float64, n*n)
	dense := mat.NewDense(n, n, data)
	sym := mat.NewSymDense(n, data)
	full := tiles.New[float64](tiles.Full, n, n, benchNB)
	lower := tiles.New[float64](tiles.SymLower, n, n, benchNB)
	upper := tiles.New[float64](tiles.SymUpper, n, n, benchNB)
	out := tiles.General[float64]{Rows: n, Cols: n, Stride: n, Data: to}
	outSym := tiles.Symmetric[float64]{Uplo: blas.Upper, N: n, Stride: n, Data: to}
	run := func(name string, bytes int64, f func(workers int)) {
		for _, workers := range []int{1, 0} {
			b.Run(fmt.Sprintf("%s/workers=%d", name, workers), func(b *testing.B) {
				b.SetBytes(bytes)
				for b.Loop() {
					f(workers)
				}
			})
		}
	}
	const all = 8 * n * n
	half := lower.Bytes()
	b.Run("plain", func(b *testing.B) {
		b.SetBytes(all)
		for b.Loop() {
			copy(to, data)
		}
	})
	run("from dense", all, func(w int) { full.CopyFrom(dense, tiles.CopyOptions{Workers: w}) })
	run("from dense with stats", all, func(w int) { full.CopyFrom(dense, tiles.CopyOptions{Workers: w, Stats: true}) })
	run("from transposed", all, func(w int) { full.CopyFrom(dense.T(), tiles.CopyOptions{Workers: w}) })
	run("from dense, new", all, func(w int) { tiles.From(dense, tiles.Full, benchNB, tiles.CopyOptions{Workers: w}) })
	run("to dense", all, func(w int) { full.CopyTo(out, w) })
	run("upper from sym", half, func(w int) { upper.CopyFrom(sym, tiles.CopyOptions{Workers: w}) })
	run("lower from sym", half, func(w int) { lower.CopyFrom(sym, tiles.CopyOptions{Workers: w}) })
	run("lower from sym with stats", half, func(w int) { lower.CopyFrom(sym, tiles.CopyOptions{Workers: w, Stats: true}) })
	run("lower to sym", half, func(w int) { lower.CopyTo(outSym, w) })
	run("retile 256 to 192", all, func(w int) {
		tiles.New[float64](tiles.Full, n, n, 192).CopyFrom(full, tiles.CopyOptions{Workers: w})
	})
	for _, norm := range []lapack.MatrixNorm{lapack.MaxAbs, lapack.MaxColumnSum, lapack.MaxRowSum, lapack.Frobenius} {
		run("norm "+string(rune(norm)), all, func(w int) { full.Norm(norm, w) })
	}
}

// The size at which a second goroutine pays.
func BenchmarkCopySmall(b *testing.B) {
	for _, n := range []int{64, 128, 181, 256, 362, 512} {
		dense := mat.NewDense(n, n, nil)
		a := tiles.New[float64](tiles.Full, n, n, 64)
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("n=%d/workers=%d", n, workers), func(b *testing.B) {
				b.SetBytes(int64(8 * n * n))
				for b.Loop() {
					a.CopyFrom(dense, tiles.CopyOptions{Workers: workers})
				}
			})
		}
	}
}
