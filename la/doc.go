// Package la is dense linear algebra on all cores of a machine: products,
// triangular systems and the Cholesky, LU and QR factorizations of float32 and
// float64 matrices, computed as graphs of tasks on tiles.
//
// It reads and writes gonum's matrices and vectors: every mat.Matrix is a
// Source[float64], *mat.Dense is a Sink[float64], a result of one column can go
// into a *mat.VecDense, and so on. For float32, and for memory of your own, there
// are [General], [Symmetric], [Triangular] and [Vector].
//
//	var chol la.Cholesky[float64]
//	if err := chol.Factorize(a); err != nil { … }
//	err := chol.SolveTo(&x, b)
//
// A matrix of deficient rank has [PivotedQR], and a symmetric one that is not definite [LDL].
// Rows of a least-squares problem come and go in [ThinQR]. Band matrices have [BandLU] and [BandCholesky].
//
// [Solve] looks at a matrix and takes the method that it calls for, [SolveSPD]
// and [SolveGeneral] factor in float32 and refine in float64.
//
// Methods that take long have options after their operands, as in
// chol.Factorize(a, la.WithContext(ctx)): see [CallOption].
//
// # What there is not
//
// There are no generalized eigenproblems of matrices that are not symmetric ([EigenSymGeneralized] has those of symmetric
// ones), no updates of an [LU], and no complex numbers. Use gonum's mat for them. With la/dropin installed, the products
// and triangular systems inside gonum's code run here. Sparse matrices and their Cholesky factorization are in la/csr,
// iterative methods in la/krylov.
//
// # Engines
//
// An [Engine] holds the workers and what was learned about the versions of
// each operation. A nil *Engine, as in the zero Cholesky above, stands for
// the default options with workers that end by themselves; make one with
// [NewEngine] to keep them, to choose tile size, scheduling policy and
// versions, to follow progress, or to record a trace.
//
// An engine has a worker for each physical core that the process may use, unless
// Options.Workers or the environment variable TESSERA_WORKERS says another number.
// [Engine.Info] says what an engine computes with: workers, versions, a C library. Loops and
// sparse matrices share its workers by way of [Engine.Runtime].
//
// # Errors
//
// What depends on data, files or time is returned: *[ShapeError],
// *[NonFiniteError], *[NotPositiveDefiniteError], *[SingularError], *[OverflowError],
// *[BreakdownError], *[CheckpointError], the cause of a context's end, an
// *exec.TaskError where a version has failed, or exec.ErrClosed. A gonum
// mat.Condition says that a matrix is singular to working precision, from gonum's
// mat.ConditionTolerance on in float64; if it is finite there is a solution beside it,
// as with gonum. Misuse that no data can
// cause panics: every method of a [Cholesky], [LU], [QR] and their like that needs a
// factorization panics with [ErrNotFactorized] where there is none, and raw
// matrices whose fields make no sense — no Uplo, too small a Stride, too little
// Data — panic with a constant of package blocked; its NewGeneral, NewSymmetric
// and NewTriangular check them and return an error.
package la
