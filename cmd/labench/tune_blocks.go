package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/builtin"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// blockSizes is one measurement of a product with blocks of given sizes; 0 is
// what the version takes by itself.
type blockSizes struct {
	MC     int     `json:"mc"`
	KC     int     `json:"kc"`
	NC     int     `json:"nc"`
	GFLOPS float64 `json:"gflops"`
}

func (b blockSizes) blocks() builtin.Blocks { return builtin.Blocks{MC: b.MC, KC: b.KC, NC: b.NC} }

// tunedBlocks is the outcome for one type and order: a line of labench tune
// --blocks --json.
type tunedBlocks struct {
	Op       string       `json:"op"`
	Type     string       `json:"type"`
	N        int          `json:"n"`
	Version  string       `json:"version"`
	Best     blockSizes   `json:"best"`
	ByGFLOPS float64      `json:"default_gflops"`
	Complete bool         `json:"complete"` // the time sufficed
	Points   []blockSizes `json:"points"`
}

// blockMeter measures the rate of an n×n product on one core with blocks of
// given sizes, in GFLOP/s.
type blockMeter func(ctx context.Context, typ string, n int, b builtin.Blocks) (rate float64, err error)

// dimension is one of the three sizes, and those that are tried.
type dimension struct {
	name  string
	field func(b *blockSizes) *int
	sizes []int
}

// dimensions returns them in the order of the search: what KC is decides how
// much room there is for the others.
func dimensions() []dimension {
	return []dimension{
		{"KC", func(b *blockSizes) *int { return &b.KC }, []int{128, 192, 256, 320, 384, 448, 512, 640, 768}},
		{"MC", func(b *blockSizes) *int { return &b.MC }, []int{96, 144, 192, 240, 336, 432, 576, 768, 960}},
		{"NC", func(b *blockSizes) *int { return &b.NC }, []int{256, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144}},
	}
}

// tuneBlocks looks for the best sizes of one dimension after the other, with the
// best so far of the others. The default is given up only for what is more than
// a percent faster, twice.
func tuneBlocks(ctx context.Context, typ string, n int, end time.Time, measure blockMeter) (t tunedBlocks, err error) {
	t = tunedBlocks{Op: "gemm", Type: typ, N: n, Points: []blockSizes{}}
	try := func(b blockSizes) (float64, error) {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		rate, err := measure(ctx, typ, n, b.blocks())
		b.GFLOPS = rate
		t.Points = append(t.Points, b)
		return rate, err
	}
	if t.ByGFLOPS, err = try(blockSizes{}); err != nil {
		return t, err
	}
	t.Best.GFLOPS = t.ByGFLOPS
	for _, d := range dimensions() {
		for _, size := range d.sizes {
			if time.Now().After(end) {
				return t, nil
			}
			b := t.Best
			*d.field(&b) = size
			if b.GFLOPS, err = try(b); err != nil {
				return t, err
			}
			if b.GFLOPS < 1.01*t.Best.GFLOPS {
				continue
			}
			// What disturbed the others must not make this one the winner.
			old, err := try(t.Best)
			if err != nil {
				return t, err
			}
			again, err := try(b)
			if err != nil {
				return t, err
			}
			t.Best.GFLOPS, b.GFLOPS = max(t.Best.GFLOPS, old), max(b.GFLOPS, again)
			if t.Best.blocks() == (builtin.Blocks{}) {
				t.ByGFLOPS = t.Best.GFLOPS
			}
			if again >= 1.01*old {
				t.Best = b
			}
		}
	}
	t.Complete = true
	return t, nil
}

// report returns the points and what follows from them.
func (t *tunedBlocks) report(p paint) string {
	b := new(strings.Builder)
	fmt.Fprintf(b, "\n%s\n", p.bold(fmt.Sprintf("gemm %s, n = %d, version %s, one core", t.Type, t.N, t.Version)))
	fmt.Fprintf(b, "%6s %6s %6s %8s\n", "MC", "KC", "NC", "GFLOP/s")
	size := func(n int) string {
		if n == 0 {
			return "-"
		}
		return fmt.Sprint(n)
	}
	for _, q := range t.Points {
		fmt.Fprintf(b, "%6s %6s %6s %8.1f\n", size(q.MC), size(q.KC), size(q.NC), q.GFLOPS)
	}
	text := "the sizes that follow from the caches stay: nothing is more than 1 % faster"
	if t.Best.blocks() != (builtin.Blocks{}) {
		text = fmt.Sprintf("MC %s, KC %s, NC %s: %.1f %% faster than what follows from the caches", size(t.Best.MC), size(t.Best.KC), size(t.Best.NC),
			100*(t.Best.GFLOPS/t.ByGFLOPS-1))
	}
	if !t.Complete {
		text += "; not finished: give more time with --budget"
	}
	b.WriteString(wrapped("", text))
	return b.String()
}

// runTuneBlocks tunes the blocks of the product, type by type and order by
// order.
func (a *app) runTuneBlocks(ctx context.Context, f *tuneFlags, p *tunePlan, measure blockMeter, version string) error {
	if version == "" {
		return errors.New("this machine and build have no version with blocks to tune: they are those of the assembly, avx512 and avx2")
	}
	if !f.json {
		fprintWrapped(a.out, "", "A - is what follows from the caches. Nothing is saved: programs set blocks by builtin.TableOptions and la.Options.Table.")
	}
	line := newStatus(a.err)
	defer line.clear()
	type problem struct {
		typ string
		n   int
	}
	var all []problem
	for _, s := range p.problems {
		all = append(all, problem{s.Type, s.N})
	}
	all = uniq(all)
	end := time.Now().Add(p.budget)
	for i, q := range all {
		line.set("%d/%d  gemm %s, n = %d …", i+1, len(all), q.typ, q.n)
		share := time.Until(end) / time.Duration(len(all)-i)
		t, err := tuneBlocks(ctx, q.typ, q.n, time.Now().Add(share), measure)
		line.clear()
		if err != nil {
			return err
		}
		t.Version = version
		if f.json {
			err = a.object(t)
		} else {
			_, err = fmt.Fprint(a.out, t.report(newPaint(a.out)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// blockVersion returns the version whose blocks are tuned: the first of the
// assembly's that runs here, or "".
func blockVersion() string {
	for _, v := range builtin.NewTable().Op("gemm", "f64").Versions {
		if (v.Name == "avx512" || v.Name == "avx2") && v.Constraints.Unmet(exec.Here()) == "" {
			return v.Name
		}
	}
	return ""
}

// measureBlocks is the blockMeter of this machine.
func measureBlocks(version string) blockMeter {
	return func(_ context.Context, typ string, n int, b builtin.Blocks) (float64, error) {
		both := builtin.TypeBlocks{F32: b, F64: b}
		table, err := builtin.NewTableWith(builtin.TableOptions{AVX512: both, AVX2: both})
		if err != nil {
			return 0, err
		}
		v := table.Op("gemm", typ).Version(version)
		if typ == "f32" {
			return productRate[float32](v, n)
		}
		return productRate[float64](v, n)
	}
}

// productRate returns the best rate of a version of gemm on n×n tiles, of runs
// that take a twentieth of a second together, and of at least three.
func productRate[T la.Element](v *versions.Version, n int) (float64, error) {
	var tiles [3]*kernels.Tile[T]
	for i := range tiles {
		tiles[i] = &kernels.Tile[T]{Rows: n, Cols: n, Stride: n, Data: make([]T, n*n)}
		if err := matgen.Generate(matgen.Spec{Kind: matgen.Random, M: n, N: n, Seed: uint64(i)}, tiles[i].Data, n); err != nil {
			return 0, err
		}
	}
	call := &versions.Call{Ctx: context.Background(), Params: &kernels.Gemm{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: -1, Beta: 1},
		Args: []any{tiles[0], tiles[1], tiles[2]}, Work: new(versions.Workspace)}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var best, all time.Duration
	for i := 0; i < 4 || all < 50*time.Millisecond; i++ {
		begin := time.Now()
		if err := v.Run(call); err != nil {
			return 0, err
		}
		took := max(time.Since(begin), 1)
		if all += took; i == 1 || i > 1 && took < best { // the first one maps the scratch
			best = took
		}
	}
	return 2 * float64(n) * float64(n) * float64(n) / best.Seconds() / 1e9, nil
}
