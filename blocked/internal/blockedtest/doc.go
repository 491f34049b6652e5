// Package blockedtest supports the tests of package blocked and its subpackages.
//
// StartLocal and StartNodes start runtimes; Compute, Run and Must execute a Program there. Memory, Normal and Generated
// return matrices whose other elements are NaN, and Kept checks that an operation has not written outside its operands.
// An Element is a matrix as a function of i and j, for residuals.
package blockedtest
