// Package blocked holds the tiled matrix and the tile algorithms. Most programs use it through
// package la. They use it directly for matrices that stay in tiles from one operation to the next,
// which la does not offer. Package blocked/file reads and writes matrix files, and package blocked/parts
// divides rows and tiles into partitions for loops.
//
// # Matrices
//
// A [Matrix] is a grid of tiles. [New] makes a matrix of zeros, [From] copies any gonum matrix, and
// [View] presents the caller's memory as tiles without a copy. Package [tiles] makes, converts and
// measures matrices; the names that most programs need are here as well.
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
// Nothing waits between the two: a tile of B is solved for as soon as the tiles of L that it needs
// are there. In the same way, [Program.Load] before them reads a tile by tile, while chol.Potrf
// already works on the first tiles.
//
// There is one file per algorithm, named after its LAPACK or BLAS routine. Products and triangular
// systems are methods of Program in this package. Factorizations are functions that take a Program,
// in packages chol, lu and qr.
package blocked
