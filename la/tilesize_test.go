package la_test

import (
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/versions"
)

func operations() []engine.Operation {
	return []engine.Operation{engine.OpGemm, engine.OpSyrk, engine.OpTrsm, engine.OpCholesky, engine.OpLU, engine.OpQR}
}

// The default divides evenly, leaves work for every worker and is not extreme.
func TestTileSizeByDefault(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 16, 200} {
		e := start(t, la.Options{Workers: workers, Direct: -1, Float: true})
		for _, op := range operations() {
			for n := 1; n < 20000; n += 1 + n/50 {
				nb, direct := engine.TileSize[float64](e, op, n, n)
				if direct || nb < 1 || nb > 1024 || nb%8 != 0 {
					t.Fatalf("%v, %d workers, n = %d: %d, %v", op, workers, n, nb, direct)
				}
				parts := (n + nb - 1) / nb
				if rest := n - (parts-1)*nb; nb-rest >= 8*parts {
					t.Errorf("%v, %d workers, n = %d: the last tile of %d has %d", op, workers, n, nb, rest)
				}
				if n >= 64*64 && parts*parts < workers {
					t.Errorf("%v, %d workers, n = %d: %d×%d tiles", op, workers, n, parts, parts)
				}
			}
		}
	}
}

// TestTileSizeForAccelerators: what suits devices from some size on, unless
// somebody knows better.
func TestTileSizeForAccelerators(t *testing.T) {
	devices, _ := simulated(t, 1, 64, 12)
	p := new(versions.Profile)
	p.SetTileSize(engine.TuningKey[float64](engine.OpGemm), exec.Here(), 2, 8192, 256, 1e9)
	size := func(opt la.Options, op engine.Operation, n int) int {
		e, err := la.NewEngine(opt)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		nb, _ := engine.TileSize[float64](e, op, n, n)
		return nb
	}
	plain, with := la.Options{Workers: 2}, la.Options{Workers: 2, Accelerators: devices}
	for _, op := range operations() {
		for _, n := range []int{1024, 2048, 4000} {
			if a, b := size(plain, op, n), size(with, op, n); a != b {
				t.Errorf("%v, n = %d: %d with a device and %d without", op, n, b, a)
			}
		}
		for n, want := range map[int]int{4096: 1024, 8192: 1024, 16384: 1024, 32768: 2048, 65536: 2048} {
			if want > 1024 && (op == engine.OpLU || op == engine.OpQR) {
				want = 1024
			}
			if nb := size(with, op, n); nb != want {
				t.Errorf("%v, n = %d: %d, want %d", op, n, nb, want)
			}
		}
	}
	for name, c := range map[string]struct {
		set  func(o *la.Options)
		want int
	}{
		"nb":            {func(o *la.Options) { o.NB = 100 }, 100},
		"profile":       {func(o *la.Options) { o.Profile = p }, 256},
		"deterministic": {func(o *la.Options) { o.Deterministic = true }, size(la.Options{Workers: 2, Deterministic: true}, engine.OpCholesky, 8192)},
	} {
		op, opt := engine.OpGemm, with
		if name == "deterministic" {
			op = engine.OpCholesky
		}
		if c.set(&opt); size(opt, op, 8192) != c.want {
			t.Errorf("%s: %d, want %d", name, size(opt, op, 8192), c.want)
		}
	}
}

func TestTileSizeOfOptions(t *testing.T) {
	p := new(versions.Profile)
	p.SetTileSize(engine.TuningKey[float64](engine.OpGemm), exec.Here(), 2, 1000, 256, 1e9)
	for _, c := range []struct {
		name       string
		opt        la.Options
		n, longest int
		nb         int // 0: whatever the default is
		direct     bool
	}{
		{"nb", la.Options{Workers: 2, NB: 100, Profile: p}, 1000, 1000, 100, false},
		{"nb of all", la.Options{Workers: 2, NB: 100}, 100, 100, 100, true},
		{"nb of less", la.Options{Workers: 2, NB: 100}, 101, 101, 100, false},
		{"direct", la.Options{Workers: 2, Direct: 1000, Profile: p}, 10, 1000, 1000, true},
		{"not direct", la.Options{Workers: 2, Direct: 1000, Profile: p}, 1000, 1001, 256, false},
		{"never direct", la.Options{Workers: 2, Direct: -1, NB: 7}, 5, 5, 7, false},
		{"small", la.Options{Workers: 2}, 100, 100, 100, true},
		// As many tiles as with the tuned size, and evenly.
		{"profile", la.Options{Workers: 2, Profile: p}, 1000, 1000, 256, false},
		{"near", la.Options{Workers: 2, Profile: p}, 1100, 1100, 224, false},
		{"far", la.Options{Workers: 2, Profile: p}, 4000, 4000, 0, false},
		{"other workers", la.Options{Workers: 3, Profile: p, Float: true}, 1000, 1000, 0, false},
		{"deterministic", la.Options{Workers: 2, Profile: p, Deterministic: true}, 1000, 1000, 0, false},
	} {
		e := start(t, c.opt)
		nb, direct := engine.TileSize[float64](e, engine.OpGemm, c.n, c.longest)
		if c.nb == 0 {
			opt := c.opt
			opt.Profile = nil
			c.nb, _ = engine.TileSize[float64](start(t, opt), engine.OpGemm, c.n, c.longest)
		}
		if nb != c.nb || direct != c.direct {
			t.Errorf("%s: %d, %v; want %d, %v", c.name, nb, direct, c.nb, c.direct)
		}
	}
}

// TestThinDirect: one kernel computes thin problems, unless the options say what is direct.
func TestThinDirect(t *testing.T) {
	usual, nb, never, upTo := la.Options{Workers: 2}, la.Options{Workers: 2, NB: 100}, la.Options{Workers: 2, Direct: -1}, la.Options{Workers: 2, Direct: 999}
	for _, c := range []struct {
		opt             la.Options
		m, n, k         int
		product, lu, qr bool
	}{
		{usual, 300, 100, 50, true, true, true},
		{usual, 1000, 100, 50, true, true, false},
		{usual, 100, 1000, 100, false, true, false}, // too many multiplications
		{usual, 1000, 1000, 4, true, false, false},
		{usual, 1800, 1800, 2, false, false, false}, // too much memory
		{usual, 10, 10, 1000, true, true, true},
		{usual, 10, 10, 100000, false, true, true},
		{usual, 400, 400, 400, false, false, false},
		{nb, 300, 10, 10, false, false, false},
		{never, 300, 10, 10, false, false, false},
		{upTo, 1000, 10, 10, false, false, false},
		{upTo, 999, 999, 999, true, true, true},
	} {
		e := start(t, c.opt)
		if _, direct := engine.ProductTileSize[float64](e, engine.OpGemm, engine.MeanOrder(c.m, c.n), c.m, c.n, c.k); direct != c.product {
			t.Errorf("%v: product %v", c, direct)
		}
		if direct := engine.FactorsDirect[float64](e, engine.OpLU, c.m, c.n); direct != c.lu {
			t.Errorf("%v: LU %v", c, direct)
		}
		if direct := engine.FactorsDirect[float64](e, engine.OpQR, c.m, c.n); direct != c.qr {
			t.Errorf("%v: QR %v", c, direct)
		}
	}
}

// With Deterministic, neither the tile size nor who computes depends on the
// number of workers.
func TestTileSizeDeterministic(t *testing.T) {
	var engines []*la.Engine
	for _, workers := range []int{1, 2, 5, 33} {
		engines = append(engines, start(t, la.Options{Workers: workers, Deterministic: true, Float: true}))
	}
	for _, op := range operations() {
		for n := 1; n < 10000; n += 1 + n/20 {
			want, one := engine.TileSize[float32](engines[0], op, n, n)
			for _, e := range engines[1:] {
				if nb, direct := engine.TileSize[float32](e, op, n, n); nb != want || direct != one {
					t.Fatalf("%v, n = %d: %d, %v with %d workers; %d, %v with one", op, n, nb, direct, len(e.Workers()), want, one)
				}
			}
		}
	}
}
