// Package explain says why p workers are not p times as fast as one. For one machine it runs an operation with
// one worker and with all (labench explain). For a run on several nodes it accounts for the time of their
// workers.
//
// The files, from the bottom up: losses, nodes, report, explain.
package explain
