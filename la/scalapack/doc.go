// Package scalapack brings matrices that a program has distributed for ScaLAPACK to Tessera and
// back: from and into the local arrays of its processes, in memory, as their descriptors say.
//
//	                              on every process
//	s, err := scalapack.NewProcess(scalapack.Grid{P: 2, Q: 2}, rank)
//	a, err := scalapack.Share(s, "A", desc, local)  // its part of A, column-major
//	…                                               // s.Ops and Errors among cluster.Options
//
//	                              on the one that drives
//	err = a.Load(ctx, d, t)                         // tiles of t from the arrays
//	err = la.NewCholesky[float64](e).FactorizeInPlace(ctx, t)
//	err = a.Store(ctx, d, t)                        // and back
//
// # Who moves what
//
// Only the process of an array touches it: by ops of its own name, which no other node has, so
// that the runtime can give their tasks to no other one. Nothing goes through the driver. Where
// a tile lies in the array of one process, as all do if MB = NB = nb, a task of that process
// copies it, and the tile stays there. Otherwise each process packs what it has of a tile, in
// the order of its rows and columns there, and a task puts the parts together where the tile
// is to be:
//
//	   array of (0,0) ── pack ──┐
//	   array of (0,1) ── pack ──┤
//	   array of (1,0) ── pack ──┼── assemble ──► tile     Load
//	   array of (1,1) ── pack ──┘
//
//	tile ── cut ──► part ── unpack ──► array of (p,q)     Store
//
// So every element moves once at most. Rows of a tile that a row of the grid has are those of
// whole blocks of MB, but for the first and the last; and so the columns.
//
// Nothing here needs MPI: nodes of any transport will do.
//
// Reference: L. S. Blackford et al., ScaLAPACK Users' Guide, SIAM, 1997, chapter 4.
package scalapack
