package op

import (
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// cudaPanels is a QR factorization on a device, panel by panel. pack copies ib columns to scratch
// memory column by column, the form that the library factors, and unpack copies them back:
//
//	        tiles       pack      panel    factor    panel    unpack   tiles
//
//	  ╲          R           ┌────┐          ┌────┐     ╲  R
//	   ╲    (or nothing) ──► │╲ R │          │╲ R │ ──►  ╲
//	┌────┬───┬────┐          │0 ╲ │  geqrf   │0 ╲ │     ┌────┬───┬────┐
//	│    │ A │    │          ├────┤ ───────► ├────┤     │    │ V │ C  │
//	│    │   │    │     ──►  │ A  │          │ V  │ ──► │    │   │    │
//	└────┴───┴────┘          └────┘          └────┘     └────┴───┴────┘
//
// larft computes T from G = Vᵀ·V and the factors tau of the reflectors. Products replace C, the
// columns on the right, by Hᵀ·C for H = I − V·T·Vᵀ:
//
//	W = Vᵀ·C,  W = Tᵀ·W (applyT),  C = C − V·W
//
// If R belongs to another tile, above A, V is a unit matrix on top of the block that replaces A. Then
// W = C1 + Vᵀ·C2 for the rows C1 of R's tile, and C1 = C1 − W.
type cudaPanels[T kernels.Element] struct {
	queue[T]
	k, ib       int    // reflectors, and columns of a panel
	panel, g, w stored // scratch memory for the transpose of a panel, for G and for W
	t           stored // T, a result
	tau         cuda.Ptr
	work        cuda.Ptr
	info        cuda.Ptr
}

// newCUDAPanels returns the factorization of k of n columns, with its scratch memory. rows
// returns the number of rows of the panel of w columns at column j.
func newCUDAPanels[T kernels.Element](call *versions.Call, n, k, ib int, rows func(j, w int) int,
	t stored) (f *cudaPanels[T], err error) {
	f = &cudaPanels[T]{queue: queueOf[T](call), k: k, ib: min(ib, k), t: t}
	tall, bytes := 0, int64(0)
	err = f.eachPanel(func(j, w int) error {
		m := rows(j, w)
		tall = max(tall, m)
		b, err := f.s.GeqrfWork(f.typ, m, w, cuda.Matrix{Ld: m})
		bytes = max(bytes, b)
		return err
	})
	if err != nil {
		return nil, err
	}
	scratch := func(r, c int) (x stored) {
		if err == nil {
			x, err = f.scratch(r, c)
		}
		return x
	}
	f.panel, f.g, f.w = scratch(f.ib, tall), scratch(f.ib, f.ib), scratch(f.ib, n)
	f.tau = scratch(1, f.ib).at
	if err == nil {
		f.work, err = f.Scratch(bytes)
	}
	var codes func() []int32
	if err == nil {
		f.info, codes, err = f.Ints(1)
	}
	if err != nil {
		return nil, err
	}
	f.AtEnd(func() error {
		if code := int(codes()[0]); code != 0 {
			return &cuda.DeviceError{Op: "geqrf", Code: code, Reason: "a parameter is wrong"}
		}
		return nil
	})
	return f, nil
}

// eachPanel calls do with the first column and the width of each panel.
func (f *cudaPanels[T]) eachPanel(do func(j, w int) error) error {
	for j := 0; j < f.k; j += f.ib {
		if err := do(j, min(f.ib, f.k-j)); err != nil {
			return err
		}
	}
	return nil
}

// pack copies a rows×w block of a tile into the panel, from row i of the panel on. Elements (r,
// c) with c − r < d become 0; d = −rows copies all.
func (f *cudaPanels[T]) pack(rows, w, d int, tile stored, i int) error {
	return f.s.CopyUpper(f.typ, rows, w, d, f.rowMajor(tile), f.rowMajorT(f.from(f.panel, 0, i)), true)
}

// unpack is the inverse of pack. Elements of the tile below the diagonal d stay as they are.
func (f *cudaPanels[T]) unpack(rows, w, d int, tile stored, i int) error {
	return f.s.CopyUpper(f.typ, rows, w, d, f.rowMajorT(f.from(f.panel, 0, i)), f.rowMajor(tile), false)
}

// factor factors the panel, a rows×w matrix.
func (f *cudaPanels[T]) factor(rows, w int) error {
	return f.s.Geqrf(f.typ, rows, w, f.columnMajor(f.panel), f.tau, f.work, f.info)
}

// larft computes T of the panel at column j from G = Vᵀ·V. vt is Vᵀ, w×rows, without the unit
// triangle on top if that is not stored.
func (f *cudaPanels[T]) larft(j, w, rows int, vt stored) error {
	if err := f.gemm(blas.NoTrans, blas.Trans, w, w, rows, 1, vt, vt, 0, f.g); err != nil {
		return err
	}
	return f.s.Larft(f.typ, w, f.columnMajor(f.g), f.tau, f.rowMajor(f.from(f.t, 0, j)))
}

// applyT computes W = Tᵀ·W for the panel at column j and c columns of W.
func (f *cudaPanels[T]) applyT(j, w, c int) error {
	return f.trmm(blas.Left, blas.Upper, blas.Trans, blas.NonUnit, w, c, 1, f.from(f.t, 0, j), f.w, f.w)
}

// panelsMemory returns the bytes that a factorization needs whose largest panel has that many
// rows: ib·rows for the panel, ib·ib for G, ib·n for W, ib for tau, and 2·ib·rows as an estimate
// of cuSOLVER's workspace, whose size only a stream can tell. The six allocations are each
// rounded up to scratchUnit.
func panelsMemory[T kernels.Element](rows, n, k, ib int) int64 {
	ib = min(ib, k)
	elements := int64(ib) * int64(3*rows+ib+n+1)
	return elements*int64(scalar.Size[T]()) + 6*scratchUnit
}
