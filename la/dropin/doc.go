// Package dropin makes programs that use gonum fast without a change to them:
//
//	if err := dropin.Install(); err != nil { … }
//	defer dropin.Restore()
//
// From then on gonum's blas64, blas32 and lapack64, and with them gonum's mat,
// compute the expensive routines with package la: on all cores, with
// assembly for the processor. [Restore] puts back what was there before.
//
// [BLAS] and [LAPACK] are the implementations that [Install] registers. They
// keep gonum's contracts to the letter: argument checks and their panics,
// row-major memory, which triangles and paddings are left alone, LAPACK's
// pivots, and reflectors and tau of the QR factorization as xGEQR2 makes
// them. What they do not speed up they pass on to gonum's own implementation,
// and so they do with problems too small to gain. LAPACK has more methods than
// gonum's lapack.Float64: the parts of eigenvalue problems, as in
// [LAPACK.Dgehrd], for programs that have called gonum's own.
//
// Nothing here calls blas64, blas32 or lapack64, except through those routines
// of gonum's that are passed on to: gonum's LAPACK calls blas64, which may be
// a BLAS, which calls nobody back.
//
// # Concurrency
//
// BLAS and LAPACK are safe for concurrent use; calls share the engine's
// workers. Install and Restore write variables of gonum's that are not
// guarded: they must not run beside anything that uses gonum's blas64, blas32,
// lapack64 or mat. A BLAS kept from before Restore goes on to work, with workers
// that end by themselves.
package dropin
