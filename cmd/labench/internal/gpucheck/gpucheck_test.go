package gpucheck

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// onSimulated returns a station on a simulated device.
func onSimulated(t *testing.T) *station {
	t.Helper()
	d, err := cuda.NewSimulated(cuda.SimOptions{Memory: 32 << 20})
	if err != nil {
		t.Fatal(err)
	}
	a, err := cuda.NewAccelerator(d, cuda.Options{Memory: 16 << 20, Poison: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return &station{a: a}
}

// changed returns the version cuda of op with a parameter changed before it runs.
func changed(op *versions.Op, change func(call *versions.Call)) *versions.Version {
	v := *op.Version("cuda")
	run := v.Run
	v.Run = func(call *versions.Call) error {
		other := *call
		change(&other)
		return run(&other)
	}
	return &v
}

// TestVerifyFinds has versions that are wrong be found, and right ones pass.
func TestVerifyFinds(t *testing.T) {
	s, ops := onSimulated(t), kernels.For[float64](kernels.NewTable())
	for _, test := range []struct {
		name   string
		op     *versions.Op
		change func(call *versions.Call)
		want   string
	}{
		{"right", ops.Gemm, func(*versions.Call) {}, ""},
		{"precision", ops.Gemm, func(c *versions.Call) {
			p := *c.Params.(*kernels.Gemm)
			p.Alpha *= 1 + 1e-4 // as TF32 would
			c.Params = &p
		}, "scaled difference"},
		{"reads what it must not", ops.Gemm, func(c *versions.Call) {
			p := *c.Params.(*kernels.Gemm)
			p.Beta += 0x1p-60
			c.Params = &p
		}, "is NaN"},
		{"the other triangle", ops.Syrk, func(c *versions.Call) {
			p := *c.Params.(*kernels.Syrk)
			p.Uplo ^= 'L' ^ 'U'
			c.Params = &p
		}, "n="},
		{"minor", ops.Potrf, func(c *versions.Call) {
			p := *c.Params.(*kernels.Potrf)
			p.Offset++
			c.Params = &p
		}, "want that minor"},
		{"rows", ops.Laswp, func(c *versions.Call) {
			p := *c.Params.(*kernels.Laswp)
			p.Inverse = !p.Inverse
			c.Params = &p
		}, "want"},
		{"transpose", ops.Tsmqr, func(c *versions.Call) {
			p := *c.Params.(*kernels.Tsmqr)
			p.Trans ^= 'N' ^ 'T'
			c.Params = &p
		}, "scaled difference"},
	} {
		r := verify[float64](t.Context(), s, test.op, changed(test.op, test.change), 70)
		if r.Passed() != (test.want == "") || !strings.Contains(r.Failure, test.want) || r.Cases == 0 {
			t.Errorf("%s: %+v, want %q", test.name, r, test.want)
		}
	}
}

// TestLesserPrecision: products of factors that are rounded as TF32 has them, to
// eleven bits, are found wrong in all but tiny or trivial trials, long sums too.
func TestLesserPrecision(t *testing.T) {
	op := kernels.For[float32](kernels.NewTable()).Gemm
	trials, err := trialsOf[float32](rand.New(rand.NewPCG(1, 2)), "gemm", 500)
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range trials {
		x := trial.args[0].(*tile[float32])
		if x.Rows*x.Cols < 100 || trial.params.(*kernels.Gemm).Alpha == 0 || trial.bad != nil {
			continue
		}
		want, got := cloned[float32](trial.args), cloned[float32](trial.args)
		for _, a := range got[:2] {
			for p, v := range a.(*tile[float32]).Data {
				a.(*tile[float32]).Data[p] = math.Float32frombits((math.Float32bits(v) + 1<<12) &^ (1<<13 - 1))
			}
		}
		for _, args := range [][]any{want, got} {
			if err := factor[float32](op, trial.params, args...); err != nil {
				t.Fatal(err)
			}
		}
		copy(got, trial.args[:2])
		if ratio, err := trial.compare(want, got); err == nil {
			t.Errorf("%s: passes with %.3g", trial.what, ratio)
		}
	}
}

// TestCompare: what is not to be written stays as it was, NaN included.
func TestCompare(t *testing.T) {
	nan := math.NaN()
	trial := &trial[float64]{uses: []versions.Use{in, inout}, scale: 1, written: func(i, j int) bool { return i >= j },
		args: []any{&tile[float64]{Rows: 1, Cols: 1, Stride: 1, Data: []float64{nan}},
			&tile[float64]{Rows: 2, Cols: 2, Stride: 3, Data: []float64{1, nan, 7, 2, 3}}}}
	for p, wrong := range map[int]bool{-1: false, 0: true, 1: true, 2: true, 3: true, 4: true} {
		want, got := cloned[float64](trial.args), cloned[float64](trial.args)
		if p >= 0 {
			got[1].(*tile[float64]).Data[p] = 5
		}
		if _, err := trial.compare(want, got); (err != nil) != wrong {
			t.Errorf("element %d: %v", p, err)
		}
	}
	got := cloned[float64](trial.args)
	got[0].(*tile[float64]).Data[0] = 1
	if _, err := trial.compare(trial.args, got); err == nil {
		t.Error("an operand that is read only was written")
	}
}

// TestVerifyAll: there are trials for every op with a version cuda.
func TestVerifyAll(t *testing.T) {
	for _, op := range kernels.NewTable().All() {
		if op.Version("cuda") == nil {
			continue
		}
		if r := verify[float32](t.Context(), onSimulated(t), kernels.NewTable().Op(op.Name, "f32"), kernels.NewTable().Op(op.Name, "f32").Version("cuda"), 70); !r.Passed() {
			t.Errorf("%s: %s", op.OpName(), r.Failure)
		}
	}
}

func TestBars(t *testing.T) {
	measured := func() *Report {
		return &Report{
			Tiles:  []Tile{{Op: "gemm", Type: "f32", NB: 2048, Ratio: 0.5, Library: 1}, {Op: "gemm", Type: "f64", NB: 2048, GFLOPS: 96, Library: 100, Ratio: 0.96}},
			Copies: []Copies{{Memory: "pageable", In: 1, Out: 1}, {Memory: "pinned", In: 50, Out: 20}},
			Whole: []Whole{
				{Op: "gemm", Type: "f64", N: 16384, GPU: Speed{Seconds: 0.25, GFLOPS: 35000}, Both: Speed{Seconds: 0.2, GFLOPS: 43750}, Library: 50000, Resident: 40000},
				{Op: "cholesky", Type: "f64", N: 32768, GPU: Speed{Seconds: 1, GFLOPS: 30000}, Both: Speed{Seconds: 1, GFLOPS: 29100}, Library: 40000},
				{Op: "lu", Type: "f64", N: 4096, GPU: Speed{Seconds: 1, GFLOPS: 30000}},
			},
		}
	}
	outcomes := func(r *Report) string {
		var all []string
		for _, b := range Bars(r) {
			all = append(all, b.Outcome)
		}
		return strings.Join(all, ", ")
	}
	// 2·16384³ operations at 50 TFLOP/s take 0.176 s, of the 0.2 that ours take;
	// the copies in 0.086 s. Together 0.97 of the device alone is the worst.
	if got := outcomes(measured()); got != "met, met, not met, met, not met" {
		t.Errorf("got %s: %+v", got, Bars(measured()))
	}
	slow := measured()
	slow.Copies[1].In = 10 // 4.3 GB take 0.43 s: longer than ours did, at another time
	slow.Tiles[1].Ratio, slow.Whole[1].Library, slow.Whole[1].Both = 0.94, 45000, Speed{}
	if got := outcomes(slow); got != "not met, met, not met, not met, met" {
		t.Errorf("got %s: %+v", got, Bars(slow))
	}
	if got := outcomes(&Report{}); got != "not measured, not measured, not measured, not measured, not measured" {
		t.Errorf("nothing measured: %s", got)
	}
	for _, r := range []*Report{measured(), measured()} {
		r.Simulated, r.Small = r == nil, true
		for _, b := range Bars(r) {
			if b.Outcome != NotMeasured || b.Got != 0 {
				t.Errorf("small sizes: %+v", b)
			}
		}
	}
}

// TestBudget: without time everything is left out, and said so.
func TestBudget(t *testing.T) {
	r, err := Run(t.Context(), Options{Device: "sim", Budget: 1})
	if err != nil || !r.Passed() || len(r.Versions)+len(r.Copies)+len(r.Tiles)+len(r.Whole) > 0 {
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
	var one *RequestError
	if _, err := Run(t.Context(), Options{Device: "sim:2"}); !errors.As(err, &one) {
		t.Errorf("two devices: %v", err)
	}
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
	if n := len(c.report.Skipped); n != 2 || c.report.Skipped[1].Why != "the device is lost" || len(c.report.Errors) != 2 || c.report.Passed() {
		t.Errorf("%+v", c.report)
	}
}
