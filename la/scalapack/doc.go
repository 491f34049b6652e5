// Package scalapack copies matrices that a program has distributed for ScaLAPACK to Tessera and back. It reads
// and writes the local arrays in the memory of the processes, as their descriptors say.
//
//	                              on every process
//	s, err := scalapack.NewProcess(scalapack.Grid{P: 2, Q: 2}, rank)
//	a, err := scalapack.Share(s, "A", desc, local)  // its part of A, column-major
//	…                                               // s.Ops and Errors among cluster.Options
//
//	                              on the process that is the driver
//	err = a.Load(ctx, d, t)                         // tiles of t from the arrays
//	err = la.NewCholesky[float64](e).Factorize(t, la.WithContext(ctx), la.InPlace())
//	err = a.Store(ctx, d, t)                        // and back
//
// # Which process moves what
//
// Only the process of an array reads or writes it. For that each process has ops whose names contain its
// number. No other node has these ops, so the runtime can give their tasks only to that process. No element
// goes through the driver. If a tile lies in the array of one process, as all tiles do if MB = NB = nb, a task
// of that process copies the tile, which stays there. Otherwise each process packs its part of the tile, in
// the order of rows and columns in its array. Then a task on the node of the tile assembles the parts:
//
//	   array of (0,0) ── pack ──┐
//	   array of (0,1) ── pack ──┤
//	   array of (1,0) ── pack ──┼── assemble ──► tile     Load
//	   array of (1,1) ── pack ──┘
//
//	tile ── cut ──► part ── unpack ──► array of (p,q)     Store
//
// So every element moves between nodes at most once. The rows of a tile in a row of the grid form whole
// blocks of MB rows, except perhaps the first and the last block; likewise the columns.
//
// The package does not need MPI: the nodes may use any transport.
//
// # Routines as tasks
//
// [Submit] submits a task of several ranks whose op calls a routine of ScaLAPACK. Each rank has the tiles of its process
// as operands. [Locals] copies them into local arrays, and back. Other tasks of the program come before it and after it.
//
// Reference: L. S. Blackford et al., ScaLAPACK Users' Guide, SIAM, 1997, chapter 4.
package scalapack
