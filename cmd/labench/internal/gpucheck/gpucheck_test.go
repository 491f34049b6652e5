package gpucheck

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"go.uber.org/goleak"
	"gonum.org/v1/gonum/blas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestApart: a product that is a little off, as in TF32, is found wrong, and so are
// a wrong triangle and an operand that is overwritten.
func TestApart(t *testing.T) {
	d, err := cuda.NewSimulated(cuda.SimOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := cuda.NewAccelerator(d, cuda.Options{Poison: true})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	s, gemm := &station{a: a}, kernels.For[float32](op.NewTable()).Op("gemm")
	p := &op.Gemm[float32]{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: 1, Beta: 1}
	for name, change := range map[string]func(c *versions.Call){
		"": func(*versions.Call) {},
		"precision": func(c *versions.Call) {
			p := *c.Params.(*op.Gemm[float32])
			p.Alpha += 0x1p-11
			c.Params = &p
		},
		"transpose": func(c *versions.Call) {
			p := *c.Params.(*op.Gemm[float32])
			p.TransA = blas.Trans
			c.Params = &p
		},
	} {
		v := *gemm.Version("cuda")
		run := v.Run
		v.Run = func(call *versions.Call) error {
			other := *call
			change(&other)
			return run(&other)
		}
		args := []any{square[float32](60, 60, false), square[float32](60, 60, false), square[float32](60, 60, false)}
		x, err := apart[float32](s, gemm, &v, p, args, []versions.Use{in, in, inout})
		if (err != nil) != (name != "") || x > 20 {
			t.Errorf("%q: apart %v, %v", name, x, err)
		}
	}
}

// TestBudget: without time everything is left out, and said so.
func TestBudget(t *testing.T) {
	r, err := Run(t.Context(), Options{Device: "sim", Budget: 1})
	if err != nil || r.Wrong() != "" || len(r.Copies)+len(r.Tiles)+len(r.Whole) > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	why := 0
	for _, s := range r.Skipped {
		if strings.HasPrefix(s.Why, "no time") {
			why++
		}
	}
	if why < 40 {
		t.Errorf("%d points left out: %+v", why, r.Skipped)
	}
}

func TestRunRefuses(t *testing.T) {
	var word *cuda.RequestError
	if _, err := Run(t.Context(), Options{Device: "gpu"}); !errors.As(err, &word) {
		t.Errorf("a word: %v", err)
	}
}

// TestFail: what becomes of the errors of points.
func TestFail(t *testing.T) {
	c := &check{ctx: t.Context(), end: time.Now().Add(time.Hour)}
	c.point("room", 0, func() error { return &cuda.OutOfMemoryError{Device: "cuda0", Want: 2, Free: 1} })
	c.point("panic", 0, func() error { panic("oh") })
	if len(c.report.Skipped) != 1 || len(c.report.Errors) != 1 || c.report.Errors[0].Error != "panic: oh" {
		t.Errorf("%+v", c.report)
	}
	c.point("lost", 0, func() error { return &cuda.DeviceError{Device: "cuda0", Lost: true} })
	c.point("after", 0, func() error { t.Error("goes on without a device"); return nil })
	if n := len(c.report.Skipped); n != 2 || c.report.Skipped[1].Why != "the device is lost" || len(c.report.Errors) != 2 || c.report.Wrong() == "" {
		t.Errorf("%+v", c.report)
	}
}
