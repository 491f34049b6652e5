package op

import (
	"unsafe"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
)

// Getrf is the parameter of op "getrf" (LAPACK xGETRF): the LU factorization with partial
// pivoting of a panel, a column of tiles that together are an m×n matrix,
//
//	A = P·L·U.
//
// Operands: the tiles from top to bottom (inout), at least one, all of n columns; last a *Pivots
// (out), whose Rows get length min(m, n). U overwrites the upper triangle, L the part below the
// diagonal; its unit diagonal is not stored. The top tile has at least min(m, n) rows. Of
// elements of equal magnitude the uppermost becomes the pivot, as in LAPACK; a NaN becomes the
// pivot only if it is on the diagonal already. A zero pivot is no error: Pivots.Info is then
// Offset plus the column in the panel.
type Getrf struct {
	Offset int // global index of the panel's first column
}

// Validate returns an error if a field is out of range.
func (p *Getrf) Validate() error { return check("getrf", p) }

// getrfOp defines op "getrf".
func getrfOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:      versions.Op{Name: "getrf", Work: getrfWork[T], NewParams: fresh[Getrf]},
		about:   "LU factorization with partial pivoting, PA = LU",
		variant: lapackVariant,
		host: func(i implementation[T]) versions.Version {
			return versions.Version{Run: getrf(i.lu), Help: getrfHelp(i.lu)}
		},
		cuda: versions.Version{Run: cudaGetrf[T], Memory: cudaGetrfMemory[T]},
	}
}

// getrfWork returns the work of the factorization.
func getrfWork[T kernels.Element](call *versions.Call) float64 {
	_, m, n, _ := luArgs[T](call)
	return getrfFlops(m, n)
}

// getrfFlops returns the multiplications and additions of an LU factorization,
//
//	2·Σ (m−j)·(n−j) = k·(2·m·n − (m + n)·(k − 1) + (k − 1)·(2·k − 1)/3)
//
// over j = 1 … k = min(m, n) up to terms of second order.
func getrfFlops(rows, cols int) float64 {
	m, n := float64(rows), float64(cols)
	k := min(m, n)
	return k * (2*m*n - (m+n)*(k-1) + (k-1)*(2*k-1)/3)
}

// getrf returns the function of a version of op "getrf".
func getrf[T kernels.Element](l *cpu.LU[T]) func(*versions.Call) error {
	cache := new(listCache[T])
	return func(call *versions.Call) error {
		p := params[Getrf](call)
		tiles, m, n, piv := luArgs[T](call)
		x := cache.get()
		defer cache.put(x)
		x.blocks = blocks(x.blocks[:0], tiles)
		k := min(m, n)
		piv.Resize(k)
		var zero int
		if call.Gang != nil && l.Parts(m, n) > 1 {
			zero = l.GetrfTall(n, x.blocks, piv.Rows, versions.Scratch[T](call.Work, l.TallWork(m, n)), crew[T](call))
		} else {
			zero = l.Getrf(n, x.blocks, piv.Rows, versions.Scratch[T](call.Work, l.Work(m, n)))
		}
		piv.Info = info(p.Offset, zero)
		return nil
	}
}

// getrfHelp returns how many units a call of op "getrf" uses. They stay until its end, as they
// synchronize once a column.
func getrfHelp[T kernels.Element](l *cpu.LU[T]) func(*versions.Call) (units int, stay bool) {
	return func(call *versions.Call) (int, bool) {
		_, m, n, _ := luArgs[T](call)
		return l.Parts(m, n), true
	}
}

// cudaGetrf is the function of version "cuda" of op "getrf". It copies the tiles below one another
// into a column-major panel, the form that the library factors, and back. The pivots are computed on
// the device, and come to the host at the end, where later calls read them.
func cudaGetrf[T kernels.Element](call *versions.Call) error {
	p := params[Getrf](call)
	tiles, m, n, piv := luArgs[T](call)
	k := min(m, n)
	q := queueOf[T](call)
	if k == 0 {
		piv.Rows, piv.Info = piv.Rows[:0], 0
		return nil
	}
	panel, err := q.scratch(n, m)
	if err != nil {
		return err
	}
	a := q.columnMajor(panel)
	device, host, err := q.s.GetrfWork(q.typ, m, n, a)
	if err != nil {
		return err
	}
	work, err := q.Scratch(device)
	if err != nil {
		return err
	}
	own, err := q.Pinned(host)
	if err != nil {
		return err
	}
	pivots, rows, err := q.Ints(2 * k) // an int64 is two of them
	if err != nil {
		return err
	}
	code, codes, err := q.Ints(1)
	if err != nil {
		return err
	}
	// eachTile calls copy with each tile and its place in the panel.
	eachTile := func(copy func(rows int, tile, place cuda.Strided) error) error {
		top := 0
		for i, t := range tiles {
			h := t.(*kernels.Tile[T]).Rows
			if h == 0 {
				continue
			}
			if err := copy(h, q.rowMajor(q.operand(i)), q.rowMajorT(q.from(panel, 0, top))); err != nil {
				return err
			}
			top += h
		}
		return nil
	}
	if err := untilError(
		func() error {
			return eachTile(func(h int, tile, place cuda.Strided) error {
				return q.s.CopyUpper(q.typ, h, n, -h, tile, place, false)
			})
		},
		func() error { return q.s.Getrf(q.typ, m, n, a, pivots, work, own, code) },
		func() error {
			return eachTile(func(h int, tile, place cuda.Strided) error {
				return q.s.CopyUpper(q.typ, h, n, -h, place, tile, false)
			})
		},
	); err != nil {
		return err
	}
	q.AtEnd(func() error {
		zero, at := int(codes()[0]), rows()
		if zero < 0 {
			return &cuda.DeviceError{Op: "getrf", Code: zero, Reason: "a parameter is wrong"}
		}
		piv.Rows = piv.Rows[:0]
		for i := range k {
			row := int64(uint32(at[2*i])) | int64(at[2*i+1])<<32
			if row <= int64(i) || row > int64(m) {
				return &cuda.DeviceError{Op: "getrf", Code: i, Reason: "a pivot is no row below"}
			}
			piv.Rows = append(piv.Rows, int(row-1))
		}
		piv.Info = info(p.Offset, zero)
		return nil
	})
	return nil
}

// cudaGetrfMemory returns the bytes of scratch memory that cudaGetrf needs: the panel, as much again
// as an estimate of cuSOLVER's work, whose size only a stream can tell, the pivots and info.
func cudaGetrfMemory[T kernels.Element](call *versions.Call) int64 {
	_, m, n, _ := luArgs[T](call)
	return 2*int64(m)*int64(n)*int64(unsafe.Sizeof(*new(T))) + 8*int64(min(m, n)) + 5*scratchUnit
}
