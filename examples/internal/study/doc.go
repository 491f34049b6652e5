// Package study is what the studies of examples/papers on several nodes share: rows of numbers as values, ops, nodes in
// one process ([Nodes]) or in several ([Start], [Main]), and the comparison of several ways to compute the same result.
package study
