package kerneltest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Table runs the suites on every version of every op of tab that this machine
// can run.
func Table(t *testing.T, tab *kernels.Table) {
	m := topo.Here()
	for _, op := range tab.All() {
		for i := range op.Versions {
			if testing.Short() && op.Type == "f32" && op.Versions[i].Name == "knl" {
				continue // the kernels of "avx512", in blocks of other sizes
			}
			t.Run(op.OpName()+"/"+op.Versions[i].Name, func(t *testing.T) {
				// A processor's name can be declared; its instructions cannot.
				here := &versions.Target{Arch: m.Arch, Features: m.Features, Units: math.MaxInt,
					Processor: op.Versions[i].Constraints.Processor}
				if why := op.Versions[i].Constraints.Unmet(here); why != "" {
					t.Skip(why)
				}
				Version(t, op, &op.Versions[i])
			})
		}
	}
}

// Version runs the suite of op on its version v, which need not be in a
// table. It fails t at once if there is no suite for op.
func Version(t *testing.T, op *versions.Op, v *versions.Version) {
	switch op.Type {
	case "f32":
		run[float32](t, op, v)
	case "f64":
		run[float64](t, op, v)
	default:
		t.Fatalf("no suite for element type %q", op.Type)
	}
}

// run runs the suite of op for element type T.
func run[T kernels.Element](t *testing.T, op *versions.Op, v *versions.Version) {
	s := &suite[T]{op: op, v: v, rnd: rand.New(rand.NewPCG(1, 1))}
	test, ok := s.find()
	if !ok {
		t.Fatalf("no suite for op %q", op.Name)
	}
	test(t)
}

// find returns the suite of the op: the method with its name and a capital letter.
func (s *suite[T]) find() (test func(*testing.T), ok bool) {
	m := reflect.ValueOf(s).MethodByName(strings.ToUpper(s.op.Name[:1]) + s.op.Name[1:])
	if !m.IsValid() {
		return nil, false
	}
	test, ok = m.Interface().(func(*testing.T))
	return test, ok
}

// suite is what the tests of one version share. It calls the version with
// scratch that is full of NaN.
type suite[T kernels.Element] struct {
	op      *versions.Op
	v       *versions.Version
	rnd     *rand.Rand
	scratch versions.Workspace
	last    *versions.Call
	named   *testing.T // the test that will name the last call if it fails
}

func (s *suite[T]) call(params any, args ...any) *versions.Call {
	return &versions.Call{Ctx: context.Background(), Params: params, Args: args, Work: &s.scratch}
}

func (s *suite[T]) run(params any, args ...any) (err error) {
	b := s.scratch.Bytes(1 << 16)
	b[0] = 0xff
	for i := 1; i < len(b); i *= 2 { // doubled, as this comes before every call
		copy(b[i:], b[:i])
	}
	s.last = s.call(params, args...)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return s.v.Run(s.last)
}

// describe returns a call in words: op, parameters and operands.
func describe(op *versions.Op, call *versions.Call) string {
	var b strings.Builder
	b.WriteString(op.OpName() + " {")
	if p := reflect.Indirect(reflect.ValueOf(call.Params)); p.Kind() == reflect.Struct {
		for i := range p.NumField() {
			format := " %s: %v"
			if v := p.Field(i); v.Kind() == reflect.Uint8 && v.Uint() >= ' ' { // blas.NoTrans is 'N'
				format = " %s: %c"
			}
			fmt.Fprintf(&b, format, p.Type().Field(i).Name, p.Field(i).Interface())
		}
	}
	b.WriteString(" } of")
	for i, a := range call.Args {
		if i > 0 {
			b.WriteByte(',')
		}
		switch t := a.(type) {
		case *kernels.Tile[float32]:
			fmt.Fprintf(&b, " %d×%d with stride %d", t.Rows, t.Cols, t.Stride)
		case *kernels.Tile[float64]:
			fmt.Fprintf(&b, " %d×%d with stride %d", t.Rows, t.Cols, t.Stride)
		default:
			fmt.Fprintf(&b, " %T", a)
		}
	}
	return b.String()
}

// must is run for ops that cannot fail.
func (s *suite[T]) must(t *testing.T, params any, args ...any) {
	t.Helper()
	if s.named != t {
		s.named = t
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("the last call was %s", describe(s.op, s.last))
			}
		})
	}
	if err := s.run(params, args...); err != nil {
		t.Fatalf("%s: unexpected error: %v", describe(s.op, s.last), err)
	}
}

// noAllocs fails t if version "go" allocates for a call once its scratch is
// there. Versions of C libraries are not ours to judge.
func (s *suite[T]) noAllocs(t *testing.T, params any, args ...any) {
	t.Helper()
	if s.v.Name != "go" {
		return
	}
	call := s.call(params, args...)
	if n := testing.AllocsPerRun(3, func() { s.v.Run(call) }); n != 0 {
		t.Errorf("%v allocations per call, want 0", n)
	}
}

// checkSameBits fails t unless two calls give the same bits.
func (s *suite[T]) checkSameBits(t *testing.T, params any, args ...any) {
	t.Helper()
	copies := func() (all []any) {
		for _, a := range args {
			switch x := a.(type) {
			case *kernels.Tile[T]:
				a = clone(x)
			case *kernels.Pivots:
				a = &kernels.Pivots{Rows: slices.Clone(x.Rows), Info: x.Info}
			}
			all = append(all, a)
		}
		return all
	}
	first, second := copies(), copies()
	s.must(t, params, first...)
	s.must(t, params, second...)
	for i := range args {
		if a, ok := first[i].(*kernels.Tile[T]); ok {
			identical(t, fmt.Sprintf("second run: operand %d", i), second[i].(*kernels.Tile[T]), a)
		}
	}
}

// checkRepeatable is checkSameBits and noAllocs.
func (s *suite[T]) checkRepeatable(t *testing.T, params any, args ...any) {
	t.Helper()
	s.checkSameBits(t, params, args...)
	s.noAllocs(t, params, args...)
}

// work fails t unless the op says that a call costs so many operations.
func (s *suite[T]) work(t *testing.T, want float64, params any, args ...any) {
	t.Helper()
	if got := s.op.Work(s.call(params, args...)); got != want {
		t.Errorf("work %v, want %v", got, want)
	}
}

// sizes are 0, 1, and those around the widths of micro-kernels, leaves and
// blocks: nb±1 and 2nb±1 for nb = 4, 8, 16, 32. Suites combine them.
var sizes = [...]int{0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65}

// large are sizes beyond the blocks that are packed at a time, which are
// tested in few combinations.
var large = [...]int{127, 128, 129, 255, 256, 257, 300}

// scalars for alpha and beta.
var scalars = [...]float64{0, 1, -1, 0.75}

// eps returns the unit roundoff of T, 2⁻²⁴ or 2⁻⁵³.
func eps[T kernels.Element]() float64 { return scalar.Eps[T]() }

// extreme returns a power of two whose square is near the overflow threshold
// of T.
func extreme[T kernels.Element]() float64 {
	return scalar.Pick[T](0x1p55, 0x1p500)
}

// mark makes everything of a that is NaN and for which use(i, j) does not hold
// a number, in half of all cases: NaN shows what is read that must not be, but
// what is added to it stays NaN, and so does not show what is written. Nil
// stands for all elements, which leaves the padding and the guard.
func (s *suite[T]) mark(a *kernels.Tile[T], use func(i, j int) bool) {
	if s.rnd.IntN(2) == 0 {
		return
	}
	full := a.Data[:len(a.Data)+guard]
	for p := range full {
		i, j := p/a.Stride, p%a.Stride
		inside := p < len(a.Data) && j < a.Cols
		if !inside || use != nil && !use(i, j) {
			full[p] = 0.625
		}
	}
}

// fill sets the elements for which use(i, j) holds to normal variates times
// scale; nil means all.
func (s *suite[T]) fill(a *kernels.Tile[T], scale float64, use func(i, j int) bool) {
	for i, j := range cells(a.Rows, a.Cols) {
		if use == nil || use(i, j) {
			a.Set(i, j, T(scale*s.rnd.NormFloat64()))
		}
	}
}

// random returns a full random tile.
func (s *suite[T]) random(r, c, pad int) *kernels.Tile[T] {
	a := newTile[T](r, c, pad)
	s.fill(a, 1, nil)
	return a
}

// ratio returns residual/scale, zero if both are, and fails t unless it is
// below limit.
func ratio(t *testing.T, what string, residual, scale, limit float64) {
	t.Helper()
	if residual == 0 {
		return
	}
	if r := residual / scale; !(r < limit) {
		t.Fatalf("%s: scaled residual %.3g, want < %.3g (residual %.3g)", what, r, limit, residual)
	}
}
