package cuda_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
)

// TestAcceleratorFragments: values that leave holes between them do not keep a
// call out whose operands fit.
func TestAcceleratorFragments(t *testing.T) {
	a, _ := newAccelerator(t, cuda.SimOptions{Memory: 4 << 20}, cuda.Options{Memory: 8 * 2048})
	defer closed(t, a, false)
	h := &host{t: t, a: a}
	var small []*matrix
	for i := range 8 {
		small = append(small, newMatrix(16, 16, 0, float64(i)))
	}
	big := newMatrix(96, 16, 0, 1) // six times as large
	nothing := &versions.Version{Name: "cuda", Run: func(*versions.Call) error { return nil }}
	for round := range 3 {
		for i := range small {
			h.launch((&mix{}).launch(1, small[(i+1)%8], small[i]), 1)
		}
		h.drain()
		l := (&mix{}).launch(1, small[1], small[5+round%2], big)
		l.Version = nothing
		if err := a.Fits(l.Call.Args, 0); err != nil {
			t.Fatal(err)
		}
		if err := a.Launch(l); err != nil {
			t.Fatal(err)
		}
		ended(a)
	}
	if a.Stats().Repacks == 0 {
		t.Error("the test does not make it repack")
	}
	if err := a.Flush(1); err != nil {
		t.Error(err)
	}
	for i, v := range append(small, big) {
		if err := v.check(); err != nil {
			t.Errorf("value %d: %v", i, err)
		}
	}
}

// TestAcceleratorLessMemory: a device with less memory than was promised serves
// with what it has, and says what does not fit.
func TestAcceleratorLessMemory(t *testing.T) {
	a, d := newAccelerator(t, cuda.SimOptions{Memory: 1<<20 + 5*2048}, cuda.Options{Memory: 64 << 20})
	defer closed(t, a, false)
	h := &host{t: t, a: a}
	values := []*matrix{newMatrix(16, 16, 0, 1), newMatrix(16, 16, 0, 2), newMatrix(16, 16, 0, 3)}
	for i := range 9 {
		h.launch((&mix{}).launch(1, values[i%3], values[(i+1)%3]), 2)
	}
	h.drain()
	if used := d.Stats().Used; used <= 1<<20 || used > 1<<20+5*2048 {
		t.Errorf("%d bytes are used", used)
	}
	var large *cuda.TooLargeError
	if err := a.Fits([]any{newMatrix(160, 160, 0, 1)}, 0); !errors.As(err, &large) {
		t.Error(err)
	}
	if err := a.Flush(1); err != nil {
		t.Error(err)
	}
	for _, v := range values {
		if err := v.check(); err != nil {
			t.Error(err)
		}
	}
}

// TestAcceleratorNoMemory: a device that others have filled executes nothing, and
// says so to the next call.
func TestAcceleratorNoMemory(t *testing.T) {
	for _, left := range []int64{1 << 18, 1<<20 + 1024} {
		a, d := newAccelerator(t, cuda.SimOptions{Memory: 4 << 20}, cuda.Options{})
		p, err := d.Alloc(4<<20 - left)
		if err != nil {
			t.Fatal(err)
		}
		x, y := newMatrix(16, 16, 0, 1), newMatrix(16, 16, 0, 2)
		if err := a.Fits([]any{x, y}, 0); err != nil {
			t.Error(err)
		}
		var full *cuda.OutOfMemoryError
		if err := a.Launch((&mix{}).launch(1, x, y)); !errors.As(err, &full) {
			t.Errorf("got %v", err)
		}
		var large *cuda.TooLargeError
		if err := a.Fits([]any{x, y}, 0); !errors.As(err, &large) {
			t.Errorf("%d left: got %v", left, err)
		}
		if err := d.Free(p); err != nil {
			t.Error(err)
		}
		closed(t, a, false)
	}
}

// TestAcceleratorLost: what only a lost device had is lost, until it is
// overwritten; what was written back before is not.
func TestAcceleratorLost(t *testing.T) {
	for _, through := range []bool{false, true} {
		a, d := newAccelerator(t, cuda.SimOptions{Memory: 4 << 20}, cuda.Options{Memory: 16 * 2048})
		h := &host{t: t, a: a, faults: true}
		x, y, z := newMatrix(16, 16, 0, 1), newMatrix(16, 16, 0, 2), newMatrix(16, 16, 0, 3)
		h.launch((&mix{}).launch(1, x, y), 1)
		h.drain()
		if through {
			if err := a.Fetch(y, versions.Reads); err != nil {
				t.Fatal(err)
			}
		}
		if through == (a.Back(y) > 0) || a.Back(x) != 0 {
			t.Errorf("through %v: back in %v", through, a.Back(y))
		}
		d.Lose()
		if err := a.Launch((&mix{}).launch(1, x, z)); err == nil {
			if l := ended(a); len(l) != 1 || l[0].Err == nil {
				t.Errorf("a call ends well on a lost device: %v", l)
			}
		}
		var lost *cuda.LostError
		var why *cuda.DeviceError
		if err := a.Lost(); !errors.As(err, &why) || !why.Lost {
			t.Errorf("lost: %v", err)
		}
		if err := a.Fits([]any{x}, 0); !errors.As(err, &why) {
			t.Error(err)
		}
		for range 2 { // it stays so
			err := a.Fetch(y, inout)
			if through != (err == nil) || err != nil && !errors.As(err, &lost) {
				t.Errorf("through %v: %v", through, err)
			}
		}
		if err := a.Fetch(x, inout); err != nil {
			t.Error(err)
		}
		if err := a.Fetch(z, versions.Reads); err != nil || z.check() != nil {
			t.Error(err, z.check())
		}
		if err := a.Fetch(y, versions.Writes); err != nil {
			t.Error(err)
		}
		if err := a.Fetch(y, versions.Reads); err != nil {
			t.Errorf("it is lost though it was overwritten: %v", err)
		}
		if err := a.Flush(1); err != nil {
			t.Error(err)
		}
		closed(t, a, false)
	}
}

// TestAcceleratorFetchMany: any number of goroutines may ask for values while
// calls read them.
func TestAcceleratorFetchMany(t *testing.T) {
	a, _ := newAccelerator(t, cuda.SimOptions{Memory: 4 << 20, Jitter: 20 * time.Microsecond}, cuda.Options{Memory: 6 * 2048})
	defer closed(t, a, false)
	h := &host{t: t, a: a}
	var shared []*matrix
	for i := range 5 {
		v := newMatrix(16, 16, 0, float64(i))
		shared = append(shared, v)
		h.launch((&mix{}).launch(1, newMatrix(16, 16, 0, 1), v), 2)
	}
	h.drain()
	var stop atomic.Bool
	var all sync.WaitGroup
	for g := range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := g; !stop.Load(); i++ {
				v := shared[i%len(shared)]
				if err := a.Fetch(v, versions.Reads); err != nil {
					t.Error(err)
				} else if err := v.check(); err != nil {
					t.Error(err)
				}
				a.Missing(v)
				a.Back(v)
				a.Bring(100)
				a.Stats()
				if g == 0 {
					a.Wake()
				}
				time.Sleep(50 * time.Microsecond)
			}
		}()
	}
	own := newMatrix(16, 16, 0, 9)
	for i := range 100 {
		h.launch((&mix{}).launch(2, shared[i%5], shared[(i+1)%5], own), 3)
	}
	h.drain()
	stop.Store(true)
	all.Wait()
	// The host may write what both jobs used after either's end.
	if err := a.Flush(1); err != nil {
		t.Error(err)
	}
	for _, v := range shared {
		if a.Missing(v) == 0 {
			t.Error("a value of a job that is over is still there")
		}
		if a.Back(v) > 0 {
			t.Error("a value was not written back")
		}
	}
	if err := a.Flush(2); err != nil {
		t.Error(err)
	}
	for _, v := range append(shared, own) {
		if a.Missing(v) == 0 || v.check() != nil {
			t.Error(a.Missing(v), v.check())
		}
	}
}

// TestAcceleratorBadVersion: a version that fails, panics or ends its goroutine
// when it has enqueued half of its work leaves the operands as they were.
func TestAcceleratorBadVersion(t *testing.T) {
	a, _ := newAccelerator(t, cuda.SimOptions{Memory: 4 << 20}, cuda.Options{Memory: 6 * 2048})
	defer closed(t, a, false)
	bad := errors.New("bad")
	for name, end := range map[string]func() error{
		"error": func() error { return bad },
		"panic": func() error { panic(bad) },
		"exit":  func() error { runtime.Goexit(); return nil },
	} {
		x, y := newMatrix(16, 16, 0, 1), newMatrix(16, 16, 0, 2)
		p := &mix{}
		l := p.launch(1, x, y)
		run := l.Version.Run
		l.Version.Run = func(c *versions.Call) error {
			if err := run(c); err != nil {
				t.Error(err)
			}
			return end()
		}
		over := make(chan any)
		go func() {
			var err error
			defer func() {
				if v := recover(); v != nil {
					over <- v
				} else {
					over <- err
				}
			}()
			err = a.Launch(l)
		}()
		if got := <-over; name == "exit" && got != nil || name != "exit" && got != bad {
			t.Errorf("%s: %v", name, got)
		}
		if got := a.Ended(nil, time.Millisecond); len(got) != 0 {
			t.Errorf("%s: it was not started, and ends", name)
		}
		h := &host{t: t, a: a}
		h.launch(p.launch(1, x, y), 1)
		h.drain()
		if err := a.Flush(1); err != nil {
			t.Error(err)
		}
		if err := y.check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The end of a call fails it, and what it wrote stands.
	x, y := newMatrix(16, 16, 0, 1), newMatrix(16, 16, 0, 2)
	for i, f := range []func() error{func() error { return bad }, func() error { panic(bad) }} {
		l := (&mix{}).launch(1, x, y)
		run := l.Version.Run
		l.Version.Run = func(c *versions.Call) error {
			c.Device.(*cuda.Queue).AtEnd(f)
			return run(c)
		}
		if err := a.Launch(l); err != nil {
			t.Fatal(err)
		}
		all := ended(a)
		if len(all) != 1 || all[0].Err == nil || !strings.Contains(all[0].Err.Error(), "bad") || l.Call.Device != nil {
			t.Errorf("end %d: %v", i, all)
		}
		(&mix{}).expect(l.Call.Args)
	}
	if err := a.Flush(1); err != nil {
		t.Error(err)
	}
	if err := y.check(); err != nil {
		t.Error(err)
	}
}

// TestAcceleratorPrefetch: what is asked for comes, and nothing goes for it that
// is used again and again; the times and the copies are told.
func TestAcceleratorPrefetch(t *testing.T) { synctest.Test(t, prefetch) }

func prefetch(t *testing.T) {
	a, _ := newAccelerator(t, cuda.SimOptions{Memory: 4 << 20, Bandwidth: 20e6}, cuda.Options{Memory: 4 * 2048})
	defer closed(t, a, false)
	var told atomic.Int64
	a.OnCopy(func(c versions.Copy) {
		if c.Bytes != 2048 || c.Took <= 0 || c.Begin.IsZero() || c.Job != 1 {
			t.Errorf("%+v", c)
		}
		told.Add(1)
	})
	h := &host{t: t, a: a}
	x, y := newMatrix(16, 16, 0, 1), newMatrix(16, 16, 0, 2)
	for range 4 {
		h.launch((&mix{}).launch(1, x, y), 1)
		h.drain()
	}
	var more []any
	for i := range 4 {
		more = append(more, newMatrix(16, 16, 0, float64(i)))
	}
	a.Prefetch(append(more, 7, newMatrix(0, 3, 0, 0), newMatrix(100, 100, 0, 0)), 1)
	if a.Missing(x) > 0 || a.Back(y) == 0 {
		t.Error("what is used went for what may be")
	}
	there := 0
	for _, v := range more {
		if a.Missing(v) == 0 {
			there++
		}
	}
	if there != 2 {
		t.Errorf("%d are there, want 2", there)
	}
	z := newMatrix(16, 16, 0, 5)
	l := (&mix{}).launch(1, more[0], more[1], z)
	h.launch(l, 1)
	h.drain()
	if l.Copied != 2048 {
		t.Errorf("%d bytes were copied for a call, want 2048", l.Copied)
	}
	if err := a.Flush(1); err != nil {
		t.Error(err)
	}
	if s := a.Stats(); told.Load() != s.Ins+s.Outs || s.Hits < 8 {
		t.Errorf("told of %d copies; %+v", told.Load(), s)
	}
	// 2048 bytes take 0.1 ms at least.
	if d := a.Bring(2048); d < 50*time.Microsecond || d > time.Second {
		t.Errorf("%v a copy", d)
	}
	a.OnCopy(nil)
}

// TestAcceleratorWake: a wait ends when it is told to, before or after it began.
func TestAcceleratorWake(t *testing.T) { synctest.Test(t, wake) }

func wake(t *testing.T) {
	a, _ := newAccelerator(t, cuda.SimOptions{}, cuda.Options{Memory: 2048})
	defer closed(t, a, false)
	for _, delay := range []time.Duration{0, 20 * time.Millisecond} {
		begin := time.Now()
		if delay == 0 {
			a.Wake()
		} else {
			time.AfterFunc(delay, a.Wake)
		}
		if l := a.Ended(nil, 10*time.Second); len(l) != 0 || time.Since(begin) != delay {
			t.Errorf("%v, after %v", l, time.Since(begin))
		}
	}
	begin := time.Now()
	if a.Ended(nil, 10*time.Millisecond); time.Since(begin) != 10*time.Millisecond {
		t.Error("an old call of Wake ends a wait")
	}
}

// blob is a value that is nothing but large.
type blob struct{ m versions.Memory }

func (b *blob) Memory() versions.Memory { return b.m }

// TestAcceleratorParts: memory that was allocated in parts becomes one where a call
// needs it.
func TestAcceleratorParts(t *testing.T) {
	a, d := newAccelerator(t, cuda.SimOptions{Memory: 100 << 20}, cuda.Options{Memory: 80 << 20})
	defer closed(t, a, false)
	data := make([]float64, 40<<20/8)
	values := make([]any, 3)
	for i, mib := range []int{40, 38, 2} {
		values[i] = &blob{versions.Memory{Data: unsafe.Pointer(unsafe.SliceData(data)), Rows: mib, Width: 1 << 20, Pitch: 1 << 20}}
	}
	nothing := &versions.Version{Name: "cuda", Run: func(*versions.Call) error { return nil }}
	launch := func(values ...any) {
		t.Helper()
		l := &versions.Launch{Call: versions.Call{Args: values}, Version: nothing, Job: 1}
		for range values {
			l.Uses = append(l.Uses, versions.Reads)
		}
		if err := a.Launch(l); err != nil {
			t.Fatal(err)
		}
		ended(a)
	}
	launch(values[2])
	if used := d.Stats().Used; used > 66<<20 {
		t.Errorf("%d bytes for a value of 2 MiB", used)
	}
	launch(values[0], values[2])
	launch(values[0], values[1], values[2])
	if s, used := a.Stats(), d.Stats().Used; s.Repacks != 1 || used > 81<<20 {
		t.Errorf("%d bytes are used, %+v", used, s)
	}
	launch(values[0], values[1], values[2])
	if s := a.Stats(); s.Repacks != 1 {
		t.Errorf("%+v", s)
	}
	if err := a.Flush(1); err != nil {
		t.Error(err)
	}
}

// TestAcceleratorFinished: in a product with room for everything, some of the
// result is back before it is asked for, and nothing is copied twice.
func TestAcceleratorFinished(t *testing.T) { synctest.Test(t, finished) }

func finished(t *testing.T) {
	a, _ := newAccelerator(t, cuda.SimOptions{Memory: 8 << 20}, cuda.Options{Memory: 4 << 20})
	defer closed(t, a, false)
	h := &host{t: t, a: a}
	const n = 6
	var x, y, z [n][n]*matrix
	for i := range n {
		for j := range n {
			x[i][j], y[i][j], z[i][j] = newMatrix(8, 8, 0, 1), newMatrix(8, 8, 0, 2), newMatrix(8, 8, 0, 3)
		}
	}
	for i := range n {
		for j := range n {
			for k := range n {
				h.launch((&mix{}).launch(1, x[i][k], y[k][j], z[i][j]), 4)
			}
		}
	}
	h.drain()
	// Each wait begins a copy, if none is under way, and in virtual time ends it.
	for range n {
		a.Ended(nil, time.Millisecond)
	}
	if s := a.Stats(); s.Early < n || s.Ins != 3*n*n {
		t.Errorf("%+v", s)
	}
	if err := a.Flush(1); err != nil {
		t.Error(err)
	}
	if s := a.Stats(); s.Outs != n*n {
		t.Errorf("%d values were copied back, want %d", s.Outs, n*n)
	}
	for i := range n {
		for j := range n {
			if err := z[i][j].check(); err != nil {
				t.Error(err)
			}
		}
	}
}

// note is a value that stays with the host.
type note struct {
	versions.Value
	says int
}

// TestAcceleratorHostValue: a call reads a value that stays with the host where it
// is, and writes it at its end.
func TestAcceleratorHostValue(t *testing.T) {
	a, d := newAccelerator(t, cuda.SimOptions{Memory: 4 << 20}, cuda.Options{Memory: 8 * 2048})
	defer closed(t, a, false)
	n, x := &note{says: 3}, newMatrix(2, 2, 0, 1)
	v := &versions.Version{Name: "cuda", Run: func(c *versions.Call) error {
		q := c.Device.(*cuda.Queue)
		if at, pitch := q.Operand(0); at != 0 || pitch != 0 {
			t.Errorf("the note is at %#x on the device, with pitch %d", at, pitch)
		}
		at, pitch := q.Operand(1)
		q.AtEnd(func() error { n.says++; return nil })
		return q.Stream().Fill(at+cuda.Ptr(pitch), byte(n.says), 8)
	}}
	l := &versions.Launch{Call: versions.Call{Ctx: context.Background(), Args: []any{n, x}}, Version: v,
		Uses: []versions.Use{versions.Reads | versions.Writes, versions.Reads | versions.Writes}}
	if err := errors.Join(a.Fits(l.Call.Args, 0), a.Launch(l)); err != nil {
		t.Fatal(err)
	}
	if all := ended(a); len(all) != 1 || l.Err != nil || n.says != 4 {
		t.Errorf("%d ended: %v; the note says %d", len(all), l.Err, n.says)
	}
	a.Prefetch([]any{n}, 0)
	if err := errors.Join(a.Fetch(n, versions.Reads), a.Flush(0)); err != nil {
		t.Error(err)
	}
	if got := math.Float64bits(x.data[2]); got != 0x0303030303030303 {
		t.Errorf("the result is %x", got)
	}
	if s := d.Stats(); a.Missing(n) != 0 || s.BytesIn != 4*8 {
		t.Errorf("%d bytes of the note are missing, %d were copied in", a.Missing(n), s.BytesIn)
	}
}
