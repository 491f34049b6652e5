package calibrate

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// How devices are measured.
const (
	deviceTiles = 3    // tile rows of a factorization, enough for each op to occur
	firstTile   = 64   // the tile size is doubled from here up to lastTile
	lastTile    = 2048 //
	longest     = 1.5  // seconds of a factorization; doubling the tile size makes it eight times as long
	queued      = 4    // tile rows of a product whose tasks wait for each other's launch
	copied      = 64   // number of copies of one size
)

// Devices measures accelerators, which must be idle otherwise. Of several devices with the same name and memory
// it measures the first only. If o.Sizes is nil, it doubles the tile size from 64 up to 2048, as long as a
// factorization of 3×3 tiles is expected to take less than 1.5 s.
func Devices(ctx context.Context, o Options, all []*cuda.Accelerator) (found []sim.Device, err error) {
	o = o.ensureDefaults()
	for _, a := range all {
		name, memory := a.Device().Info().Name, a.Target().Memory
		if i := slices.IndexFunc(found, func(d sim.Device) bool { return d.Name == name && d.Memory == memory }); i >= 0 {
			found[i].Count++
			continue
		}
		d := sim.Device{Name: name, Count: 1, Memory: memory}
		if err := link(ctx, &d, a); err != nil {
			return nil, err
		}
		c := &collector{device: true, all: map[key]*samples{}}
		for _, typ := range o.Types {
			run := onDevice[float64]
			if typ == "f32" {
				run = onDevice[float32]
			}
			if err := run(ctx, c, o, a); err != nil {
				return nil, err
			}
		}
		d.Speeds, d.Launch = c.speeds(), middle(c.gaps)
		found = append(found, d)
	}
	return found, nil
}

// onDevice runs programs on a device, and on cores where the device has no version, and collects the times of
// their tasks.
func onDevice[T la.Element](ctx context.Context, c *collector, o Options, a offload.Accelerator) (err error) {
	var there []versions.Pin
	for _, op := range op.NewTable().All() {
		if op.Version("cuda") != nil {
			there = append(there, versions.Pin{Op: op.OpName(), Version: "cuda"})
		}
	}
	selector, err := versions.NewSelector(versions.Config{Fixed: there})
	if err != nil {
		return err
	}
	// If the device started several tasks as one, their times would be mixed.
	s, err := newStand(exec.Options{Workers: o.Workers, Selector: selector, Accelerators: []offload.Accelerator{a}, Alone: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if o.Sizes != nil {
		for _, nb := range o.Sizes {
			if _, err := devicePrograms[T](ctx, c, o, s, nb); err != nil {
				return err
			}
		}
	} else {
		for nb, took := firstTile, 0.0; nb <= lastTile && took < longest/8; nb *= 2 {
			if took, err = devicePrograms[T](ctx, c, o, s, nb); err != nil {
				return err
			}
		}
	}
	// If tasks are short and wait, the time from one task to the next is that of a launch.
	return s.engine(firstTile, func(e *la.Engine) error {
		x := make([]T, queued*firstTile*queued*firstTile)
		g := la.General[T]{Rows: queued * firstTile, Cols: queued * firstTile, Stride: queued * firstTile, Data: x}
		y := g
		y.Data = make([]T, len(x))
		c.gaps = nil
		_, err := s.runs(c, o, program{nothing, func() error { return la.Gemm(ctx, e, blas.NoTrans, blas.NoTrans, 1, g, g, 0, y) }}, 1, false)
		return err
	})
}

// devicePrograms runs programs with tiles of nb×nb and returns the seconds of the longest.
func devicePrograms[T la.Element](ctx context.Context, c *collector, o Options, s *stand, nb int) (longest float64, err error) {
	return longest, s.engine(nb, func(e *la.Engine) error {
		programs, err := nearPrograms[T](ctx, e, nb, deviceTiles)
		if err != nil {
			return err
		}
		for _, p := range programs {
			took, err := s.runs(c, o, p, 1, false)
			if err != nil {
				return err
			}
			longest = max(longest, took)
		}
		return nil
	})
}

// link measures copies to a device and back, many at a time, as in real runs: through the accelerator's pinned
// memory.
func link(ctx context.Context, d *sim.Device, a *cuda.Accelerator) error {
	var in, out [2]float64
	for i, nb := range [2]int{1, largeTile} {
		var err error
		if in[i], out[i], err = copies(ctx, a, nb); err != nil {
			return err
		}
	}
	bytes := float64(8 * (largeTile*largeTile - 1))
	// On a busy machine copying one number may take as long as copying a tile. The latency then counts as zero.
	rate := func(x [2]float64) (latency, bandwidth float64) {
		if x[1] > 2*x[0] {
			return x[0], bytes / (x[1] - x[0])
		}
		return 0, bytes / x[1]
	}
	d.Latency, d.Bandwidth = rate(in)
	d.BackLatency, d.BackBandwidth = rate(out)
	return nil
}

// copies returns the seconds of a copy of an nb×nb tile to a device, and of one back. Many copies are requested
// at once. They take a quarter of the device's memory: with more it would write back early.
func copies(ctx context.Context, a *cuda.Accelerator, nb int) (in, out float64, err error) {
	n := int(min(max(a.Target().Memory/4/int64(8*nb*nb)-1, 1), copied))
	tiles := make([]any, n)
	for i := range tiles {
		tiles[i] = square(nb)
	}
	from := square(nb)
	version := op.NewTable().Op("lacpy", "f64").Version("cuda")
	defer func() { err = errors.Join(err, a.Flush(copyJob)) }()
	var ins, outs []float64
	for round := range 4 {
		if err := context.Cause(ctx); err != nil {
			return 0, 0, err
		}
		began := time.Now()
		a.Prefetch(tiles, copyJob)
		for _, t := range tiles {
			if err := a.Fetch(t, versions.Writes); err != nil { // waits for the copy
				return 0, 0, err
			}
		}
		took := time.Since(began).Seconds() / float64(n)
		for _, t := range tiles { // leave the only valid copy on the device
			l := &versions.Launch{Version: version, Job: copyJob, Uses: []versions.Use{versions.Reads, versions.Writes},
				Call: versions.Call{Ctx: ctx, Params: &op.Lacpy{Uplo: blas.All}, Args: []any{from, t}}}
			if err := a.Launch(l); err != nil {
				return 0, 0, err
			}
			for ended := []*versions.Launch(nil); len(ended) == 0; {
				ended = a.Ended(ended, time.Second)
			}
			if l.Err != nil {
				return 0, 0, l.Err
			}
		}
		began = time.Now()
		if err := a.Flush(copyJob); err != nil {
			return 0, 0, err
		}
		if round > 0 { // the first round allocates pinned memory
			ins, outs = append(ins, took), append(outs, time.Since(began).Seconds()/float64(n))
		}
	}
	return middle(ins), middle(outs), nil
}

// copyJob is a job number that no other job has.
const copyJob = 1 << 62

// square returns an nb×nb tile that has been written, so that the system has allocated its memory.
func square(nb int) *kernels.Tile[float64] {
	t := &kernels.Tile[float64]{Rows: nb, Cols: nb, Stride: nb, Data: make([]float64, nb*nb)}
	for i := range t.Data {
		t.Data[i] = 1
	}
	return t
}
