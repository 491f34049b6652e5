package cuda

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"go.uber.org/goleak"
)

// simulated returns a device with a stream, which must not have been misused
// when the test ends.
func simulated(t *testing.T, opt SimOptions) (*Simulated, Stream) {
	t.Helper()
	others := goleak.IgnoreCurrent() // in synctest.Test some wait for this one
	d := newSim(t, opt)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("misuse: %v", err)
		}
		goleak.VerifyNone(t, others)
	})
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	return d, s
}

func newSim(t *testing.T, opt SimOptions) *Simulated {
	t.Helper()
	d, err := NewSimulated(opt)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// upload returns a copy of x on the device.
func upload[T any](t *testing.T, d Device, s Stream, x []T) Ptr {
	t.Helper()
	n := int64(len(x)) * int64(unsafe.Sizeof(x[0]))
	p, err := d.Alloc(n)
	if err == nil {
		err = s.CopyIn(p, n, unsafe.Pointer(&x[0]), n, n, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// download copies len(x) elements at p to x.
func download[T any](t *testing.T, s Stream, x []T, p Ptr) {
	t.Helper()
	n := int64(len(x)) * int64(unsafe.Sizeof(x[0]))
	if err := s.CopyOut(unsafe.Pointer(&x[0]), n, p, n, n, 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Synchronize(); err != nil {
		t.Fatal(err)
	}
}

func lost(err error) bool {
	var de *DeviceError
	return errors.As(err, &de) && de.Lost
}

func TestSimCopies(t *testing.T) {
	d, s := simulated(t, SimOptions{})
	x := make([]float64, 7*5)
	for i := range x {
		x[i] = rand.Float64()
	}
	// 4 rows of 3 elements, 5 apart, to a pitch of 6, from there to one of 3, and
	// back to one of 7.
	p, _ := d.Alloc(6 * 4 * 8)
	q, _ := d.Alloc(4 * 3 * 8)
	y := make([]float64, 7*4)
	err := errors.Join(
		s.CopyIn(p, 6*8, unsafe.Pointer(&x[1]), 5*8, 3*8, 4),
		s.Copy(q, 3*8, p, 6*8, 3*8, 4),
		s.CopyOut(unsafe.Pointer(&y[0]), 7*8, q, 3*8, 3*8, 4),
		s.Synchronize())
	if err != nil {
		t.Fatal(err)
	}
	for i := range y {
		want := 0.0
		if i%7 < 3 {
			want = x[1+i/7*5+i%7]
		}
		if y[i] != want {
			t.Errorf("element %d is %v, want %v", i, y[i], want)
		}
	}
	all := make([]float64, 6*4)
	download(t, s, all, p)
	for i, v := range all {
		if (i%6 < 3) != (v == v) {
			t.Errorf("element %d of fresh memory is %v", i, v)
		}
	}
	s.Fill(p, 0, 2*8)
	download(t, s, all, p)
	if all[0] != 0 || all[1] != 0 || all[2] == 0 {
		t.Errorf("filled two elements: %v", all[:3])
	}
	st := d.Stats()
	if st.BytesIn != 96 || st.BytesOut != 96+2*192 || st.Calls["CopyOut"] != 3 {
		t.Errorf("%+v", st)
	}
}

func TestSimMemoryIsBounded(t *testing.T) {
	d, _ := simulated(t, SimOptions{Memory: 1024})
	a, err := d.Alloc(300)
	if err != nil || a%grain != 0 {
		t.Fatalf("%#x, %v", a, err)
	}
	_, err = d.Alloc(513)
	var oom *OutOfMemoryError
	if !errors.As(err, &oom) || *oom != (OutOfMemoryError{"sim0", 513, 512}) {
		t.Fatalf("error %v", err)
	}
	b, err := d.Alloc(512)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Free(a), d.Free(b)); err != nil {
		t.Fatal(err)
	}
	if st := d.Stats(); st.Used != 0 || st.Peak != 1024 {
		t.Errorf("%+v", st)
	}
	if c, err := d.Alloc(1024); err != nil || c == a || c == b {
		t.Errorf("%#x after %#x and %#x were freed: %v", c, a, b, err)
	}
}

func TestSimMisuse(t *testing.T) {
	x := make([]float64, 64)
	host := unsafe.Pointer(&x[0])
	for name, f := range map[string]func(d *Simulated, s Stream, p Ptr) error{
		"freed before": func(d *Simulated, _ Stream, p Ptr) error { d.Free(p); return d.Free(p) },
		"no address":   func(d *Simulated, _ Stream, p Ptr) error { return d.Free(p + 8) },
		"beyond the end": func(_ *Simulated, s Stream, p Ptr) error {
			s.CopyIn(p+8, 64, host, 64, 64, 1)
			return s.Synchronize()
		},
		"no allocation has it": func(_ *Simulated, s Stream, p Ptr) error {
			s.CopyOut(host, 64, p+64, 64, 64, 1)
			return s.Synchronize()
		},
		"was freed": func(d *Simulated, s Stream, p Ptr) error {
			d.Free(p)
			s.Fill(p, 0, 8)
			return s.Synchronize()
		},
		"misaligned": func(_ *Simulated, s Stream, p Ptr) error {
			m := Matrix{p + 4, 2}
			s.Geam(F64, 2, 2, 1, m, 1, m, m)
			return s.Synchronize()
		},
		"leading dimension 2": func(_ *Simulated, s Stream, p Ptr) error {
			m := Matrix{p, 2}
			return s.Geam(F64, 3, 2, 1, m, 1, m, m)
		},
		"bad transpose": func(_ *Simulated, s Stream, p Ptr) error {
			m := Matrix{p, 2}
			return s.Gemm(F64, 'C', 'N', 2, 2, 2, 1, m, m, 1, m)
		},
		"element type":              func(_ *Simulated, s Stream, p Ptr) error { return s.CopyVectors(7, 1, 1, p) },
		"stream is clo":             func(_ *Simulated, s Stream, p Ptr) error { s.Close(); return s.Fill(p, 0, 8) },
		"no address that AllocHost": func(d *Simulated, _ Stream, _ Ptr) error { return d.FreeHost(host) },
		"bytes":                     func(d *Simulated, _ Stream, _ Ptr) error { _, err := d.AllocHost(-1); return err },
		"another device": func(_ *Simulated, s Stream, _ Ptr) error {
			e, _ := newSim(t, SimOptions{}).NewEvent()
			return s.Wait(e)
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			d := newSim(t, SimOptions{})
			s, _ := d.NewStream()
			p, _ := d.Alloc(64)
			err := f(d, s, p)
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("error %v", err)
			}
			if err := d.Close(); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("Close: %v", err)
			}
		})
	}
}

func TestSimPinned(t *testing.T) {
	d, _ := simulated(t, SimOptions{})
	p, err := d.AllocHost(50)
	if n := d.Stats().Pinned; err != nil || n != 50 {
		t.Errorf("%d bytes are pinned, %v", n, err)
	}
	if err := d.FreeHost(p); err != nil || d.Stats().Pinned != 0 {
		t.Errorf("%+v, %v", d.Stats(), err)
	}
}

// TestSimEvents: what waits for an event comes after it, though it was enqueued
// on another stream, and though the event is recorded again.
func TestSimEvents(t *testing.T) { synctest.Test(t, simEvents) }

func simEvents(t *testing.T) {
	const delay = 30 * time.Millisecond
	d, s := simulated(t, SimOptions{Launch: delay})
	u, _ := d.NewStream()
	before, _ := d.NewEvent()
	after, _ := d.NewEvent()
	if done, err := before.Done(); !done || err != nil {
		t.Errorf("an event that was never recorded: %v, %v", done, err)
	}
	p := upload(t, d, s, make([]byte, 8))
	s.Record(before)
	s.Fill(p, 1, 8)
	s.Record(after)
	u.Wait(after)
	u.Fill(p, 2, 8)
	u.Record(after)
	if done, err := after.Done(); done || err != nil {
		t.Errorf("an event that cannot be reached: %v, %v", done, err)
	}
	if err := after.Synchronize(); err != nil {
		t.Fatal(err)
	}
	if ms, err := after.Since(before); err != nil || ms < 2*30-1 {
		t.Errorf("two routines of 30 ms took %v ms, %v", ms, err)
	}
	x := make([]byte, 8)
	download(t, u, x, p)
	if x[0] != 2 {
		t.Errorf("%v", x)
	}
}

// TestSimTime: copies of one direction queue, those of both do not.
func TestSimTime(t *testing.T) { synctest.Test(t, simTime) }

func simTime(t *testing.T) {
	const each = 100 * time.Millisecond
	d, s := simulated(t, SimOptions{Bandwidth: 1e4, Latency: time.Microsecond})
	u, _ := d.NewStream()
	x, y := make([]byte, 1000), make([]byte, 1000)
	p, _ := d.Alloc(1000)
	q, _ := d.Alloc(1000)
	in := func(s Stream, p Ptr, x []byte) { s.CopyIn(p, 1000, unsafe.Pointer(&x[0]), 1000, 1000, 1) }
	begin := time.Now()
	in(s, p, x)
	in(u, q, y)
	s.Synchronize()
	u.Synchronize()
	if took := time.Since(begin); took < 2*each {
		t.Errorf("two copies of 100 ms in one direction took %v", took)
	}
	begin = time.Now()
	in(s, p, x)
	u.CopyOut(unsafe.Pointer(&y[0]), 1000, q, 1000, 1000, 1)
	s.Synchronize()
	u.Synchronize()
	if took := time.Since(begin); took < each || took > 2*each-each/10 {
		t.Errorf("copies of 100 ms in both directions took %v", took)
	}
}

// TestSimInFlight: the destination of a copy is NaN until it has arrived, and
// that of a routine until it has ended.
func TestSimInFlight(t *testing.T) { synctest.Test(t, simInFlight) }

func simInFlight(t *testing.T) {
	d, s := simulated(t, SimOptions{Bandwidth: 8 * 10})
	x := make([]float64, 8)
	p := upload(t, d, s, x)
	if err := s.Synchronize(); err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	s.(*simStream).enqueue("Fill", func() *DeviceError { close(begun); return nil })
	s.CopyOut(unsafe.Pointer(&x[0]), 64, p, 64, 64, 1)
	<-begun
	time.Sleep(100 * time.Millisecond)
	if seen := loadUnwatched(&x[7]); seen == seen {
		t.Errorf("%v while a copy to it was under way", seen)
	}
	if err := s.Synchronize(); err != nil || x[7] != 0 {
		t.Errorf("%v, %v", x, err)
	}
	// A triangle only, so that others may read the rest meanwhile.
	c := view[float64]{m: 2, n: 2, ld: 3, uplo: 'L', data: []float64{1, 2, 3, 4, 5}}
	output(s.(*simStream), 0, c, c, 0, func(got, _ []float64) {
		if c.data[0] == c.data[0] || c.data[1] == c.data[1] || c.data[4] == c.data[4] || c.data[2] != 3 || c.data[3] != 4 {
			t.Errorf("%v while a routine writes the lower triangle", c.data)
		}
		if got[0] != 1 || got[1] != 2 || got[4] != 5 {
			t.Errorf("it works on %v", got)
		}
		got[1] = 7
	})
	if c.data[1] != 7 || c.data[2] != 3 || c.data[3] != 4 {
		t.Errorf("%v", c.data)
	}
}

// loadUnwatched loads what is being written, which the race detector must not see.
//
//go:norace
func loadUnwatched(x *float64) float64 { return *x }

func TestSimFaults(t *testing.T) {
	run := func(f Fault) (errs [4]error) {
		d := newSim(t, SimOptions{Faults: []Fault{f}})
		defer d.Close()
		s, _ := d.NewStream()
		p, err := d.Alloc(8)
		if err != nil {
			t.Fatal(err)
		}
		e, _ := d.NewEvent()
		errs[0] = s.Fill(p, 0, 8)
		errs[1] = s.Fill(p, 1, 8)
		s.Record(e)
		errs[2] = e.Synchronize()
		_, errs[3] = d.Alloc(8)
		return errs
	}
	errs := run(Fault{Op: "Fill", N: 2})
	var de *DeviceError
	if errs[0] != nil || !errors.As(errs[1], &de) || de.Lost || de.Op != "Fill" || de.Stream != "1" || errs[2] != nil || errs[3] != nil {
		t.Errorf("the second call fails: %v", errs)
	}
	errs = run(Fault{Op: "Fill", N: 2, Lost: true})
	if errs[0] != nil || !lost(errs[1]) || !lost(errs[2]) || !lost(errs[3]) {
		t.Errorf("the device is lost at the second call: %v", errs)
	}
	errs = run(Fault{Op: "Fill", N: 2, Late: true})
	if errs[0] != nil || errs[1] != nil || !lost(errs[2]) || !lost(errs[3]) || !strings.Contains(errs[2].Error(), "Fill") {
		t.Errorf("the device is lost by the second call: %v", errs)
	}
	errs = run(Fault{N: 4})
	if errs[0] == nil || errs[1] != nil || errs[2] != nil {
		t.Errorf("the fourth call of any kind fails: %v", errs)
	}
	d, s := simulated(t, SimOptions{})
	d.Lose()
	if _, err := d.NewStream(); !lost(err) || !lost(s.Synchronize()) {
		t.Errorf("lost on demand: %v", err)
	}
}

func TestSimOptionsValidate(t *testing.T) {
	_, err := NewSimulated(SimOptions{Ordinal: -1, Memory: -1, Rate: math.NaN(), Bandwidth: -1, Latency: -1, Launch: -1, Jitter: -1,
		Faults: []Fault{{Op: "Gem", N: 1}, {}}})
	for _, want := range []string{"Ordinal", "Memory", "Rate", "Bandwidth", "Latency", "Launch", "Jitter", `Op is "Gem"`, "Faults[1].N is 0"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	d, _ := simulated(t, SimOptions{Ordinal: 3, Jitter: time.Microsecond})
	if i := d.Info(); i.Ordinal != 3 || i.Memory != 1<<30 || i.Name == "" || len(i.Notes) == 0 {
		t.Errorf("%+v", i)
	}
}
