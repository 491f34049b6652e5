package op

import (
	"fmt"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
)

// MaxThreads is the largest number of threads that [AddThreads] takes.
const MaxThreads = 1 << 10

// ThreadsError says why there are no versions of several threads.
type ThreadsError struct {
	Threads int
	Reason  string
}

func (e *ThreadsError) Error() string {
	return fmt.Sprintf("op: no versions of %d threads: %s", e.Threads, e.Reason)
}

// ThreadsVersion returns the name of the versions that call the C library of this build with so many
// threads: "mkl-2threads" for two, and "mkl" for one. It is "" if there is no library.
func ThreadsVersion(threads int) string {
	info, ok := cpu.BLASLibrary()
	if !ok || threads == 1 {
		return info.Name
	}
	return fmt.Sprintf("%s-%dthreads", info.Name, threads)
}

// AddThreads adds to each op of t that has a version of the C library another one, in which each call of the
// library has so many threads, under the name [ThreadsVersion]. Such a version has as many computing units
// as threads ([versions.Constraints]): a task waits until that many workers of one place are idle, and each
// of these lends its core to a thread of the library. With more workers than cores there are more threads
// than cores. That is for calls of milliseconds: in each, the workers that lend their cores fall asleep and wake
// up again, for threads of the library are other threads than theirs.
//
// The new versions are the most preferred ones, so t is for engines that name their versions, or learn
// which is the fastest. A call in two threads that takes .6 of the time looks the faster one to a selector;
// it keeps two workers from other tasks.
//
// With one thread, or versions that t has already, there is nothing to add. The error is a *ThreadsError:
// only MKL can do so. OpenBLAS 0.3.21 lets a call of several threads wait until another one has ended, in
// its builds with pthreads and with OpenMP, and those with pthreads have one number of threads for the
// process.
func AddThreads(t *kernels.Table, threads int) error {
	if threads < 1 || threads > MaxThreads {
		return &ThreadsError{threads, fmt.Sprintf("want 1 to %d", MaxThreads)}
	}
	if why := cpu.WhyNoThreads(); why != "" {
		return &ThreadsError{threads, why}
	}
	for _, o := range t.All() {
		v := o.Version(ThreadsVersion(1))
		if v == nil || o.Version(ThreadsVersion(threads)) != nil {
			continue
		}
		shared := *v
		shared.Name, shared.Help, shared.Run = ThreadsVersion(threads), nil, withThreads(threads, v.Run)
		shared.Constraints.Units = threads
		t.Add(o, shared)
	}
	return nil
}

// withThreads returns run with so many threads a call of the library. The gang lends its cores and has no
// other part in the call.
func withThreads(threads int, run func(*versions.Call) error) func(*versions.Call) error {
	return func(call *versions.Call) (err error) {
		alone := *call
		alone.Gang = nil
		cpu.ShareBLAS(threads, func(parts int, part func(i int)) {
			call.Parallel(parts, func(i int, _ *versions.Workspace) { part(i) })
		}, func() { err = run(&alone) })
		return err
	}
}
