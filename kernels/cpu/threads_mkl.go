//go:build cgo && mkl && !openblas

package cpu

/*
#cgo CFLAGS: -fopenmp
#define _GNU_SOURCE
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

extern int MKL_Set_Num_Threads_Local(int);
extern void MKL_Set_Dynamic(int);

// tessera_team makes calls of this thread have n threads, which GNU's OpenMP library
// keeps for it, and stores their numbers. MKL would take no more than there are
// cores, and counts those of the calling thread.
static void tessera_team(int n, int *tids) {
	MKL_Set_Dynamic(0);
	MKL_Set_Num_Threads_Local(n);
#pragma omp parallel num_threads(n)
	{
		extern int omp_get_thread_num(void);
		tids[omp_get_thread_num()] = (int)syscall(SYS_gettid);
	}
}

// tessera_lend lets another thread run where this one may run, and nowhere else.
static void tessera_lend(int tid) {
	cpu_set_t set;
	if (tid > 0 && sched_getaffinity(0, sizeof set, &set) == 0)
		sched_setaffinity(tid, sizeof set, &set);
}
*/
import "C"

import "runtime"

// WhyNoThreads returns the reason why [ShareBLAS] is not to be had, or "".
func WhyNoThreads() string { return "" }

// ShareBLAS calls f, within which a call of the C library has n threads, the calling
// one among them. Other calls of the process keep their number.
//
// crew calls its function for parts 0 to n−1, each on a thread of its own if there are
// so many. Part 0 calls f. Each of the others gives the processors on which its thread
// may run to a thread of the library, and sleeps until f returns:
//
//	part 0   team ──► f: thread 0 of the library ────────► end
//	part 1        └─► lends its core to thread 1, sleeps ─► end
//
// Without that all threads would be on the core of the first, for a thread inherits
// the processors of the one that starts it. A part that begins late finds the call
// at its end, and crew may have fewer threads than parts.
//
// MKL has to take its threads from GNU's OpenMP library, as it does unless
// MKL_THREADING_LAYER says otherwise. Else they stay where the system puts them.
func ShareBLAS(n int, crew func(parts int, part func(i int)), f func()) {
	prepareBLAS()
	known, done := make(chan struct{}), make(chan struct{})
	tids := make([]C.int, n)
	crew(n, func(i int) {
		if i > 0 {
			<-known
			select {
			case <-done: // the threads are at something else
			default:
				C.tessera_lend(tids[i])
				<-done
			}
			return
		}
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		C.tessera_team(C.int(n), &tids[0])
		defer C.MKL_Set_Num_Threads_Local(0)
		close(known)
		f()
	})
}
