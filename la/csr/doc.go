// Package csr computes products of sparse matrices on the workers of a runtime. A [Matrix] is a view of a
// CSR of github.com/james-bowman/sparse: it uses that storage, and its own parallel loops over blocks of
// rows with about equally many entries.
//
//	a, err := csr.New(rt, m) // m is a *sparse.CSR
//	err = a.MulVecTo(ctx, y, false, x)
//
// A program that also has an la.Engine passes the Runtime of the engine as rt. Then both share one set of
// workers, and the matrix can be used until the engine is closed.
//
// [Read] reads a Matrix Market file, and [FromCOO] takes entries in any order. Neither makes a dense
// matrix. A Matrix is an operator for the iterative methods of package la/krylov, and a parts.Collection of
// its rows. A [Single] is such an operator with elements in float32. [NewJacobi], [NewBlockJacobi], [NewSSOR],
// [NewIC] and [NewILU] make preconditioners, and [NewDistributedILU] makes one on nodes.
//
// A [Distributed] is a matrix whose blocks of rows are on the nodes of a cluster. The nodes can make or read
// the blocks themselves, so the matrix need not fit into any single machine.
//
// Products skip elements that are not stored: such a zero times NaN is 0. Stored elements, including stored
// zeros, propagate NaN and infinities.
package csr
