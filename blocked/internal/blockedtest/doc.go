// Package blockedtest supports the tests of package blocked and its subpackages. StartLocal and
// Compute run a Program. An Element is a matrix as a function of i and j, for residuals. Kept checks
// that an operation has not written outside its operands.
package blockedtest
