package qr

import (
	"context"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
)

// RotationOptions selects the rotations of a factorization. The zero value is useful.
type RotationOptions struct {
	// Tree is the order in which tiles are annihilated; the zero value is
	// TreeAuto.
	Tree Tree
	// Domain is the number of tiles in a domain of TreeDomains; 0 means one
	// domain of the first column for each core. The other trees ignore it.
	Domain int
	// IB is the number of columns of a block reflector; 0 means [DefaultIB]. It
	// is at most the tile size.
	IB int
	// Cores is the number of cores for which TreeAuto and TreeDomains plan; 0 means
	// one.
	Cores int
}

// DefaultIB is the number of columns of a block reflector by default. On one core
// of an Intel Xeon (model 167) that was also doing other work, version avx512,
// commit 78401df, it was within 7 % of the best of 16, 24, 32, 48 and 64 — as much
// as the figures varied — for 1024×1024, 2048×2048 and 8192×256 in tiles of 128 to
// 320 (go test ./la -run '^$' -bench QROptions compares them).
const DefaultIB = 32

// Rotations are the block Givens rotations that make up the orthogonal factor of a
// matrix, as [Geqrf] computes them: their order, and the triangular factors T of
// their block reflectors I − V·T·Vᵀ. The V are in the tiles of the matrix itself.
//
// A tile has up to two rotations. T1 belongs to op "geqrt", whose V is below the
// diagonal, and T2 to the rotation that annihilated the tile. Each T is IB×nb, and
// exists only if the tile has that rotation.
type Rotations[T blocked.Element] struct {
	rows, cols, nb, ib int
	opt                RotationOptions // the options of plan
	plan               *qrPlan
	t1, t2             []blocked.Tile[T] // mt×min(mt, nt); of no rows where there is none
	v                  []blocked.Tile[T] // mt×columnsOfV, made when needed: see copyBelow
	kept               exec.Kept         // nil unless the tiles are on other nodes

	geqrt op.Geqrt
	tsqrt op.Tsqrt
	ttqrt op.Ttqrt
}

// NewRotations returns room for the rotations of an m×n matrix with tiles of
// nb×nb. It panics with ErrShape if m, n, nb or an option is negative or nb is
// 0, and with ErrKind if there is no such tree.
func NewRotations[T blocked.Element](m, n, nb int, opt RotationOptions) *Rotations[T] {
	q := OutlineRotations[T](m, n, nb, opt)
	for _, factors := range [][]blocked.Tile[T]{q.t1, q.t2} {
		for i := range factors {
			if t := &factors[i]; t.Rows > 0 {
				*t = tiles.NewTile[T](t.Rows, t.Cols)
			}
		}
	}
	return q
}

// RotationsFor returns room for the rotations of a. If a is distributed, the room is on the nodes
// where its tiles are. The nodes release it at a's Close, or at the next call of RotationsFor
// for a. It panics as [NewRotations] does. The error is the runtime's.
func RotationsFor[T blocked.Element](a *blocked.Matrix[T], opt RotationOptions) (*Rotations[T], error) {
	if a.Remote() == nil {
		return NewRotations[T](a.Rows(), a.Cols(), a.NB(), opt), nil
	}
	q := OutlineRotations[T](a.Rows(), a.Cols(), a.NB(), opt)
	q.v = make([]blocked.Tile[T], q.plan.mt*columnsOfV)
	for k := range q.plan.columns {
		for i := range q.plan.mt {
			if v := &q.v[i*columnsOfV+k%columnsOfV]; v.Rows == 0 {
				r, c := q.tileDims(i, k)
				*v = tiles.OutlineTile[T](r, min(r, c))
			}
		}
	}
	var values []versions.Shaped
	for _, tiles := range [][]blocked.Tile[T]{q.t1, q.t2, q.v} {
		for i := range tiles {
			if tiles[i].Rows > 0 {
				values = append(values, &tiles[i])
			}
		}
	}
	var err error
	q.kept, err = a.Remote().KeepBeside(values)
	return q, err
}

// OutlineRotations is [NewRotations] without memory for tiles.
func OutlineRotations[T blocked.Element](m, n, nb int, opt RotationOptions) *Rotations[T] {
	if m < 0 || n < 0 || nb < 1 || opt.Domain < 0 || opt.IB < 0 || opt.Cores < 0 {
		panic(blocked.ErrShape)
	}
	if int(opt.Tree) >= len(trees) {
		panic(blocked.ErrKind)
	}
	ib := opt.IB
	if ib == 0 {
		ib = DefaultIB
	}
	ib = min(ib, nb)
	opt.IB = ib
	q := &Rotations[T]{rows: m, cols: n, nb: nb, ib: ib, opt: opt,
		plan:  newQRPlan(opt.Tree, opt.Domain, tiles.Count(m, nb), tiles.Count(n, nb), max(1, opt.Cores)),
		geqrt: op.Geqrt{IB: ib}, tsqrt: op.Tsqrt{IB: ib}, ttqrt: op.Ttqrt{IB: ib}}
	size := q.plan.mt * len(q.plan.columns)
	q.t1, q.t2 = make([]blocked.Tile[T], size), make([]blocked.Tile[T], size)
	for k, steps := range q.plan.columns {
		for _, s := range steps {
			r, c := q.tileDims(int(s.row), k)
			if s.kind == qrTriangle {
				q.t1[q.at(int(s.row), k)] = tiles.OutlineTile[T](ib, min(r, c))
			} else {
				q.t2[q.at(int(s.row), k)] = tiles.OutlineTile[T](ib, c)
			}
		}
	}
	return q
}

// at returns the index in t1 and t2 of the rotations of tile (i, k).
func (q *Rotations[T]) at(i, k int) int { return i*len(q.plan.columns) + k }

// tileDims returns the shape of tile (i, j) of the matrix.
func (q *Rotations[T]) tileDims(i, j int) (r, c int) {
	return min(q.nb, q.rows-i*q.nb), min(q.nb, q.cols-j*q.nb)
}

// Dims returns the shape of the matrix.
func (q *Rotations[T]) Dims() (m, n int) { return q.rows, q.cols }

// NB returns the tile size.
func (q *Rotations[T]) NB() int { return q.nb }

// Options returns the options of the rotations, with an IB that is not 0.
func (q *Rotations[T]) Options() RotationOptions { return q.opt }

// Factors returns the T of the first tile columns, as many as columns says, in the order of the
// rotations.
func (q *Rotations[T]) Factors(columns int) (all []*blocked.Tile[T]) {
	q.eachFactor(columns, func(first bool, at int) {
		if first {
			all = append(all, &q.t1[at])
		} else {
			all = append(all, &q.t2[at])
		}
	})
	return all
}

// eachFactor calls f for each T of the first tile columns. T is in t1 if first is true, and in t2
// otherwise, at index at.
func (q *Rotations[T]) eachFactor(columns int, f func(first bool, at int)) {
	for k, steps := range q.plan.columns[:columns] {
		for _, s := range steps {
			f(s.kind == qrTriangle, q.at(int(s.row), k))
		}
	}
}

// IB returns the number of columns of a block reflector.
func (q *Rotations[T]) IB() int { return q.ib }

// FirstT returns the T of the first tile. It is the only T of a matrix of one tile.
func (q *Rotations[T]) FirstT() *blocked.Tile[T] { return &q.t1[0] }

// Reflections returns the number of Householder reflections in the factor. Each has
// determinant -1, so det Q is 1 if the number is even and -1 if it is odd. A column
// that is zero below the diagonal has the identity instead, which does not count. If
// the rotations are on other nodes and cannot be fetched, Reflections panics with the
// error.
func (q *Rotations[T]) Reflections() int {
	n := 0
	for k, steps := range q.plan.columns {
		for _, s := range steps {
			t := &q.t2[q.at(int(s.row), k)]
			if s.kind == qrTriangle {
				t = &q.t1[q.at(int(s.row), k)]
			}
			if q.kept != nil {
				c := tiles.NewTile[T](t.Rows, t.Cols)
				if err := q.kept.Fetch(context.Background(), t, &c); err != nil {
					panic(err)
				}
				t = &c
			}
			// The diagonals of the blocks hold LAPACK's tau.
			for j := range t.Cols {
				if t.At(j%q.ib, j) != 0 {
					n++
				}
			}
		}
	}
	return n
}

// Flops returns the floating-point operations of the factorization by these
// rotations. It leaves out those for the T, a share of about IB/(2·nb).
func (q *Rotations[T]) Flops() float64 {
	sum := 0.0
	for k, steps := range q.plan.columns {
		for _, s := range steps {
			m, n := q.tileDims(int(s.row), k)
			right := q.cols - k*q.nb - n
			f, x := stepFlops(s.kind, m, n, right)
			sum += f + x
		}
	}
	return sum
}

// stepFlops returns the operations of a rotation of an m×n tile, and of its
// application to the given number of columns.
func stepFlops(kind qrKind, m, n, columns int) (factor, apply float64) {
	switch kind {
	case qrTriangle:
		k := float64(min(m, n))
		return QRFlops(m, n), float64(columns) * (4*float64(m)*k - 2*k*k)
	case qrSquare:
		return 2 * float64(m) * float64(n) * float64(n), 4 * float64(m) * float64(n) * float64(columns)
	}
	for j := range n {
		height := float64(min(j+1, m))
		factor += 4 * height * float64(n-j)
		apply += 4 * height * float64(columns)
	}
	return factor, apply
}

// QRFlops returns the floating-point operations, to leading order, of the QR
// factorization of an m×n matrix by Householder reflections: 2·m·n² − 2/3·n³ for
// m ≥ n. The speed of every QR algorithm is computed from this number.
//
// Reference: LAWN 41, appendix C.
func QRFlops(m, n int) float64 {
	a, b, k := float64(m), float64(n), float64(min(m, n))
	return 4*a*b*k - 2*(a+b)*k*k + 4*k*k*k/3
}

// columnsOfV is the number of tile columns that have copies of V at once. The copies of a
// later column wait until those of the first are no longer needed.
const columnsOfV = 4
