package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Getrfnp is the parameter of op "getrfnp": the LU factorization without row interchanges of a
// panel whose rows are in order already,
//
//	A = L·U.
//
// Operands: those of op "getrf"; the Rows of the *Pivots (out) get length 0. A zero pivot leaves
// the column below it unchanged.
type Getrfnp struct {
	Offset int // global index of the panel's first column
}

// Validate returns an error if a field is out of range.
func (p *Getrfnp) Validate() error { return check("getrfnp", p) }

// getrfnpOp defines op "getrfnp".
func getrfnpOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "getrfnp", Work: getrfWork[T], NewParams: fresh[Getrfnp]},
		about: "LU factorization without pivoting, A = LU",
		run:   getrfnp[T],
	}
}

// getrfnp returns the function of a version of op "getrfnp".
func getrfnp[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	cache := new(listCache[T])
	return func(call *versions.Call) error {
		p := params[Getrfnp](call)
		tiles, m, n, piv := luArgs[T](call)
		x := cache.get()
		defer cache.put(x)
		x.blocks = blocks(x.blocks[:0], tiles)
		piv.Rows, piv.Info = piv.Rows[:0],
			info(p.Offset, by.lu.Getrfnp(n, x.blocks, versions.Scratch[T](call.Work, by.lu.Work(m, n))))
		return nil
	}
}
