package csr

import (
	"math"
	"slices"

	"github.com/tessera-la/tessera/internal/problems"
	"github.com/tessera-la/tessera/la"
)

// ILUOptions configures [NewILU]. The zero value means ILU(0): L and U have the pattern of A.
type ILUOptions struct {
	// Levels is the largest level of fill: see [ICOptions]. With a Drop, 0 stands for any level.
	Levels int
	// Drop leaves out elements that are, in absolute value, at most Drop times the largest element of their row
	// of A.
	Drop float64
	// Relax, from 0 to 1, is how much of the elements that are left out is added to the diagonal. With 1, the
	// modified method, M·e = A·e for e = (1, …, 1).
	Relax float64
}

// ILU is an incomplete factorization M = L·U of a matrix, a preconditioner for GMRES and BiCGSTAB.
type ILU struct{ *sweeps }

// NewILU factors
//
//	A ≈ M = L·U
//
// for an n×n A, and leaves out elements of L and U as opt says. Rows are not exchanged: zeros of the diagonal are
// pivots unless fill comes there.
//
// The order of the rows is that of [NewIC], so several workers can solve with M, with the same bits. M depends on A
// alone. With 2ʲ·A the bits of L are the same.
//
// The error is a *[la.OptionsError], a *[la.ShapeError], a *[la.NonFiniteError], a *[StructureError] if M has more
// than 2³¹−1 elements, or a *[PivotError] if a pivot is smaller than 2⁻⁴⁰ times the largest element of its row.
//
// Reference: Saad, Iterative Methods for Sparse Linear Systems, sections 10.3 and 10.4.
func NewILU(a *Matrix, opt ILUOptions) (*ILU, error) {
	var bad problems.List
	bad.Check(opt.Levels >= 0 && opt.Levels <= math.MaxUint16, "Levels is %d, want 0 to %d", opt.Levels, math.MaxUint16)
	bad.Check(opt.Drop >= 0 && opt.Drop < 1, "Drop is %v, want 0 to below 1", opt.Drop)
	bad.Check(opt.Relax >= 0 && opt.Relax <= 1, "Relax is %v, want 0 to 1", opt.Relax)
	if bad != nil {
		return nil, &la.OptionsError{Problems: bad}
	}
	if err := a.square("NewILU"); err != nil {
		return nil, err
	}
	order, segments := a.dissect()
	_, exp := a.diagonal()
	n := a.rows
	f := &iluFactor{a: a, opt: opt, order: order, at: make([]int32, n), scale: math.Ldexp(1, -exp), most: opt.Levels, inverse: make([]float64, n),
		w: make([]float64, n), level: make([]uint16, n), seen: make([]int32, n)}
	if opt.Drop > 0 && opt.Levels == 0 {
		f.most = math.MaxInt
	}
	for i, k := range order {
		f.at[k] = int32(i)
		f.seen[i] = -1
	}
	f.l.ptr, f.u.ptr = make([]int32, 1, n+1), make([]int32, 1, n+1)
	for i := range order {
		if err := f.row(int32(i)); err != nil {
			return nil, err
		}
	}
	for i := range order { // from D·U to U
		for e := f.u.ptr[i]; e < f.u.ptr[i+1]; e++ {
			f.u.val[e] *= f.inverse[i]
		}
	}
	lower := f.l.transposed(n)
	return &ILU{newSweeps(a.rt, order, segments, &f.u, &lower, f.inverse, f.scale)}, nil
}

// iluFactor is the state of an incomplete factorization L·D·U by rows, where L and U have unit diagonals. Rows and
// columns are in the order of elimination.
type iluFactor struct {
	a         *Matrix
	opt       ILUOptions
	order, at []int32 // row i is row order[i] of A, and at is the inverse
	scale     float64
	most      int      // the largest level
	l, u      triangle // L and D·U
	levels    []uint16 // of the elements of u
	inverse   []float64
	w         []float64 // the elements of the present row
	level     []uint16
	seen      []int32 // the latest row that has an element in this column
	low, high []int32 // the columns of the present row on both sides of the diagonal; low is sorted
}

// row computes row i of l and u.
func (f *iluFactor) row(i int32) error {
	f.low, f.high = f.low[:0], f.high[:0]
	f.seen[i], f.w[i], f.level[i] = i, 0, 0
	k, size := f.order[i], 0.0
	for e := f.a.ia[k]; e < f.a.ia[k+1]; e++ {
		f.add(i, f.at[f.a.ja[e]], f.a.data[e]*f.scale, 0)
	}
	for _, all := range [...][]int32{f.low, f.high, {i}} {
		for _, j := range all {
			size = max(size, math.Abs(f.w[j]))
		}
	}
	small := func(j int32) bool {
		if f.opt.Drop == 0 || math.Abs(f.w[j]) > f.opt.Drop*size {
			return false
		}
		f.w[i] += f.opt.Relax * f.w[j]
		return true
	}
	for p := 0; p < len(f.low); p++ {
		c := f.low[p]
		if small(c) {
			continue
		}
		by := f.w[c] * f.inverse[c]
		f.l.col, f.l.val = append(f.l.col, c), append(f.l.val, by)
		for e := f.u.ptr[c]; e < f.u.ptr[c+1]; e++ {
			j, v, level := f.u.col[e], -by*f.u.val[e], int(f.level[c])+int(f.levels[e])+1
			switch {
			case f.seen[j] == i:
				f.w[j] += v
				f.level[j] = uint16(min(int(f.level[j]), level))
			case level <= f.most:
				f.add(i, j, v, uint16(min(level, math.MaxUint16)))
			default:
				f.w[i] += f.opt.Relax * v
			}
		}
	}
	f.high = slices.DeleteFunc(f.high, small)
	slices.Sort(f.high)
	pivot := f.w[i]
	if !(math.Abs(pivot) > breakdown*size) || math.IsInf(pivot, 0) {
		return &PivotError{"NewILU", int(k), pivot / f.scale, "too small, or out of range"}
	}
	f.inverse[i] = 1 / pivot
	for _, j := range f.high {
		f.u.col, f.u.val, f.levels = append(f.u.col, j), append(f.u.val, f.w[j]), append(f.levels, f.level[j])
	}
	if f.l.ptr, f.u.ptr = append(f.l.ptr, int32(len(f.l.col))), append(f.u.ptr, int32(len(f.u.col))); max(len(f.l.col), len(f.u.col)) > math.MaxInt32 {
		return errTooLarge()
	}
	return nil
}

// add adds v to the element in column j of row i.
func (f *iluFactor) add(i, j int32, v float64, level uint16) {
	if f.seen[j] == i {
		f.w[j] += v
		return
	}
	f.seen[j], f.w[j], f.level[j] = i, v, level
	if j > i {
		f.high = append(f.high, j)
		return
	}
	at, _ := slices.BinarySearch(f.low, j)
	f.low = slices.Insert(f.low, at, j)
}
