// Package study is what the examples on several nodes share: rows of numbers as values, ops, nodes in one
// process, and the comparison of several ways to compute the same result.
package study
