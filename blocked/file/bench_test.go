package file

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/tessera-la/tessera/blocked"
)

// BenchmarkReadFileNPY reads a 2048×2048 float64 array that the page cache
// holds.
func BenchmarkReadFileNPY(b *testing.B) {
	const n = 2048
	a := someMatrix[float64](blocked.Full, n, n, 256)
	for name, fortran := range map[string]bool{"c": false, "fortran": true} {
		path := filepath.Join(b.TempDir(), name+".npy")
		if err := Write(path, a, &WriteOptions{Fortran: fortran}); err != nil {
			b.Fatal(err)
		}
		b.Run(name+"/mapped", func(b *testing.B) {
			b.SetBytes(8 * n * n)
			for b.Loop() {
				if _, err := Read[float64](path, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/stream", func(b *testing.B) {
			file, err := os.ReadFile(path)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(file)))
			for b.Loop() {
				if _, err := ReadNPY[float64](bytes.NewReader(file), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReadMatrixMarket(b *testing.B) {
	const n = 700
	// Numbers as simulations print them: 16 or 17 digits, small exponents.
	a := blocked.New[float64](blocked.Full, n, n, 256)
	for i := range n {
		for j := range n {
			a.Set(i, j, 1e4*math.Sin(float64(i*n+j)))
		}
	}
	for name, o := range map[string]WriteOptions{"array": {}, "coordinate": {Coordinate: true}} {
		var buf bytes.Buffer
		if err := WriteMatrixMarket(&buf, a, &o); err != nil {
			b.Fatal(err)
		}
		benchmarkMtx(b, name, buf.Bytes())
	}
	var buf bytes.Buffer
	for i := range n {
		for j := range n {
			a.Set(i, j, float64(i-j))
		}
	}
	if err := WriteMatrixMarket(&buf, a, &WriteOptions{Coordinate: true}); err != nil {
		b.Fatal(err)
	}
	benchmarkMtx(b, "integers", buf.Bytes())
}

func benchmarkMtx(b *testing.B, name string, text []byte) {
	b.Run(name, func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ReadMatrixMarket[float64](bytes.NewReader(text), nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	const n = 700
	a := someMatrix[float64](blocked.SymLower, n, n, 256)
	b.Run("npy", func(b *testing.B) {
		b.SetBytes(8 * n * n)
		for b.Loop() {
			if err := WriteNPY(io.Discard, a, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("mtx", func(b *testing.B) {
		b.SetBytes(8 * n * (n + 1) / 2)
		for b.Loop() {
			if err := WriteMatrixMarket(io.Discard, a, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
