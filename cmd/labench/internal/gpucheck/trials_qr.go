package gpucheck

import (
	"context"
	"fmt"
	"math"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// laswp returns interchanges of rows in stacks of tiles, there and back, of which
// not a bit may differ, NaN included.
func (m *maker[T]) laswp() (all []*trial[T]) {
	for _, shape := range m.shapes() {
		rows, n := shape[0], shape[1]
		for _, inverse := range []bool{false, true} {
			piv := &kernels.Pivots{}
			t := &trial[T]{what: fmt.Sprintf("m=%d n=%d inverse=%t", 3*rows, n, inverse), params: &kernels.Laswp{Inverse: inverse},
				args: []any{piv}, uses: []versions.Use{in}, exact: true}
			for range 3 {
				x := m.tile(rows, n, nil)
				if rows > 0 && n > 0 {
					x.Set(m.rnd.IntN(rows), m.rnd.IntN(n), T(math.NaN()))
				}
				t.args, t.uses = append(t.args, x), append(t.uses, inout)
			}
			for i := range min(rows, n) {
				piv.Rows = append(piv.Rows, i+m.rnd.IntN(3*rows-i))
			}
			all = append(all, t)
		}
	}
	return all
}

// factor has the CPU factor tiles, so that there are reflectors to apply.
func factor[T kernels.Element](op *versions.Op, params any, args ...any) error {
	v := onCores(op, exec.Here())
	if v == nil {
		return fmt.Errorf("gpucheck: no version of %s on the CPU", op.OpName())
	}
	var work versions.Workspace
	return v.Run(&versions.Call{Ctx: context.Background(), Params: params, Args: args, Work: &work})
}

// sides calls f for each side and transpose.
func sides(f func(side blas.Side, trans blas.Transpose) error) error {
	for _, side := range []blas.Side{blas.Left, blas.Right} {
		for _, trans := range []blas.Transpose{blas.NoTrans, blas.Trans} {
			if err := f(side, trans); err != nil {
				return err
			}
		}
	}
	return nil
}

// turned returns r×c from the left, c×r from the right.
func turned(side blas.Side, r, c int) (int, int) {
	if side == blas.Right {
		return c, r
	}
	return r, c
}

// unmqr returns the trials of op "unmqr": V of r×c, applied to w columns.
func (m *maker[T]) unmqr() (all []*trial[T], err error) {
	ops := kernels.For[T](kernels.NewTable())
	for s, shape := range [][4]int{{1, 1, 1, 1}, {7, 5, 3, 2}, {5, 7, 9, 3}, {64, 64, 64, 16}, {129, 100, 33, 32}, {m.edge, 120, 90, 32}} {
		r, c, w, ib := shape[0], shape[1], shape[2], shape[3]
		k := min(r, c)
		v, t := m.tile(r, c, nil), m.tile(min(ib, k), k, nowhere)
		if err := factor[T](ops.Geqrt, &kernels.Geqrt{IB: ib}, v, t); err != nil {
			return nil, err
		}
		// R is not read.
		for i := range r {
			for j := i; j < c; j++ {
				v.Set(i, j, T(math.NaN()))
			}
		}
		err := sides(func(side blas.Side, trans blas.Transpose) error {
			cr, cc := turned(side, r, w)
			x := m.tile(cr, cc, nil)
			one := &trial[T]{what: fmt.Sprintf("V %d×%d, C %d×%d, ib=%d %c%c", r, c, cr, cc, ib, side, trans),
				params: &kernels.Unmqr{Side: side, Trans: trans, IB: ib}, args: []any{v, t, x}, uses: []versions.Use{in, in, inout},
				scale: math.Sqrt(float64(k+1)) * norm(x)}
			all = append(all, one)
			if s == 3 {
				all = append(all, one.spoiled(side))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// spoiled returns t with a NaN in its last operand.
func (t *trial[T]) spoiled(side blas.Side) *trial[T] {
	bad := *t
	bad.args = cloned[T](t.args)
	c := bad.args[len(bad.args)-1].(*tile[T])
	bad.bad = &spot{i: c.Rows / 2, j: c.Cols / 3, alongRow: side == blas.Right, alongCol: side == blas.Left}
	c.Set(bad.bad.i, bad.bad.j, T(math.NaN()))
	bad.what += ", NaN in C"
	return &bad
}

// tpmqrt returns the trials of op "tsmqr", or of "ttmqr", where V is a trapezoid:
// V of r×k, applied to w columns.
func (m *maker[T]) tpmqrt(trapezoid bool) (all []*trial[T], err error) {
	ops := kernels.For[T](kernels.NewTable())
	for s, shape := range [][4]int{{1, 1, 1, 1}, {7, 5, 3, 2}, {5, 7, 9, 3}, {64, 64, 64, 16}, {129, 100, 33, 32}, {m.edge, 120, 90, 32}} {
		r, k, w, ib := shape[0], shape[1], shape[2], shape[3]
		var use func(i, j int) bool
		params, op := any(&kernels.Tsqrt{IB: ib}), ops.Tsqrt
		if trapezoid {
			use = triangle(blas.Upper, blas.NonUnit)
			params, op = &kernels.Ttqrt{IB: ib}, ops.Ttqrt
		}
		top, v, t := m.tile(k, k, triangle(blas.Upper, blas.NonUnit)), m.tile(r, k, use), m.tile(min(ib, k), k, nowhere)
		if err := factor[T](op, params, top, v, t); err != nil {
			return nil, err
		}
		err := sides(func(side blas.Side, trans blas.Transpose) error {
			apply := any(&kernels.Tsmqr{Side: side, Trans: trans, IB: ib})
			meets := r
			if trapezoid {
				apply, meets = &kernels.Ttmqr{Side: side, Trans: trans, IB: ib}, min(r, k)
			}
			r1, c1 := turned(side, k, w)
			r2, c2 := turned(side, meets, w)
			x, y := m.tile(r1, c1, nil), m.tile(r2, c2, nil)
			one := &trial[T]{what: fmt.Sprintf("V %d×%d, %d columns, ib=%d %c%c", r, k, w, ib, side, trans), params: apply,
				args: []any{v, t, x, y}, uses: []versions.Use{in, in, inout, inout},
				scale: math.Sqrt(float64(k+1)) * math.Hypot(norm(x), norm(y))}
			all = append(all, one)
			if s == 3 {
				all = append(all, one.spoiled(side))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
