package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// list returns the ops on tiles of T: first those of BLAS and LAPACK, then those of tile
// algorithms, then those that copy and measure. A new op is a file of this package, with its
// parameter and its definition, and a line here; package kerneltest has its suite.
func list[T kernels.Element]() []definition[T] {
	return []definition[T]{
		gemmOp[T](),
		syrkOp[T](),
		trsmOp[T](),
		trmmOp[T](),
		potrfOp[T](),
		getrfOp[T](),
		getrfnpOp[T](),
		laswpOp[T](),
		geqrtOp[T](),
		unmqrOp[T](),
		lapmtOp[T](),
		tsqrtOp[T](),
		tsmqrOp[T](),
		ttqrtOp[T](),
		ttmqrOp[T](),
		larftOp[T](),
		lasrOp[T](),
		chudOp[T](),
		chudmOp[T](),
		sytrfOp[T](),
		pbtrfOp[T](),
		pbtrsOp[T](),
		gbtrfOp[T](),
		gbtrsOp[T](),
		geqp3Op[T](),
		ormlqOp[T](),
		syevdOp[T](),
		sygvdOp[T](),
		gesddOp[T](),
		geevOp[T](),
		sy2sbqrOp[T](),
		sy2sbmmOp[T](),
		sb2stOp[T](),
		stedcOp[T](),
		laed0Op[T](),
		laed4Op[T](),
		laed3Op[T](),
		ormsb2stOp[T](),
		ormsy2sbOp[T](),
		tntleafOp[T](),
		tntnodeOp[T](),
		tntrootOp[T](),
		lacpyOp[T](),
		lasetOp[T](),
		lasymOp[T](),
		recutOp[T](),
		plrntOp[T](),
		asumOp[T](),
		langeOp[T](),
		lag2sOp[T](),
		lag2dOp[T](),
	}
}

// ops returns the ops on tiles of T with their versions.
func ops[T kernels.Element]() (all []*versions.Op) {
	i := implementations[T]()
	for _, d := range list[T]() {
		all = append(all, d.op(i))
	}
	return all
}

// Names returns the names of the ops, without types, in the order of [list].
func Names() (all []string) {
	for _, d := range list[float64]() {
		all = append(all, d.Name)
	}
	return all
}

// About describes an op in a few words, by its name without a type. It returns "" for an op of
// another package.
func About(name string) string {
	for _, d := range list[float64]() {
		if d.Name == name {
			return d.about
		}
	}
	return ""
}
