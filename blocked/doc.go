// Package blocked holds the tiled matrix and the tile algorithms. Most programs
// use it through package la, and directly for what la has not: matrices that
// stay in tiles from one operation to the next. Package blocked/file reads and
// writes matrix files.
//
// # Matrices
//
// A [Matrix] is a grid of tiles, of package [tiles]: [New] makes one of zeros, [From] copies any
// gonum matrix, and [View] shows memory of the caller's as tiles without copying. What makes,
// converts and measures matrices is in that package; the names that most programs need are
// here as well.
//
// # Partitions
//
// [Split] groups the blocks of a [Collection], which are rows of a dense or a sparse matrix or
// a program's own slices, by where they lie, for loops over their items: see [Partitions].
//
// # Algorithms
//
// A [Program] submits tile algorithms to a job of package exec, one task per
// tile operation:
//
//	job := runtime.NewJob(ctx)
//	p := blocked.NewProgram(job, kernels.For[float64](table))
//	chol.Potrf(p, a)                                                   // A = L·Lᵀ
//	p.Trsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, 1, a, b) // B = L⁻¹·B
//	err := job.Wait()
//
// Nothing waits between the two: a tile of B is solved for as soon as the
// tiles of L that it needs are there. [Program.Load] before them reads a in the
// same way, tile by tile while chol.Potrf has begun already. There is one file per
// algorithm, named after its LAPACK or BLAS routine: products and triangular systems here, and
// factorizations in packages chol, lu and qr, as functions of a Program.
package blocked
