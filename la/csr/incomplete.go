package csr

import (
	"fmt"
	"math"
	"slices"

	"github.com/tessera-la/tessera/internal/problems"
	"github.com/tessera-la/tessera/la"
)

// ICOptions configures [NewIC]. The zero value means IC(0): L has the pattern of A.
type ICOptions struct {
	// Levels is the largest level of fill. An element of A has level 0; an element that elimination with two
	// others makes has the sum of their levels plus 1. With a Drop, 0 stands for any level.
	Levels int
	// Drop leaves out elements that are small against the diagonal: |lᵢⱼ·dⱼ| ≤ Drop·√(aᵢᵢ·aⱼⱼ).
	Drop float64
	// Relax, from 0 to 1, is how much of the elements that are left out is added to the diagonal. With 1, the
	// modified method, M·e = A·e for e = (1, …, 1). Diffusion problems need far fewer iterations with 0.95 to
	// 1. Other matrices may break down.
	Relax float64
	// Shift is the first α that is tried: see [NewIC].
	Shift float64
}

// IC is an incomplete Cholesky factorization M = L·D·Lᵀ of a symmetric positive definite matrix, a
// preconditioner for conjugate gradients and MINRES.
type IC struct {
	*sweeps
	shift float64
}

// Shift returns the α by which the diagonal was enlarged so that the factorization did not break down: M
// resembles A + α·diag(A). It is usually 0.
func (m *IC) Shift() float64 { return m.shift }

// NewIC factors
//
//	A ≈ M = L·D·Lᵀ
//
// for a symmetric n×n A with positive diagonal, and leaves out elements of L as opt says. Both triangles of A
// must be stored; NewIC does not check that they agree. If a pivot is not positive, the factorization begins
// anew with A + α·diag(A), where α is 10⁻³ at first and then doubled: see [IC.Shift].
//
// Rows are eliminated in the order of A, but for those that couple runs of 32,768 rows or more: these come
// last. So several workers can solve with M. M depends on A alone, and not on the workers. With 2ʲ·A the bits
// of L are the same.
//
// The error is a *[la.OptionsError], a *[la.ShapeError], a *[la.NonFiniteError], a *[StructureError] if M has
// more than 2³¹−1 elements, or a *[PivotError] if an element of the diagonal is not positive.
//
// Reference: Meijerink and van der Vorst, 1977; Gustafsson, A class of first order factorization methods,
// BIT 18, 1978; Manteuffel, An incomplete factorization technique for positive definite linear systems,
// Math. Comp. 34, 1980.
func NewIC(a *Matrix, opt ICOptions) (*IC, error) {
	var bad problems.List
	bad.Check(opt.Levels >= 0 && opt.Levels <= math.MaxUint16, "Levels is %d, want 0 to %d", opt.Levels, math.MaxUint16)
	bad.Check(opt.Drop >= 0 && opt.Drop < 1, "Drop is %v, want 0 to below 1", opt.Drop)
	bad.Check(opt.Relax >= 0 && opt.Relax <= 1, "Relax is %v, want 0 to 1", opt.Relax)
	bad.Check(opt.Shift >= 0 && !math.IsInf(opt.Shift, 1), "Shift is %v, want at least 0, and finite", opt.Shift)
	if bad != nil {
		return nil, &la.OptionsError{Problems: bad}
	}
	if err := a.square("NewIC"); err != nil {
		return nil, err
	}
	d, exp := a.diagonal()
	for i, v := range d {
		if !(v > 0) {
			return nil, &PivotError{"NewIC", i, v, "an element of the diagonal of a positive definite matrix is positive"}
		}
	}
	order, segments := a.dissect()
	scale := math.Ldexp(1, -exp)
	const most = 1e6 // such a shift leaves little but the diagonal
	for shift := opt.Shift; ; shift = max(1e-3, 2*shift) {
		f := newFactor(a, order, d, opt, shift, scale)
		done, err := f.factor()
		if err != nil {
			return nil, err
		}
		switch {
		case shift > most:
			return nil, &PivotError{"NewIC", int(order[f.failed]), f.pivot, fmt.Sprintf("even with a shift of %.3g", shift)}
		case done:
			for i := range order { // from D·Lᵀ to Lᵀ
				for e := f.u.ptr[i]; e < f.u.ptr[i+1]; e++ {
					f.u.val[e] *= f.inverse[i]
				}
			}
			return &IC{newSweeps(a.rt, order, segments, &f.u, nil, f.inverse, scale), shift}, nil
		}
	}
}

// factor is the state of an incomplete factorization by rows of U = Lᵀ. Rows and columns are in the order of
// elimination.
type factor struct {
	a          *Matrix
	order, at  []int32   // row i is row order[i] of A, and at is the inverse
	diag       []float64 // the diagonal of A, in the order of A
	opt        ICOptions
	grow       float64 // 1 + shift
	scale      float64
	u          triangle  // U with diagonal D, then unit U
	levels     []uint16  // of the elements of u
	inverse    []float64 // D⁻¹
	carry      []float64 // what is to be added to the diagonal
	w          []float64 // the elements of the present row
	level      []uint16
	seen       []int32 // the latest row that has an element in this column
	cols       []int32 // of the present row, right of the diagonal
	head, next []int32 // for each column, a list of the rows whose next element is there
	place      []int32 // that element of each row
	failed     int     // a row with a pivot that is too small
	pivot      float64 // and that pivot
}

func newFactor(a *Matrix, order []int32, diag []float64, opt ICOptions, shift, scale float64) *factor {
	n := a.rows
	ints := func() []int32 { return make([]int32, n) }
	f := &factor{a: a, order: order, at: ints(), diag: diag, opt: opt, grow: 1 + shift, scale: scale, inverse: make([]float64, n), carry: make([]float64, n),
		w: make([]float64, n), level: make([]uint16, n), seen: ints(), head: ints(), next: ints(), place: ints()}
	f.u.ptr = make([]int32, n+1)
	for i, k := range order {
		f.at[k] = int32(i)
		f.seen[i], f.head[i] = -1, -1
	}
	room := max(0, len(a.ja)-n) / 2
	f.u.col, f.u.val = make([]int32, 0, room), make([]float64, 0, room)
	return f
}

// breakdown is the least pivot, relative to the element of the diagonal.
const breakdown = 0x1p-40

// factor computes u and the inverse of D. It returns false if a pivot is too small.
func (f *factor) factor() (done bool, err error) {
	for i := range f.order {
		if !f.row(int32(i)) {
			return false, nil
		}
		if len(f.u.col) > math.MaxInt32 {
			return false, errTooLarge()
		}
	}
	return true, nil
}

// row computes row i of u. It returns false if the pivot is too small.
func (f *factor) row(i int32) bool {
	f.cols = f.cols[:0]
	k := f.order[i]
	own := f.diag[k]
	pivot := own*f.grow + f.carry[i]
	for e := f.a.ia[k]; e < f.a.ia[k+1]; e++ {
		if j := f.at[f.a.ja[e]]; j > i {
			f.add(i, j, f.a.data[e]*f.scale, 0)
		}
	}
	if f.opt.Levels > 0 {
		f.fill(i)
	}
	// Rows r above with an element in column i.
	for r := f.head[i]; r >= 0; {
		after, at, end := f.next[r], f.place[r], f.u.ptr[r+1]
		by := f.u.val[at] * f.inverse[r]
		pivot -= by * f.u.val[at]
		for e := at + 1; e < end; e++ {
			switch j, v := f.u.col[e], -by*f.u.val[e]; {
			case f.seen[j] == i:
				f.w[j] += v
			case f.opt.Drop > 0 && f.opt.Levels == 0:
				f.add(i, j, v, 0)
			default:
				pivot += f.left(j, v)
			}
		}
		if at++; at < end {
			f.follow(r, at)
		}
		r = after
	}
	if f.opt.Drop > 0 {
		f.cols = slices.DeleteFunc(f.cols, func(j int32) bool {
			v := f.w[j]
			small := v*v <= f.opt.Drop*f.opt.Drop*own*f.diag[f.order[j]]
			if small {
				pivot += f.left(j, v)
			}
			return small
		})
	}
	if !(pivot > breakdown*own) || math.IsInf(pivot, 1) {
		f.failed, f.pivot = int(i), pivot/f.scale
		return false
	}
	slices.Sort(f.cols)
	f.inverse[i] = 1 / pivot
	begin := int32(len(f.u.col))
	for _, j := range f.cols {
		f.u.col, f.u.val = append(f.u.col, j), append(f.u.val, f.w[j])
		if f.opt.Levels > 0 {
			f.levels = append(f.levels, f.level[j])
		}
	}
	f.u.ptr[i+1] = int32(len(f.u.col))
	if len(f.cols) > 0 {
		f.follow(i, begin)
	}
	return true
}

// fill adds to row i the elements that elimination makes, with value 0, if their level is low enough.
func (f *factor) fill(i int32) {
	for r := f.head[i]; r >= 0; r = f.next[r] {
		at := f.place[r]
		for e := at + 1; e < f.u.ptr[r+1]; e++ {
			j, level := f.u.col[e], int(f.levels[at])+int(f.levels[e])+1
			switch {
			case level > f.opt.Levels:
			case f.seen[j] == i:
				f.level[j] = min(f.level[j], uint16(level))
			default:
				f.add(i, j, 0, uint16(level))
			}
		}
	}
}

// add adds a new element to the present row.
func (f *factor) add(i, j int32, v float64, level uint16) {
	if f.seen[j] == i { // A stores it twice
		f.w[j] += v
		return
	}
	f.seen[j], f.w[j], f.level[j] = i, v, level
	f.cols = append(f.cols, j)
}

// left takes note of an element in column j that is left out. It returns what is added to the pivot.
func (f *factor) left(j int32, v float64) float64 {
	f.carry[j] += f.opt.Relax * v
	return f.opt.Relax * v
}

// follow says that element at is the next one of row r.
func (f *factor) follow(r, at int32) {
	j := f.u.col[at]
	f.place[r], f.next[r] = at, f.head[j]
	f.head[j] = r
}
