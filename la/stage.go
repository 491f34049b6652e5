package la

import "github.com/tessera-la/tessera/kernels/op"

// Stage is a stage of an [EigenSym], an [EigenSymGeneralized], an [Eigen] or an [SVD]: its name, how long it took, and the
// floating point operations that it has, none of which counts as saved by deflation. Flops is 0 if they are not counted.
type Stage = op.Stage

// ReductionChoice is why an [EigenSym] or an [SVD] reduced its matrix in one stage or in two: the times that both were
// foreseen to take, and by which rates.
type ReductionChoice = op.Choice
