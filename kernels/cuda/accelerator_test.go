package cuda_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
	"go.uber.org/goleak"
	"gonum.org/v1/gonum/blas"
)

// matrix is a value with padding between its rows.
type matrix struct {
	rows, cols, stride int
	data               []float64
	want               []float64 // what the rows hold according to the oracle
	unknown            bool      // a call that wrote it has failed: it may hold anything
}

const pad = -77

func newMatrix(rows, cols, padding int, x float64) *matrix {
	m := &matrix{rows: rows, cols: cols, stride: cols + padding, data: make([]float64, rows*(cols+padding)), want: make([]float64, rows*cols)}
	for i := range m.data {
		m.data[i] = pad
	}
	for i := range rows {
		for j := range cols {
			v := x + float64(i*cols+j)
			m.data[i*m.stride+j], m.want[i*cols+j] = v, v
		}
	}
	return m
}

func (m *matrix) Memory() versions.Memory {
	return versions.Memory{Data: unsafe.Pointer(unsafe.SliceData(m.data)), Rows: m.rows, Width: int64(m.cols) * 8, Pitch: int64(m.stride) * 8}
}

// check compares with the oracle.
func (m *matrix) check() error {
	for i := range m.rows {
		for j := range m.stride {
			x, want := m.data[i*m.stride+j], float64(pad)
			if j < m.cols {
				want = m.want[i*m.cols+j]
			}
			if x != want && !(j < m.cols && m.unknown) {
				return fmt.Errorf("element %d, %d is %g, want %g", i, j, x, want)
			}
		}
	}
	return nil
}

// mix is an operation: C = Σ A/2 + C/2 over the operands A before C, or without
// the second part if C is only written.
type mix struct{ fresh bool }

// expect has the oracle do it.
func (p *mix) expect(args []any) {
	c := args[len(args)-1].(*matrix)
	next := make([]float64, len(c.want))
	for i := range next {
		if !p.fresh {
			next[i] = c.want[i] / 2
		}
	}
	for _, a := range args[:len(args)-1] {
		for i, x := range a.(*matrix).want {
			next[i] = x/2 + next[i]
		}
	}
	c.want = next
}

// version does it on a device, by products with the unit matrix.
func (p *mix) version() *versions.Version {
	return &versions.Version{Name: "cuda", Constraints: versions.Constraints{Kind: "cuda"}, Run: func(call *versions.Call) error {
		q := call.Device.(*cuda.Queue)
		last := len(call.Args) - 1
		m := call.Args[last].(*matrix)
		unit := make([]float64, m.cols*m.cols)
		for i := range m.cols {
			unit[i*m.cols+i] = 1
		}
		e, err := q.Upload(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(unit))), 8*len(unit)))
		if err != nil {
			return err
		}
		info, host, err := q.Ints(2)
		if err != nil {
			return err
		}
		if err := q.Stream().Fill(info, 1, 4); err != nil {
			return err
		}
		q.AtEnd(func() error {
			if x := host(); x[0] != 0x01010101 || x[1] != 0 {
				return fmt.Errorf("integers %x", x)
			}
			return nil
		})
		view := func(i int) cuda.Matrix {
			at, pitch := q.Operand(i)
			return cuda.Matrix{Data: at, Ld: int(pitch / 8)}
		}
		beta := 0.5
		if p.fresh {
			beta = 0
		}
		for i := range last {
			// The transposes: rows are columns.
			if err := q.Stream().Gemm(cuda.F64, blas.NoTrans, blas.NoTrans, m.cols, m.rows, m.cols, 0.5,
				cuda.Matrix{Data: e, Ld: m.cols}, view(i), beta, view(last)); err != nil {
				return err
			}
			beta = 1
		}
		return nil
	}}
}

// launch returns a launch of p on args.
func (p *mix) launch(job uint64, args ...any) *versions.Launch {
	l := &versions.Launch{Call: versions.Call{Ctx: context.Background(), Args: args}, Version: p.version(), Job: job, Owner: p}
	for range args {
		l.Uses = append(l.Uses, versions.Reads)
	}
	l.Uses[len(args)-1] = versions.Writes
	if !p.fresh {
		l.Uses[len(args)-1] |= versions.Reads
	}
	return l
}

// newAccelerator returns one on a simulated device. It is closed at the end, which
// must go well.
func newAccelerator(t testing.TB, sim cuda.SimOptions, opt cuda.Options) (*cuda.Accelerator, *cuda.Simulated) {
	t.Helper()
	d, err := cuda.NewSimulated(sim)
	if err != nil {
		t.Fatal(err)
	}
	opt.Poison = true
	a, err := cuda.NewAccelerator(d, opt)
	if err != nil {
		if e := d.Close(); e != nil {
			t.Error(e)
		}
		var want *cuda.DeviceError
		if len(sim.Faults) > 0 && errors.As(err, &want) {
			return nil, nil
		}
		t.Fatal(err)
	}
	return a, d
}

func closed(t testing.TB, a *cuda.Accelerator, injected bool) {
	t.Helper()
	if err := a.Close(); err != nil && !injected {
		t.Error(err)
	}
	// In synctest.Test two others wait for this goroutine.
	goleak.VerifyNone(t, goleak.IgnoreAnyFunction("testing/synctest.Test"), goleak.IgnoreAnyFunction("testing/synctest.Test.func1"))
}

// ended waits until calls have ended, however slow the machine is.
func ended(a *cuda.Accelerator) (all []*versions.Launch) {
	for len(all) == 0 {
		all = a.Ended(nil, time.Second)
	}
	return all
}

// host is a stand-in for the runtime: it starts calls in the order of a program,
// each when those that it depends on have ended.
type host struct {
	t      testing.TB
	a      *cuda.Accelerator
	flying []*versions.Launch
	faults bool
	failed int
}

// uses reports whether l has to end before something else uses v so.
func uses(l *versions.Launch, v any, how versions.Use) bool {
	for i, x := range l.Call.Args {
		if x == v && (l.Uses[i]|how)&versions.Writes != 0 {
			return true
		}
	}
	return false
}

// await waits until v can be used. It has no limit of its own: if a call does not
// end the one of the tests does, and shows where all goroutines are.
func (h *host) await(v any, how versions.Use) {
	h.t.Helper()
	for {
		blocked := false
		for _, l := range h.flying {
			blocked = blocked || uses(l, v, how)
		}
		if !blocked {
			return
		}
		h.collect(time.Millisecond)
	}
}

func (h *host) collect(wait time.Duration) {
	h.t.Helper()
	for _, l := range h.a.Ended(nil, wait) {
		for i, f := range h.flying {
			if f == l {
				h.flying = append(h.flying[:i:i], h.flying[i+1:]...)
				break
			}
		}
		h.conclude(l, l.Err)
	}
}

func (h *host) conclude(l *versions.Launch, err error) {
	h.t.Helper()
	if err == nil {
		l.Owner.(*mix).expect(l.Call.Args)
		if l.Begin.IsZero() || l.Busy < 0 {
			h.t.Errorf("began %v, took %v", l.Begin, l.Busy)
		}
		known := true
		for i, x := range l.Call.Args {
			known = known && (l.Uses[i]&versions.Reads == 0 || !x.(*matrix).unknown)
		}
		c := l.Call.Args[len(l.Call.Args)-1].(*matrix)
		c.unknown = !known
		return
	}
	h.failed++
	var d *cuda.DeviceError
	var lost *cuda.LostError
	var full *cuda.OutOfMemoryError
	if !h.faults || !errors.As(err, &d) && !errors.As(err, &lost) && !errors.As(err, &full) {
		h.t.Errorf("a call failed: %v", err)
	}
	// The host has it as it was if only the host, or both, had it.
	if h.a.Lost() == nil && h.a.Back(l.Call.Args[len(l.Call.Args)-1]) > 0 {
		l.Call.Args[len(l.Call.Args)-1].(*matrix).unknown = true
	}
}

func (h *host) launch(l *versions.Launch, depth int) {
	h.t.Helper()
	for i, v := range l.Call.Args {
		h.await(v, l.Uses[i])
	}
	for len(h.flying) >= depth {
		h.collect(time.Millisecond)
	}
	if err := h.a.Launch(l); err != nil {
		h.conclude(l, err)
		return
	}
	h.flying = append(h.flying, l)
}

func (h *host) drain() {
	h.t.Helper()
	for len(h.flying) > 0 {
		h.collect(time.Millisecond)
	}
}

// fetch prepares v for a use by the host.
func (h *host) fetch(v *matrix, how versions.Use) bool {
	h.t.Helper()
	h.await(v, how)
	if err := h.a.Fetch(v, how); err != nil {
		var lost *cuda.LostError
		if !h.faults || !errors.As(err, &lost) {
			h.t.Errorf("a value does not come back: %v", err)
		}
		return false
	}
	if how&versions.Reads != 0 {
		if err := v.check(); err != nil {
			h.t.Errorf("fetched: %v", err)
		}
	}
	return true
}

// write has the host overwrite v.
func (v *matrix) write(x float64) {
	for i := range v.rows {
		for j := range v.cols {
			v.data[i*v.stride+j] = x
			v.want[i*v.cols+j] = x
		}
	}
	v.unknown = false
}

// program runs random calls and uses by the host.
func (h *host) program(rnd *rand.Rand, steps int, values []*matrix) {
	h.t.Helper()
	// Only values of the same size are operands of one call.
	for range steps {
		c := values[rnd.IntN(len(values))]
		args := []any{}
		for _, v := range values {
			if v != c && v.rows == c.rows && v.cols == c.cols && len(args) < 2 && rnd.IntN(3) > 0 {
				args = append(args, v)
			}
		}
		if len(args) == 0 {
			continue
		}
		rnd.Shuffle(len(args), func(i, j int) { args[i], args[j] = args[j], args[i] })
		switch k := rnd.IntN(12); k {
		case 0:
			h.fetch(c, versions.Reads)
		case 1:
			if h.fetch(c, versions.Writes) {
				c.write(float64(rnd.IntN(100)))
			}
		case 2:
			ok := true
			for _, v := range args {
				h.await(v, versions.Reads)
				ok = ok && h.a.Back(v) == 0
			}
			if ok {
				h.a.Prefetch(args, 1)
			}
		default:
			p := &mix{fresh: k == 3}
			h.launch(p.launch(1, append(args, c)...), 1+rnd.IntN(4))
		}
	}
	h.drain()
}

// matrices returns values of two sizes; those of the last are parts of a matrix
// with long rows.
func matrices(n int) (all []*matrix) {
	for i := range n {
		switch {
		case i%4 == 3:
			all = append(all, newMatrix(8, 8, 100, float64(i)))
		case i%4 == 2:
			all = append(all, newMatrix(12, 16, 3, float64(i)))
		default:
			all = append(all, newMatrix(16, 16, 0, float64(i)))
		}
	}
	return all
}

// TestAcceleratorRandom runs random programs with little memory.
func TestAcceleratorRandom(t *testing.T) {
	seeds := 60
	if testing.Short() {
		seeds = 15
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			room := int64(3+rnd.IntN(6)) * 16 * 16 * 8
			a, _ := newAccelerator(t,
				cuda.SimOptions{Memory: 4 << 20, Jitter: time.Duration(rnd.IntN(50)) * time.Microsecond, Seed: seed},
				cuda.Options{Memory: room, Streams: 1 + int(seed%3), Movers: 1 + rnd.IntN(3), Stage: int64(64 << rnd.IntN(8))})
			values := matrices(4 + rnd.IntN(16))
			h := &host{t: t, a: a}
			h.program(rnd, 150, values)
			if err := a.Flush(1); err != nil {
				t.Error(err)
			}
			for i, v := range values {
				if err := v.check(); err != nil {
					t.Errorf("value %d: %v", i, err)
				}
				if m := a.Missing(v); m != int64(v.rows*v.cols*8) || a.Back(v) != 0 {
					t.Errorf("value %d is on the device after Flush", i)
				}
			}
			s := a.Stats()
			if s.Launches == 0 || s.In == 0 || s.Out == 0 {
				t.Errorf("%+v", s)
			}
			closed(t, a, false)
		})
	}
}

// TestAcceleratorFaults has every call of the device fail in turn, with and
// without the loss of it. Nothing hangs, and what is not lost is right.
func TestAcceleratorFaults(t *testing.T) {
	step, last := 1, 500
	if testing.Short() {
		step = 7
	}
	whole := 0
	for n := 1; n < last; n += step {
		for _, f := range []cuda.Fault{{N: n}, {N: n, Lost: true}, {N: n, Late: true}} {
			rnd := rand.New(rand.NewPCG(uint64(n), 2))
			a, d := newAccelerator(t, cuda.SimOptions{Memory: 2 << 20, Faults: []cuda.Fault{f}},
				cuda.Options{Memory: 5 * 16 * 16 * 8, Streams: 1 + n%2, Movers: 1, Stage: 1 << 10})
			if a == nil {
				continue
			}
			h := &host{t: t, a: a, faults: true}
			values := matrices(9)
			h.program(rnd, 25, values)
			if a.Lost() == nil {
				whole++
			}
			var lost *cuda.LostError
			gone := 0
			for i, v := range values {
				err := a.Fetch(v, versions.Reads)
				if err != nil && !errors.As(err, &lost) {
					t.Errorf("%+v: value %d: %v", f, i, err)
				}
				if err != nil {
					gone++
				} else if err := v.check(); err != nil {
					t.Errorf("%+v: value %d: %v", f, i, err)
				}
			}
			if err := a.Flush(1); (err != nil) != (gone > 0) {
				t.Errorf("%+v: %d values are lost, Flush says %v", f, gone, err)
			}
			if gone > 0 && a.Lost() == nil {
				t.Errorf("%+v: values are lost and the device is not", f)
			}
			if err := a.Close(); err != nil && f.Lost {
				t.Errorf("%+v: %v", f, err)
			}
			_ = d
			if t.Failed() {
				t.Fatalf("%+v", f)
			}
		}
	}
	if whole == 0 {
		t.Error("the device was lost each time")
	}
	goleak.VerifyNone(t)
}

// TestAcceleratorRefuses: what can never fit, or cannot be copied, is refused, by
// Fits as by Launch; what fits exactly is not.
func TestAcceleratorRefuses(t *testing.T) {
	a, _ := newAccelerator(t, cuda.SimOptions{Memory: 2 << 20}, cuda.Options{Memory: 3 * 2048})
	defer closed(t, a, false)
	x, y, z, w := newMatrix(16, 16, 0, 1), newMatrix(16, 16, 0, 2), newMatrix(16, 16, 0, 3), newMatrix(16, 16, 0, 4)
	var large *cuda.TooLargeError
	if err := a.Fits([]any{x, y, z, w}, 0); !errors.As(err, &large) || large.Want != 4*2048 || large.Have != 3*2048 {
		t.Error(err)
	}
	if err := a.Fits([]any{x, y, z, x}, 0); err != nil {
		t.Error(err)
	}
	if err := a.Fits([]any{x, y}, 1<<20); !errors.As(err, &large) {
		t.Error(err)
	}
	p := &mix{}
	if err := a.Launch(p.launch(1, x, y, z, w)); !errors.As(err, &large) {
		t.Error(err)
	}
	var stored *cuda.NotStoredError
	if err := a.Fits([]any{x, 7}, 0); !errors.As(err, &stored) {
		t.Error(err)
	}
	if err := a.Launch(p.launch(1, 7, x)); !errors.As(err, &stored) {
		t.Error(err)
	}
	if _, err := cuda.NewAccelerator(nil, cuda.Options{Streams: -1}); err == nil {
		t.Error("a negative option passes")
	}
	h := &host{t: t, a: a}
	h.launch(p.launch(1, x, y, z), 1)
	h.drain()
	if err := a.Flush(1); err != nil {
		t.Error(err)
	}
	if err := z.check(); err != nil || math.IsNaN(z.data[0]) {
		t.Error(err)
	}
}
