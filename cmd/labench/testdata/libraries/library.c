// What a BLAS and LAPACK library does with all its threads: an operation of
// order N, or for LU and QR of MxN, column-major and in place, on memory that has
// been touched; bringing the input back is not timed. Prints the best and the
// median of the runs in GFLOP/s, of which QR has 4/3·N³. The library is loaded by
// its name. With -DSINGLE all is in float.
//
//	gcc -O2 library.c -ldl -o library && OMP_NUM_THREADS=2 ./library libopenblas.so.0 cholesky 4096 5
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef SINGLE
typedef float real;
#define TYPE "s"
#else
typedef double real;
#define TYPE "d"
#endif

typedef void gemm_t(const char *, const char *, int *, int *, int *, const real *, real *, int *, real *, int *, const real *, real *, int *);
typedef void potrf_t(const char *, int *, real *, int *, int *);
typedef void getrf_t(int *, int *, real *, int *, int *, int *);
typedef void geqrf_t(int *, int *, real *, int *, real *, real *, int *, int *);

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void *need(size_t bytes) {
	void *p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
	if (!p) {
		fprintf(stderr, "library: out of memory\n");
		exit(1);
	}
	return p;
}

int main(int argc, char **argv) {
	if (argc != 5) {
		fprintf(stderr, "usage: library LIBRARY gemm|cholesky|lu|qr N RUNS\n");
		return 2;
	}
	const char *op = argv[2];
	int m = atoi(argv[3]), runs = atoi(argv[4]), info = 0;
	const char *by = strchr(argv[3], 'x');
	int n = by ? atoi(by + 1) : m;
	void *library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
	if (!library) {
		fprintf(stderr, "library: %s\n", dlerror());
		return 3;
	}
	const struct {
		const char *op, *name;
		double flops; // of N³
	} all[] = {{"gemm", TYPE "gemm_", 2}, {"cholesky", TYPE "potrf_", 1. / 3}, {"lu", TYPE "getrf_", 2. / 3}, {"qr", TYPE "geqrf_", 4. / 3}};
	enum { GEMM, CHOLESKY, LU, QR, NONE } what = GEMM;
	while (what < NONE && strcmp(op, all[what].op))
		what++;
	if (what == NONE) {
		fprintf(stderr, "library: no operation %s\n", op);
		return 2;
	}
	const char *name = all[what].name;
	double k = m < n ? m : n;
	double flops = all[what].flops * (3 * k * m * n - 1.5 * k * k * (m + n) + k * k * k);
	void *f = dlsym(library, name);
	if (!f || m < 1 || n < 1 || runs < 1 || (m != n && what < LU)) {
		fprintf(stderr, "library: %s has no %s, or not for %s, or RUNS is not positive\n", argv[1], name, argv[3]);
		return 3;
	}

	size_t count = (size_t)m * n, size = count * sizeof(real);
	real *a = need(size), *b = need(size), *c = need(size);
	real *tau = need(n * sizeof(real)), *work = need((size_t)n * 256 * sizeof(real));
	double *took = need(runs * sizeof(double));
	int *pivots = need(n * sizeof(int)), length = n * 256;
	for (size_t i = 0; i < count; i++) {
		a[i] = drand48() - 0.5;
		b[i] = drand48() - 0.5;
	}
	for (int i = 0; what == CHOLESKY && i < n; i++)
		a[(size_t)i * n + i] += n; // only one triangle is read
	memset(c, 0, size);
	const real one = 1, zero = 0;
	for (int r = -1; r < runs; r++) { // the first one is not counted
		if (what != GEMM)
			memcpy(c, a, size);
		double start = now();
		switch (what) {
		case GEMM:
			((gemm_t *)f)("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
			break;
		case CHOLESKY:
			((potrf_t *)f)("L", &n, c, &n, &info);
			break;
		case LU:
			((getrf_t *)f)(&m, &n, c, &m, pivots, &info);
			break;
		default:
			((geqrf_t *)f)(&m, &n, c, &m, tau, work, &length, &info);
		}
		if (r >= 0)
			took[r] = now() - start;
		if (info) {
			fprintf(stderr, "library: %s: info = %d\n", name, info);
			return 1;
		}
	}
	qsort(took, runs, sizeof(double), ascending);
	printf("%.1f %.1f\n", flops / took[0] / 1e9, flops / took[runs / 2] / 1e9);
	return 0;
}
