package op

import (
	"unsafe"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// cudaPanels is a QR factorization on a device, panel by panel: ib columns go to
// scratch memory column by column, the form that the library factors, and back,
//
//	        tiles                 panel                tiles
//
//	  ╲          R           ┌────┐          ┌────┐     ╲  R
//	   ╲    (or nothing) ──► │╲ R │          │╲ R │ ──►  ╲
//	┌────┬───┬────┐          │0 ╲ │  geqrf   │0 ╲ │     ┌────┬───┬────┐
//	│    │ A │    │          ├────┤ ───────► ├────┤     │    │ V │ C  │
//	│    │   │    │     ──►  │ A  │          │ V  │ ──► │    │   │    │
//	└────┴───┴────┘          └────┘          └────┘     └────┴───┴────┘
//
// T follows from G = Vᵀ·V and the factors of the reflectors, and the columns on
// the right, C, become Hᵀ·C for H = I − V·T·Vᵀ by products:
//
//	W = Vᵀ·C,  W = Tᵀ·W,  C = C − V·W
//
// Below R, V is a unit matrix on top of what has replaced A: so W = C1 + Vᵀ·C2 for
// the rows C1 of R's tile, and C1 = C1 − W.
type cudaPanels[T kernels.Element] struct {
	queue[T]
	k, ib   int    // reflectors, and columns of a panel
	p, g, w stored // the transpose of a panel; G; W
	t       stored // the result
	tau     cuda.Ptr
	work    cuda.Ptr
	info    cuda.Ptr
}

// newCUDAPanels returns the factorization of k of n columns, with room for it; rows
// returns the rows of the panel of w columns that begins at column j.
func newCUDAPanels[T kernels.Element](call *versions.Call, n, k, ib int, rows func(j, w int) int, t stored) (f *cudaPanels[T], err error) {
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
	f.p, f.g, f.w = scratch(f.ib, tall), scratch(f.ib, f.ib), scratch(f.ib, n)
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

// eachPanel calls do with the first column of each panel and its width.
func (f *cudaPanels[T]) eachPanel(do func(j, w int) error) error {
	for j := 0; j < f.k; j += f.ib {
		if err := do(j, min(f.ib, f.k-j)); err != nil {
			return err
		}
	}
	return nil
}

// strided returns x as it is stored: rows are far apart.
func (q queue[T]) strided(x stored) cuda.Strided {
	return cuda.Strided{Data: x.at, Row: max(1, int(x.pitch/q.size)), Col: 1}
}

// across returns xᵀ, where columns are: a panel, say, which is stored as its transpose.
func (q queue[T]) across(x stored) cuda.Strided {
	s := q.strided(x)
	return cuda.Strided{Data: s.Data, Row: s.Col, Col: s.Row}
}

// pack copies w columns of a tile to the panel from its row i on: the rows rows of
// which all, or those on and above the diagonal d, count. The others become 0.
func (f *cudaPanels[T]) pack(rows, w, d int, tile stored, i int) error {
	return f.s.CopyUpper(f.typ, rows, w, d, f.strided(tile), f.across(f.from(f.p, 0, i)), true)
}

// unpack copies them back. What lies below the diagonal d of the tile stays.
func (f *cudaPanels[T]) unpack(rows, w, d int, tile stored, i int) error {
	return f.s.CopyUpper(f.typ, rows, w, d, f.across(f.from(f.p, 0, i)), f.strided(tile), false)
}

// factor factors the panel.
func (f *cudaPanels[T]) factor(rows, w int) error {
	return f.s.Geqrf(f.typ, rows, w, f.turned(f.p), f.tau, f.work, f.info)
}

// triangle computes the T of the panel that begins at column j, where V has so
// many rows that are stored, or all; vt is the transpose of these.
func (f *cudaPanels[T]) triangle(j, w, rows int, vt stored) error {
	if err := f.gemm(blas.NoTrans, blas.Trans, w, w, rows, 1, vt, vt, 0, f.g); err != nil {
		return err
	}
	return f.s.Larft(f.typ, w, f.turned(f.g), f.tau, f.strided(f.from(f.t, 0, j)))
}

// middle computes W = Tᵀ·W for the panel that begins at column j and c columns.
func (f *cudaPanels[T]) middle(j, w, c int) error {
	return f.trmm(blas.Left, blas.Upper, blas.Trans, blas.NonUnit, w, c, 1, f.from(f.t, 0, j), f.w, f.w)
}

func checkIB(ib int) {
	if ib < 1 {
		panic(cpu.ErrBlock)
	}
}

// panelsMemory returns what a factorization needs whose largest panel has so many
// rows. Of the library's work it is a guess.
func panelsMemory[T kernels.Element](rows, n, k, ib int) int64 {
	ib = min(ib, k)
	elements := int64(ib) * int64(3*rows+ib+n+1)
	return elements*int64(unsafe.Sizeof(*new(T))) + 6*scratchUnit
}
