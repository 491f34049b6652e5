// Package explain says why workers are not so many times as fast as one: of one machine, for which it runs an
// operation with one worker and with all (labench explain), and of the nodes of a run on several.
//
// The files, from the bottom up: losses, nodes, report, explain.
package explain
