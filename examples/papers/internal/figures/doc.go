// Package figures makes figures of the papers that Tessera follows in virtual time: the
// papers' programs, on their machines (package exec/sim/machinefile has them), with the
// schedulers of this module. What comes out stands beside what the papers publish.
//
// Speeds are the published ones. What is not published is a round number, or is taken from a figure
// of the paper; the figure's notes name it. Where the shape of a figure is another one, it says why.
//
// The files, from the bottom up: figure (what a figure is), program (the programs of Amela et al.
// as streams of tasks), cluster (PyCOMPSs as a machine), matmul, cholesky, qr, lu, traces and gpus (its
// figures),
// loops (those of DaphneSched), split (those of SplIter), hierarchy (those of Lordan et al.), all
// (their list).
package figures
