package kernels

import (
	"slices"

	"github.com/tessera-la/tessera/versions"
)

// Ops holds the ops on tiles of T.
type Ops[T Element] struct {
	Gemm  *versions.Op // parameter *Gemm
	Syrk  *versions.Op // parameter *Syrk
	Trsm  *versions.Op // parameter *Trsm
	Potrf *versions.Op // parameter *Potrf

	Getrf   *versions.Op // parameter *Getrf
	Getrfnp *versions.Op // parameter *Getrfnp
	Laswp   *versions.Op // parameter *Laswp
	Lapmt   *versions.Op // parameter *Lapmt
	Tntleaf *versions.Op // parameter *Tntleaf
	Tntnode *versions.Op // parameter *Tntnode
	Tntroot *versions.Op // parameter *Tntroot

	Trmm  *versions.Op // parameter *Trmm
	Geqrt *versions.Op // parameter *Geqrt
	Unmqr *versions.Op // parameter *Unmqr
	Tsqrt *versions.Op // parameter *Tsqrt
	Tsmqr *versions.Op // parameter *Tsmqr
	Ttqrt *versions.Op // parameter *Ttqrt
	Ttmqr *versions.Op // parameter *Ttmqr

	Larft *versions.Op // parameter *Larft
	Lacpy *versions.Op // parameter *Lacpy
	Recut *versions.Op // parameter *Recut
	Laset *versions.Op // parameter *Laset
	Plrnt *versions.Op // parameter *Plrnt
	Asum  *versions.Op // parameter *Asum
	Lange *versions.Op // parameter *Lange
	Lag2s *versions.Op // parameter *Lag2s
	Lag2d *versions.Op // parameter *Lag2d
	Lasym *versions.Op // parameter *Lasym
}

// All returns the ops in the order of the fields.
func (o Ops[T]) All() []*versions.Op {
	return []*versions.Op{o.Gemm, o.Syrk, o.Trsm, o.Potrf, o.Getrf, o.Getrfnp, o.Laswp,
		o.Lapmt, o.Tntleaf, o.Tntnode, o.Tntroot, o.Trmm, o.Geqrt, o.Unmqr, o.Tsqrt, o.Tsmqr, o.Ttqrt, o.Ttmqr,
		o.Larft, o.Lacpy, o.Recut, o.Laset, o.Plrnt, o.Asum, o.Lange, o.Lag2s, o.Lag2d, o.Lasym}
}

// Table lists for each op and element type the versions that this build
// carries. It is built by [NewTable], may be added to by [Table.Add], and is
// read-only from the first use of one of its ops on; it is then safe for
// concurrent use.
type Table struct {
	F32 Ops[float32]
	F64 Ops[float64]
}

// For returns the ops of t on tiles of T. The ops belong to t.
func For[T Element](t *Table) Ops[T] {
	if o, ok := any(t.F32).(Ops[T]); ok {
		return o
	}
	return any(t.F64).(Ops[T])
}

// All returns all ops of t: those on float32 in the order of the fields of
// [Ops], then the same on float64.
func (t *Table) All() []*versions.Op {
	return append(t.F32.All(), t.F64.All()...)
}

// Op returns the op called name ("gemm") on tiles of typ ("f32" or "f64"), or
// nil if there is none.
func (t *Table) Op(name, typ string) *versions.Op {
	for _, op := range t.All() {
		if op.Name == name && op.Type == typ {
			return op
		}
	}
	return nil
}

// Add makes v the most preferred version of op, one of t's. It must not be
// called once the op is in use. It panics with ErrVersion if op is not one of
// t's, v has no name or function, or op has a version of that name already.
func (t *Table) Add(op *versions.Op, v versions.Version) {
	if !slices.Contains(t.All(), op) || v.Name == "" || v.Run == nil || op.Version(v.Name) != nil {
		panic(ErrVersion)
	}
	op.Versions = slices.Insert(op.Versions, 0, v)
}
