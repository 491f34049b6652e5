package peak

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels/cpu/native"
	"go.uber.org/goleak"
)

// quick is as short as a measurement can be; it is for plausibility only.
func quick() Options {
	return Options{Duration: 5 * time.Millisecond, Repeat: 2, Bytes: 8 << 20}
}

// plausible reports whether r can be a rate of a machine: somewhere between
// an emulator and a processor that does not exist. The machine may be busy
// with other work, so that all cores together may look slower than one, but
// not every time.
func plausible(r Rate) bool {
	return r.One > 1e-3 && r.One < 1e5 && r.All >= 0.5*r.One && r.All < 1e7 && r.Cores >= 1
}

// retry measures until the result is plausible, ten times at most.
func retry(t *testing.T, what string, measure func() (Rate, error)) {
	t.Helper()
	var r Rate
	for range 10 {
		var err error
		if r, err = measure(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if plausible(r) {
			t.Logf("%s: %.1f on one core, %.1f on %d (%v, pinned %v)", what, r.One, r.All, r.Cores, r.ISA, r.Pinned)
			return
		}
	}
	t.Errorf("%s: implausible: %+v", what, r)
}

func TestFMA(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, isa := range Available() {
		o := quick()
		o.ISA = isa
		retry(t, "float64 with "+isa.String(), func() (Rate, error) { return FMA[float64](t.Context(), o) })
		retry(t, "float32 with "+isa.String(), func() (Rate, error) { return FMA[float32](t.Context(), o) })
	}
}

func TestTriad(t *testing.T) {
	defer goleak.VerifyNone(t)
	retry(t, "memory", func() (Rate, error) { return Triad(t.Context(), quick()) })
}

func TestOneCore(t *testing.T) {
	o := quick()
	o.Cores = 1
	all := Available()
	for what, measure := range map[string]func(context.Context, Options) (Rate, error){"float64": FMA[float64], "float32": FMA[float32], "memory": Triad} {
		r, err := measure(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if r.One <= 0 || r.One != r.All || r.Cores != 1 {
			t.Errorf("%s: %+v", what, r)
		}
		if what != "memory" && r.ISA != all[len(all)-1] {
			t.Errorf("measured with %v, the best of %v", r.ISA, all)
		}
	}
}

func TestOversubscribed(t *testing.T) {
	o := quick()
	o.Machine = topo.Detect()
	o.Cores = 1000000
	r, err := FMA[float64](t.Context(), o)
	if err != nil || r.Cores != len(o.Machine.Allowed) {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestUnpinned measures on CPUs that do not exist: the rate still counts, but
// does not pretend to be pinned.
func TestUnpinned(t *testing.T) {
	o := quick()
	o.Machine = &topo.Machine{
		Allowed: topo.CPUSet{1 << 20},
		Cores:   []topo.Core{{CPUs: topo.CPUSet{1 << 20}}},
		Nodes:   []topo.Node{{CPUs: topo.CPUSet{1 << 20}}},
	}
	r, err := FMA[float64](t.Context(), o)
	if err != nil || r.One <= 0 || r.Pinned {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestCancel(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err := FMA[float64](ctx, Options{Duration: time.Hour})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := Triad(ctx, quick()); !errors.Is(err, context.Canceled) {
		t.Errorf("already cancelled: error %v", err)
	}
}

func TestValidate(t *testing.T) {
	o := Options{Duration: -1, Repeat: -1, Cores: -1, Bytes: -1, ISA: "abacus"}
	_, err := FMA[float64](t.Context(), o)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"Duration", "Repeat", "Cores", "Bytes", "abacus"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no word about %s in %v", want, err)
		}
	}
	if _, err := FMA[float32](t.Context(), Options{ISA: "abacus"}); err == nil {
		t.Error("FMA takes an unknown instruction set")
	}
}

func TestISA(t *testing.T) {
	if got, want := fmt.Sprintf("%v %v %v", Best, Go, ISA("avx2")), "best go avx2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	want := []ISA{Go}
	for _, set := range slices.Backward(native.Here()) {
		want = append(want, ISA(set.Name))
	}
	if all := Available(); !slices.Equal(all, want) {
		t.Errorf("available %v, want %v", all, want)
	}
}

func TestTriadValues(t *testing.T) {
	const n = 48
	_, add := triad()
	for name, f := range map[string]func(dst, x, y []float64, s float64){"portable": portableTriad, "chosen": add} {
		dst, x, y := make([]float64, n+1), make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = float64(i), float64(2*i+1)
		}
		dst[n] = math.Pi
		f(dst[:n], x, y, 0.5)
		for i, v := range dst[:n] {
			if want := float64(i) + 0.5*float64(2*i+1); v != want {
				t.Errorf("%s: element %d is %v, want %v", name, i, v, want)
			}
		}
		if dst[n] != math.Pi {
			t.Errorf("%s writes past the end", name)
		}
	}
}
