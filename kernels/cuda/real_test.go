//go:build cuda && linux

package cuda

import (
	"errors"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// The tests of this file run on the devices that are there: on NVIDIA's, or on
// those of the fake libraries if the environment leads to these, as TestFake
// does. They need nothing beside the test's program.

// devices opens all devices, or skips the test.
func devices(t *testing.T) []Device {
	t.Helper()
	all, err := Devices()
	if none := (*UnavailableError)(nil); errors.As(err, &none) && len(all) == 0 {
		t.Skipf("no device to test: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, d := range all {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return all
}

// device returns the first device, with a stream.
func device(t *testing.T) (Device, Stream) {
	t.Helper()
	d := devices(t)[0]
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	return d, s
}

// TestDeviceInfo prints what a device says of itself.
func TestDeviceInfo(t *testing.T) {
	for _, d := range devices(t) {
		i := d.Info()
		t.Logf("%d: %s, %d bytes; %q", i.Ordinal, i.Name, i.Memory, i.Notes)
		if i.Name == "" || i.Memory <= 0 || len(i.Notes) < 4 {
			t.Errorf("device %d says too little: %+v", i.Ordinal, i)
		}
	}
}

// TestDeviceRoutines holds the routines against their definitions.
func TestDeviceRoutines(t *testing.T) {
	d, s := device(t)
	t.Run("f32", func(t *testing.T) { bench[float32]{t, d, s, F32}.routines() })
	t.Run("f64", func(t *testing.T) { bench[float64]{t, d, s, F64}.routines() })
}

// TestDeviceVectors copies vectors so long that several blocks share one.
func TestDeviceVectors(t *testing.T) {
	d, s := device(t)
	const n, count = 40_001, 3
	rnd := rand.New(rand.NewPCG(3, 4))
	x := make([]float64, 2*n*count)
	for i := range x {
		x[i] = rnd.Float64()
	}
	p := upload(t, d, s, x)
	var pairs []uint64
	for i := range count {
		pairs = append(pairs, uint64(p)+uint64(8*n*i), uint64(p)+uint64(8*n*(2*count-1-i)))
	}
	if err := s.CopyVectors(F64, n, count, upload(t, d, s, pairs)); err != nil {
		t.Fatal(err)
	}
	got := make([]float64, len(x))
	download(t, s, got, p)
	for i := range x {
		v, j := i/n, i%n
		want := x[i]
		if v < count {
			want = x[(2*count-1-v)*n+j]
		}
		if got[i] != want {
			t.Fatalf("element %d of vector %d is %v, want %v", j, v, got[i], want)
		}
	}
}

// TestDeviceCopies copies rows of every kind there is in both directions.
func TestDeviceCopies(t *testing.T) {
	d, s := device(t)
	host, err := d.AllocHost(1 << 16)
	if err != nil {
		t.Fatal(err)
	}
	defer d.FreeHost(host)
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 30 {
		rows, width := rnd.IntN(9), int64(rnd.IntN(100))
		pitches := [4]int64{}
		for i := range pitches {
			pitches[i] = width + int64(rnd.IntN(2)*rnd.IntN(20))
		}
		a := upload(t, d, s, make([]byte, 1024*10))
		b := upload(t, d, s, make([]byte, 1024*10))
		src, dst := make([]byte, 1200), unsafe.Slice((*byte)(host), 1200)
		for i := range src {
			src[i], dst[i] = byte(rnd.Int()), 0xa5
		}
		for _, err := range []error{
			s.CopyIn(a, pitches[1], unsafe.Pointer(&src[0]), pitches[0], width, rows),
			s.Copy(b, pitches[2], a, pitches[1], width, rows),
			s.CopyOut(host, pitches[3], b, pitches[2], width, rows),
			s.Synchronize(),
			d.Free(a), d.Free(b),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for i := range dst {
			want := byte(0xa5)
			if pitches[3] > 0 {
				if r, c := int64(i)/pitches[3], int64(i)%pitches[3]; r < int64(rows) && c < width {
					want = src[r*pitches[0]+c]
				}
			}
			if dst[i] != want {
				t.Fatalf("%d rows of %d, %v apart: byte %d is %d, want %d", rows, width, pitches, i, dst[i], want)
			}
		}
	}
	if err := s.CopyIn(0, 1, host, 1, 2, 2); err == nil {
		t.Error("rows that overlap were copied")
	}
}

// TestDeviceEvents orders two streams by events.
func TestDeviceEvents(t *testing.T) {
	d, s := device(t)
	other, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	var events [2]Event
	for i := range events {
		if events[i], err = d.NewEvent(); err != nil {
			t.Fatal(err)
		}
		if done, err := events[i].Done(); !done || err != nil {
			t.Fatalf("an event never recorded: %v, %v", done, err)
		}
	}
	const n = 1 << 20
	x, got := make([]byte, n), make([]byte, n)
	p := upload(t, d, s, x)
	for round := range byte(20) {
		// What other reads must be what s has just written, and no more.
		for _, err := range []error{
			s.Wait(events[1]), s.Fill(p, round, n), s.Record(events[0]),
			other.Wait(events[0]), other.CopyOut(unsafe.Pointer(&got[0]), n, p, n, n, 1), other.Record(events[1]),
			s.Wait(events[1]), s.Fill(p, 0xff, n),
			events[1].Synchronize(),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for i, v := range got {
			if v != round {
				t.Fatalf("round %d: byte %d is %d", round, i, v)
			}
		}
	}
	if ms, err := events[1].Since(events[0]); ms < 0 || err != nil {
		t.Errorf("%v ms, %v", ms, err)
	}
	for _, e := range events {
		if done, err := e.Done(); !done || err != nil {
			t.Errorf("not done: %v", err)
		}
		if err := errors.Join(e.Close(), e.Close()); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(other.Close(), other.Close()); err != nil {
		t.Error(err)
	}
	if err := other.Fill(p, 0, 1); err == nil {
		t.Error("a closed stream took work")
	}
}

// TestDeviceOutOfMemory asks for more than there is, and for what is left.
func TestDeviceOutOfMemory(t *testing.T) {
	d, _ := device(t)
	_, err := d.Alloc(d.Info().Memory + 1)
	full := (*OutOfMemoryError)(nil)
	if !errors.As(err, &full) || full.Free <= 0 || full.Free > d.Info().Memory {
		t.Fatalf("got %v", err)
	}
	p, err := d.Alloc(1 << 20)
	if err != nil || p%256 != 0 {
		t.Fatalf("%#x, %v", p, err)
	}
	if _, err := d.Alloc(0); err == nil {
		t.Error("0 bytes were allocated")
	}
	if err, again := d.Free(p), d.Free(p); err != nil || again == nil {
		t.Errorf("freed twice: %v, %v", err, again)
	}
}

// TestDeviceClosed calls a device that has been closed.
func TestDeviceClosed(t *testing.T) {
	d, s := device(t)
	if _, err := d.Alloc(100); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	_, allocated := d.Alloc(1)
	_, streamed := d.NewStream()
	for _, err := range []error{allocated, streamed, s.Fill(0, 0, 1), s.Synchronize()} {
		if e := (*DeviceError)(nil); !errors.As(err, &e) || e.Lost {
			t.Errorf("got %v", err)
		}
	}
	if err := errors.Join(s.Close(), d.Close()); err != nil {
		t.Error(err)
	}
}
