// Package ops provides the commands that run one operation, such as labench cholesky, on this machine or on a
// cluster, their reports, and remedies for errors.
//
// The files, from the bottom up: remedies, flags, report, job, op.
package ops
