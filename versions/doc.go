// Package versions describes the several versions of one operation — portable
// Go, AVX2, OpenBLAS, CUDA … — and chooses among them.
//
// An [Op] is what a task asks for ("gemm" on float64); a [Version] is one way
// to do it, with the [Constraints] a worker must meet. The [Selector] takes
// the one with the lowest expected time, and tries the others where that costs
// next to nothing; what it learns is a [Profile], which can
// be kept in a file between runs. [Selector.Explain] says why a version was
// chosen for a task.
//
// The choice is a pure function of the configuration, the profile and the
// calls under way: this package starts no goroutine and reads no clock; the
// runtime hands it the times.
//
// # How a version is chosen
//
// Of the versions that [Config] allows, those are eligible whose constraints
// the worker meets. Where one is left, it runs and is not timed. Otherwise,
// for each size class ([ClassOf]) of the op on that processor:
//
//  1. The version with the lowest mean time per unit of work runs, at first the
//     first one in order. It is timed until 32 runs are in its mean; if that
//     rises above the next one's, the next one takes its place.
//  2. The others are explored [Config.Explore] times each, as far as the
//     [Budget] of the call allows, the least explored one first. Of a version of
//     which no time is known, one run is under way at a time. As long as a
//     version is over eight times slower than the best it is explored no
//     further, nor is one that failed five times in a row. One that is less than
//     three times slower is explored in every process, three times: what a file
//     says may have been learned on a slow day.
//
// The first run of a version in a process is a warm-up. It counts as
// explored, but its time only stands in until there is another.
package versions
