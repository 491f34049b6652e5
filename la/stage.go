package la

import "github.com/tessera-la/tessera/kernels/op"

// Stage is a stage of an [EigenSym], an [EigenSymGeneralized], an [Eigen] or an [SVD]: its name, how long it took, and its
// floating point operations. Flops counts all operations, as if nothing were deflated. It is 0 if they are not counted.
type Stage = op.Stage

// ReductionChoice holds the times of a reduction in one stage and in two that an [EigenSym] or an [SVD] foresaw, and the
// rates by which it foresaw them.
type ReductionChoice = op.ReductionChoice
