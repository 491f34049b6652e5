// Package blockedtest holds what the tests of package blocked and of those below it share:
// runtimes, programs that run to their end, and matrices as functions of their elements.
package blockedtest
