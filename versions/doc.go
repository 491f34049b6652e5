// Package versions describes the several versions of one operation — portable
// Go, AVX2, OpenBLAS, CUDA … — and chooses among them.
//
// An [Op] is what a task asks for ("gemm" on float64); a [Version] is one way
// to do it, with the [Constraints] a worker must meet. The [Selector] runs
// each eligible version a few times per size class and from then on takes the
// one with the lowest expected time; what it learns is a [Profile], which can
// be kept in a file between runs. [Selector.Explain] says why a version was
// chosen for a task.
//
// The choice is a pure function of the profile and the call: this package
// starts no goroutine and reads no clock; the runtime hands it the times.
package versions
