// Package simplicial factors sparse symmetric positive definite matrices whose factor has so few entries in a column
// that columns one by one take less time than the dense matrices of package supernodal. Networks of power lines, of
// circuits and of roads are such matrices.
//
// The factorization is up-looking: row k of L is the solution of a triangular system with the rows before it.
//
//	┌─────┐
//	│ L   │     L·y = A(1…k−1, k)
//	├─────┼─┐
//	│ yᵀ  │d│   d² = A(k,k) − yᵀ·y
//	└─────┴─┘
//
// Columns of L are compressed. Those that have an entry in row k, and where it is, are known from the pattern.
//
// Reference: Davis, Direct Methods for Sparse Linear Systems (2006), chapter 4; Chen, Davis, Hager and Rajamanickam,
// Algorithm 887: CHOLMOD, ACM TOMS 35 (2008).
package simplicial
