#!/usr/bin/env bash
# OpenBLAS 0.3.21 (Debian 12): products of several threads each, which two threads of a program
# start, run one after the other: a small one, which a hundredth of a second suffices for, waits
# until a large one has ended. With one thread each they run at once. It is so in the build with
# pthreads and in that with OpenMP, whose callers have numbers of threads of their own. MKL runs
# both at once.
# It needs a C compiler and Debian's package registry.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get -q download libopenblas0-pthread=0.3.21+ds-4 libopenblas0-openmp=0.3.21+ds-4 libgomp1=12.2.0-14+deb12u1 \
	libgfortran5=12.2.0-14+deb12u1 libquadmath0=12.2.0-14+deb12u1 >/dev/null
for deb in *.deb; do dpkg -x "$deb" root; done
lib=$dir/root/usr/lib/$(uname -m)-linux-gnu
cat >main.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

char *openblas_get_config(void);
void openblas_set_num_threads(int);
void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *, const int *,
	const double *, const int *, const double *, double *, const int *);

static int threads;
static void (*openmp)(int); // the caller's own number
static pthread_barrier_t together;
static double end[2];

static void *product(void *large) {
	int n = large ? 4000 : 400;
	double one = 1, *a = calloc((size_t)n * n, 8), *c = calloc((size_t)n * n, 8);
	if (openmp)
		openmp(threads);
	pthread_barrier_wait(&together);
	if (!large)
		usleep(100000); // the large one is at work
	dgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &one, c, &n);
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	end[large != NULL] = t.tv_sec + 1e-9 * t.tv_nsec;
	return NULL;
}

int main(int argc, char **argv) {
	threads = atoi(argv[1]);
	openmp = (void (*)(int))dlsym(RTLD_DEFAULT, "omp_set_num_threads");
	openblas_set_num_threads(threads);
	pthread_barrier_init(&together, NULL, 2);
	pthread_t t[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, product, i ? "" : NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%.15s, %s, %d thread%s a product: the small one ends %s the large one\n", openblas_get_config(),
		openmp ? "OpenMP" : "pthreads", threads, threads > 1 ? "s" : "", end[0] < end[1] ? "before" : "after");
	return 0;
}
END
cc main.c -o main "$lib/openblas-pthread/libopenblas.so.0" -Wl,-rpath-link,"$lib" -lpthread -ldl
for build in pthread openmp; do
	for threads in 1 2; do
		env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE LD_LIBRARY_PATH="$lib/openblas-$build:$lib" ./main "$threads"
	done
done | tee output
cat >expected <<'END'
OpenBLAS 0.3.21, pthreads, 1 thread a product: the small one ends before the large one
OpenBLAS 0.3.21, pthreads, 2 threads a product: the small one ends after the large one
OpenBLAS 0.3.21, OpenMP, 1 thread a product: the small one ends before the large one
OpenBLAS 0.3.21, OpenMP, 2 threads a product: the small one ends after the large one
END
diff expected output >/dev/null || { echo "changed: this is what it was:"; cat expected; exit 1; }
