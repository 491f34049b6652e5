// Package eig holds the stages of the eigendecomposition of a symmetric matrix in tiles: its reduction to a band, the
// band's to tridiagonal form, the eigenproblem of that, and the transformations of eigenvectors back. There is one file for
// each LAPACK routine. Functions submit tasks to a [blocked.Program], and several may follow one another in a Program
// without waiting.
package eig
