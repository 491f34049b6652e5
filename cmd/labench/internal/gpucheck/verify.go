package gpucheck

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// limit is what a scaled difference must be below:
//
//	‖X − Y‖ / (ε·scale), in the Frobenius norm,
//
// X being the device's result and Y the CPU's, and scale the size of what is
// added up, or a little more. The roundings of a sum of k products leave about
// 1/√k of that, and products in a lesser precision, which some modes of cuBLAS
// allow, more than the limit: TF32 some 5000/√k.
const limit = 30

// trial is a call that the CPU and the device both execute.
type trial[T kernels.Element] struct {
	what   string
	params any
	args   []any // *tile[T], or *kernels.Pivots
	uses   []versions.Use
	// written says which elements of the operands that are written may be, by
	// rows and columns; nil: all. The others must stay as they are, bit by bit.
	written func(i, j int) bool
	parts   []func(i, j int) bool // for each operand, instead of written
	scale   float64
	exact   bool // both results must have the same bits
	// bad is an element of the last operand that is NaN, of which the outcome is
	// to be NaN, too. No NaN may be outside its column or row.
	bad *spot
	// minor is that of the *kernels.NotPositiveDefiniteError that is expected.
	minor int
}

// spot is an element, and where a NaN may spread from it.
type spot struct {
	i, j               int
	alongRow, alongCol bool
}

func (s *spot) reaches(i, j int) bool {
	return (i == s.i || s.alongCol) && (j == s.j || s.alongRow)
}

// versions verifies every version "cuda" against the CPU.
func (c *check) versions() {
	table := kernels.NewTable()
	var s station
	section := func() {
		for _, op := range table.All() {
			v := op.Version("cuda")
			if v == nil {
				continue
			}
			c.point("version "+op.OpName(), 5*time.Second, func() error {
				var r Verified
				if op.Type == "f32" {
					r = verify[float32](c.ctx, &s, op, v, c.sizes.edge)
				} else {
					r = verify[float64](c.ctx, &s, op, v, c.sizes.edge)
				}
				if c.ctx.Err() != nil {
					return c.ctx.Err()
				}
				c.report.Versions = append(c.report.Versions, r)
				return s.a.Lost()
			})
		}
	}
	c.within("versions", func() (interface{ Close() error }, error) {
		// Little memory, so that tiles are also given up for others.
		a, err := c.accelerator(64<<20, true)
		s.a = a
		return a, err
	}, section)
}

// verify executes the trials of op on the CPU and, by v, on the device.
func verify[T kernels.Element](ctx context.Context, s *station, op *versions.Op, v *versions.Version, edge int) Verified {
	r := Verified{Op: op.OpName(), Limit: limit}
	cpu := onCores(op, exec.Here())
	if cpu == nil {
		r.Failure = "no version on the CPU to compare with"
		return r
	}
	r.CPU = cpu.Name
	rnd := rand.New(rand.NewPCG(6, uint64(len(op.Name))))
	trials, err := trialsOf[T](rnd, op.Name, edge)
	if err != nil {
		r.Failure = err.Error()
		return r
	}
	for _, t := range trials {
		if ctx.Err() != nil {
			return r
		}
		ratio, err := t.run(s, cpu, v)
		r.Cases++
		if ratio > r.Worst || math.IsNaN(ratio) {
			r.Worst = ratio
		}
		if err != nil && r.Failure == "" {
			r.Failure = t.what + ": " + err.Error()
		}
		if s.a.Lost() != nil {
			break
		}
	}
	if math.IsNaN(r.Worst) || math.IsInf(r.Worst, 0) {
		r.Worst = math.MaxFloat64 // JSON has no other
	}
	return r
}

// trialsOf returns the trials of an op.
func trialsOf[T kernels.Element](rnd *rand.Rand, op string, edge int) ([]*trial[T], error) {
	m := maker[T]{rnd: rnd, edge: edge}
	switch op {
	case "gemm":
		return m.gemm(), nil
	case "syrk":
		return m.syrk(), nil
	case "trsm":
		return m.triangular(false), nil
	case "trmm":
		return m.triangular(true), nil
	case "potrf":
		return m.potrf(), nil
	case "laswp":
		return m.laswp(), nil
	case "geqrt":
		return m.geqrt(), nil
	case "tsqrt":
		return m.tpqrt(false), nil
	case "ttqrt":
		return m.tpqrt(true), nil
	case "unmqr":
		return m.unmqr()
	case "tsmqr":
		return m.tpmqrt(false)
	case "ttmqr":
		return m.tpmqrt(true)
	}
	return nil, fmt.Errorf("gpucheck: it is not known how to verify %s", op)
}

// run executes t on the CPU and on the device, and compares.
func (t *trial[T]) run(s *station, cpu, v *versions.Version) (ratio float64, err error) {
	want, got := cloned[T](t.args), cloned[T](t.args)
	var work versions.Workspace
	wantErr := cpu.Run(&versions.Call{Ctx: context.Background(), Params: t.params, Args: want, Work: &work})
	gotErr := s.start(v, t.params, got, t.uses)
	if gotErr == nil {
		gotErr = s.wait(0)
	}
	if err := s.flush(); err != nil && gotErr == nil {
		gotErr = err
	}
	if t.minor > 0 {
		for _, e := range []error{wantErr, gotErr} {
			var not *kernels.NotPositiveDefiniteError
			if !errors.As(e, &not) || not.Minor != t.minor {
				return 0, fmt.Errorf("got %v, want that minor %d is not positive definite", e, t.minor)
			}
		}
		return 0, nil
	}
	if err := errors.Join(wantErr, gotErr); err != nil {
		return 0, err
	}
	return t.compare(want, got)
}

// compare returns the scaled difference of all that was written.
func (t *trial[T]) compare(want, got []any) (ratio float64, err error) {
	sum := 0.0
	for a := range t.args {
		was, isTile := t.args[a].(*tile[T])
		if !isTile {
			continue
		}
		x, y := got[a].(*tile[T]), want[a].(*tile[T])
		written := t.written
		if t.parts != nil {
			written = t.parts[a]
		}
		for p := range was.Data {
			i, j := p/was.Stride, p%was.Stride
			if t.uses[a]&versions.Writes == 0 || j >= was.Cols || written != nil && !written(i, j) {
				if !same(x.Data[p], was.Data[p]) {
					return 0, fmt.Errorf("operand %d: (%d, %d), not to be written, became %v from %v", a, i, j, x.Data[p], was.Data[p])
				}
				continue
			}
			g, w := float64(x.Data[p]), float64(y.Data[p])
			switch {
			case t.exact:
				if !same(x.Data[p], y.Data[p]) {
					return 0, fmt.Errorf("operand %d: (%d, %d) is %v, want %v", a, i, j, g, w)
				}
			case t.bad != nil && a == len(t.args)-1 && i == t.bad.i && j == t.bad.j:
				if !math.IsNaN(g) {
					return 0, fmt.Errorf("(%d, %d) is %v, and was NaN", i, j, g)
				}
			case t.bad != nil && t.bad.reaches(i, j):
			case g-g != 0:
				return 0, fmt.Errorf("operand %d: (%d, %d) is %v, want %v", a, i, j, g, w)
			case t.bad == nil:
				sum += (g - w) * (g - w)
			}
		}
	}
	if sum == 0 {
		return 0, nil
	}
	ratio = math.Sqrt(sum) / (eps[T]() * t.scale)
	if !(ratio < limit) {
		return ratio, fmt.Errorf("scaled difference %.3g, want < %d", ratio, limit)
	}
	return ratio, nil
}

// same reports whether x and y have the same value, or are both NaN.
func same[T kernels.Element](x, y T) bool { return x == y || x != x && y != y }

// cloned returns copies of operands. What is the same before is so afterwards.
func cloned[T kernels.Element](args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch x := a.(type) {
		case *tile[T]:
			y := *x
			y.Data = append([]T(nil), x.Data...)
			out[i] = &y
		case *kernels.Pivots:
			y := *x
			y.Rows = append([]int(nil), x.Rows...)
			out[i] = &y
		}
	}
	return out
}
