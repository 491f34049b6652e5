// Package figures makes figures of the papers that Tessera follows, in virtual time: it runs the papers'
// programs on models of their machines (package exec/sim/machinefile) with the schedulers of this module. The
// results are shown beside the published ones.
//
// Speeds are the published ones. Unpublished parameters are round numbers, or are taken from a figure of the
// paper, which the notes name. If the shape of a figure differs, the notes say why.
//
// The files, from the bottom up: figure (what a figure is), program (the programs of Amela et al. as streams of
// tasks), cluster (PyCOMPSs as a machine), matmul, cholesky, qr, lu, traces and gpus (its figures), loops
// (those of DaphneSched), split (those of SplIter), hierarchy (those of Lordan et al.), all (their list).
package figures
