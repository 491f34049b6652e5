package bench

import (
	"context"
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/internal/quiet"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
)

// result returns the elements of what p has computed.
func result[T la.Element](p problem) (data []T, stride int) {
	switch p := p.(type) {
	case *gemm[T]:
		return p.c.Data, p.c.Stride
	case *syrk[T]:
		return p.c.Data, p.c.Stride
	case *trsm[T]:
		return p.x.Data, p.x.Stride
	}
	return nil, 0
}

// call does what a user's call does.
func call(p problem, e *la.Engine) error {
	once, err := p.on(e)
	if err == nil {
		err = once(context.Background())
	}
	return err
}

// TestWrongElement checks that one wrong element of the result is found,
// wherever it stands.
func TestWrongElement(t *testing.T) {
	each(t, func(t *testing.T, op, typ string) {
		switch op {
		case "gemm", "syrk", "trsm":
		default:
			return // the result is inside la; see TestWrongKernel
		}
		if typ == "f32" {
			wrongElement[float32](t, op)
		} else {
			wrongElement[float64](t, op)
		}
	})
}

func wrongElement[T la.Element](t *testing.T, op string) {
	const n = 70
	ctx := context.Background()
	e, err := la.NewEngine(la.Options{NB: 32, Direct: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, at := range [][2]int{{0, 0}, {n - 1, n - 1}, {n - 1, 0}, {31, 31}, {32, 31}, {50, 20}} {
		for _, wrong := range []T{T(math.NaN()), T(math.Inf(1)), 1e6} {
			p, _, err := newProblem[T](ctx, Spec{Problem: Problem{Op: op, N: n}}.WithDefaults(), 2)
			if err != nil {
				t.Fatal(err)
			}
			p.reset()
			if err := call(p, e); err != nil {
				t.Fatal(err)
			}
			data, stride := result[T](p)
			data[at[0]*stride+at[1]] += wrong
			v, err := p.verify(ctx, e, func(int, int) {})
			if err != nil {
				t.Fatal(err)
			}
			if v.failure == "" && v.residual < Limit(op) {
				t.Errorf("element %v wrong by %g: residual %g", at, wrong, v.residual)
			}
		}
	}
}

// TestWrongKernel checks that a fault is found that the kernels have both when
// they compute and when they verify: each leaves out the last term of every
// sum. The residual by tiles then does not see it.
func TestWrongKernel(t *testing.T) {
	ctx := context.Background()
	for _, name := range Ops() {
		table := op.NewTable()
		ops := kernels.For[float64](table)
		for _, o := range []*versions.Op{ops.Op("gemm"), ops.Op("syrk")} {
			right := o.Version("go").Run
			table.Add(o, versions.Version{Name: "wrong", Run: func(c *versions.Call) error {
				call := *c
				call.Args = append([]any(nil), c.Args...)
				shorten := func(i int, trans byte) {
					tile := *call.Args[i].(*kernels.Tile[float64])
					if trans == 'N' {
						tile.Cols--
					} else {
						tile.Rows--
					}
					call.Args[i] = &tile
				}
				switch p := c.Params.(type) {
				case *op.Gemm[float64]:
					shorten(0, byte(p.TransA))
					if p.TransB == 'N' {
						shorten(1, 'T')
					} else {
						shorten(1, 'N')
					}
				case *op.Syrk[float64]:
					shorten(0, byte(p.Trans))
				}
				return right(&call)
			}})
		}
		e, err := la.NewEngine(la.Options{NB: 32, Direct: -1, Table: table, Only: []string{"wrong"}})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		p, _, err := newProblem[float64](ctx, Spec{Problem: Problem{Op: name, N: 100}}.WithDefaults(), 2)
		if err != nil {
			t.Fatal(err)
		}
		p.reset()
		if err := call(p, e); err != nil {
			t.Fatal(err)
		}
		v, err := p.verify(ctx, e, func(int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range v.checks {
			v.residual = max(v.residual, c.Residual)
		}
		if v.residual < Limit(name) {
			t.Errorf("%s: residual %g", name, v.residual)
		}
		if (name == "gemm" || name == "syrk") && !strings.Contains(v.failure, "the element of the product in row 1, column 1 (counted from 1) is") {
			t.Errorf("%s: %q", name, v.failure)
		}
	}
}

// TestDot compares with exact arithmetic, on sums that cancel.
func TestDot(t *testing.T) {
	x := []float64{1e16, 1, -1e16, 0.1, 3}
	y := []float64{1, 0.3, 1, 0.1, 1e-20}
	exact := new(big.Float).SetPrec(2000)
	size := 0.0
	for i := range x {
		p := new(big.Float).SetPrec(2000).Mul(big.NewFloat(x[i]), big.NewFloat(y[i]))
		exact.Add(exact, p)
		size += math.Abs(x[i] * y[i])
	}
	want, _ := exact.Float64()
	got, magnitude := dot(x, func(l int) float64 { return y[l] })
	if got != want || magnitude != size {
		t.Errorf("%g and %g, want %g and %g", got, magnitude, want, size)
	}
}

func TestPlain(t *testing.T) {
	g := la.General[float32]{Rows: 3, Cols: 3, Stride: 4, Data: []float32{1, 2, 3, -1, 4, 5, 6, -1, 7, 8, 9}}
	y := []float64{1, 10, 100}
	for _, test := range []struct {
		a           plain[float32]
		left, right []float64
	}{
		{plain[float32]{General: g}, []float64{741, 852, 963}, []float64{321, 654, 987}},
		{plain[float32]{General: g, half: true, workers: 2}, []float64{741, 850, 900}, []float64{1, 54, 987}},
		{plain[float32]{General: g, half: true, mirror: true, workers: 9}, []float64{741, 854, 987}, nil},
	} {
		for i, v := range test.a.left(y) {
			if v != test.left[i] {
				t.Errorf("%+v: left %d is %g, want %g", test.a, i, v, test.left[i])
			}
		}
		if test.right == nil {
			continue
		}
		for i, v := range test.a.right(y) {
			if v != test.right[i] {
				t.Errorf("%+v: right %d is %g, want %g", test.a, i, v, test.right[i])
			}
		}
	}
}

func TestScales(t *testing.T) {
	if x := over(0, 0, 0); x != 0 {
		t.Error(x)
	}
	if x := over(1e-300, 1e-300, 1e-10); x != 1e10 {
		t.Error(x)
	}
	// Everything underflows: an error of the size of the smallest number for
	// each term is no fault.
	if x := productResidual[float64](100*math.SmallestNonzeroFloat64, 1e-290, 1e-290, 10, 10); !(x < 3) {
		t.Error(x)
	}
	if x := productResidual[float64](1e-13, 1, 1, 10, 2); math.Abs(float64(x)-1e-13*0x1p53/2) > 1 {
		t.Error(x)
	}
}

func TestJSON(t *testing.T) {
	r := Result{Op: "gemm", Type: "f64", M: 1, N: 2, K: 3, NB: 4, Workers: 5, Sched: "fifo", Versions: map[string]int{"gemm/go": 6},
		Seconds: []float64{7, 9}, Load: &quiet.Load{Seconds: 1, CPUs: 2, Others: 0.5}, Disturbed: true, SecondsBest: 7, SecondsMedian: 8, GFLOPSBest: 9, GFLOPSMedian: 10, PeakGFLOPS: 11, PeakFraction: 0.5, Residual: 0.25, Passed: true}
	want := `{"machine":"","commit":"","op":"gemm","type":"f64","m":1,"n":2,"k":3,"nb":4,"workers":5,"sched":"fifo","versions":{"gemm/go":6},` +
		`"seconds":[7,9],"seconds_best":7,"seconds_median":8,"gflops_best":9,"gflops_median":10,"peak_gflops":11,"peak_fraction":0.5,` +
		`"load":{"seconds":1,"cpus":2,"others":0.5,"steal":0},"spread":0,"disturbed":true,"residual":0.25,"passed":true}`
	got, err := json.Marshal(r)
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s\n%s", err, got, want)
	}
	var back Result
	if err := json.Unmarshal(got, &back); err != nil || back.Residual != 0.25 || back.PeakFraction != 0.5 || !back.Passed {
		t.Errorf("%+v, %v", back, err)
	}
	r.Residual, r.Passed = Number(math.NaN()), false
	got, err = json.Marshal(r)
	if err != nil || !strings.HasSuffix(string(got), `"disturbed":true,"residual":null,"passed":false}`) {
		t.Errorf("%v\n%s", err, got)
	}
}
