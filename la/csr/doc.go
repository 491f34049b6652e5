// Package csr is products of sparse matrices on the workers of a runtime. A [Matrix] is a view
// of a CSR of github.com/james-bowman/sparse: its storage, and loops of our own over it, in
// blocks of rows with about equally many entries.
//
//	a, err := csr.New(rt, m) // m is a *sparse.CSR
//	err = a.MulVecTo(ctx, y, false, x)
//
// A program that has an la.Engine, too, gives its Runtime for rt: then both share one set of
// workers, and the matrix can be used until the engine is closed.
//
// [Read] reads a Matrix Market file, and [FromCOO] takes entries in any order, neither of them
// by way of a dense matrix. A Matrix is an operator for the iterative methods of package
// la/krylov and a parts.Collection of its rows.
//
// A [Distributed] is a matrix whose blocks of rows are on the nodes of a cluster, which may have
// made or read them themselves: for matrices that fit into no single machine.
//
// What is not stored is not multiplied: 0 that is not stored times NaN is 0. What is stored
// propagates NaN and infinities.
package csr
