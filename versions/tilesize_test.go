package versions

import (
	"math"
	"path/filepath"
	"testing"
)

func TestTileSize(t *testing.T) {
	here, there := &Target{Processor: "X"}, &Target{Processor: "Y"}
	p := new(Profile)
	if _, ok := p.TileSize("gemm/f64", here, 2, 1000); ok {
		t.Error("an empty profile has a tile size")
	}
	p.SetTileSize("gemm/f64", here, 2, 1024, 128, 1e11)
	p.SetTileSize("gemm/f64", here, 2, 4096, 256, 1e11)
	p.SetTileSize("gemm/f64", here, 2, 4096, 320, 2e11) // replaces
	p.SetTileSize("gemm/f64", here, 2, 8192, 0, 2e11)   // ignored
	p.SetTileSize("gemm/f64", here, 2, 8192, 512, math.NaN())
	for _, c := range []struct {
		op      string
		on      *Target
		workers int
		n, want int
	}{
		{"gemm/f64", here, 2, 1024, 128},
		{"gemm/f64", here, 2, 600, 128},
		{"gemm/f64", here, 2, 2047, 128},
		{"gemm/f64", here, 2, 2048, 128}, // in the middle
		{"gemm/f64", here, 2, 2100, 320},
		{"gemm/f64", here, 2, 8192, 320},
		{"gemm/f64", here, 2, 8300, 0},
		{"gemm/f64", here, 2, 511, 0},
		{"gemm/f64", here, 1, 1024, 0},
		{"gemm/f32", here, 2, 1024, 0},
		{"gemm/f64", there, 2, 1024, 0},
	} {
		nb, ok := p.TileSize(c.op, c.on, c.workers, c.n)
		if nb != c.want || ok != (c.want > 0) {
			t.Errorf("%s, %d workers, n = %d: %d, %v, want %d", c.op, c.workers, c.n, nb, ok, c.want)
		}
	}
}

// TestTileSizeFile lets two profiles save to one file: what each has set wins
// over what it has only loaded.
func TestTileSizeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profile.json")
	on := new(Target)
	load := func() *Profile {
		t.Helper()
		p, w, err := Load(path)
		if err != nil || w != nil {
			t.Fatal(err, w)
		}
		return p
	}
	save := func(p *Profile) {
		t.Helper()
		if w, err := p.Save(path); err != nil || w != nil {
			t.Fatal(err, w)
		}
	}
	a := new(Profile)
	a.SetTileSize("x", on, 1, 100, 10, 1)
	a.SetTileSize("x", on, 1, 200, 20, 1)
	save(a)
	b, c := load(), load()
	b.SetTileSize("x", on, 1, 100, 11, 1)
	c.SetTileSize("x", on, 1, 200, 22, 1)
	save(b)
	save(c)
	d := load()
	for n, want := range map[int]int{100: 11, 200: 22} {
		if nb, _ := d.TileSize("x", on, 1, n); nb != want {
			t.Errorf("n = %d: %d, want %d", n, nb, want)
		}
	}
	if got := len(d.TileSizes()); got != 2 {
		t.Errorf("%d tile sizes, want 2", got)
	}
}
