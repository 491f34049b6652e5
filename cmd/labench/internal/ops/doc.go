// Package ops has the commands that run one operation, as labench cholesky does, on this machine or on a cluster;
// what they report; and what is to be done about errors.
//
// The files, from the bottom up: remedies, flags, report, job, op.
package ops
