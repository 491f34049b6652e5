// Package bench makes the problems that labench runs, runs them with la, measures their times and checks the
// results by their residuals.
//
// A [Spec] has a part for each thing that a tool may mean: the [Problem], the workers of this machine ([Local]),
// nodes ([Remote]), and what learns of the runs ([Watch]).
//
// The files, from the bottom up: number, method, nodes, spec, result, operation (the table of operations), input and
// memory (what may go wrong), problem (what an operation with its matrices can do), plain and residual, matrices; kept
// (checkpoints); a file for each operation; distributed, distributedsolve and plan for matrices on nodes; create;
// meter, peak, cluster, validate; run, trial and rehearse.
package bench
