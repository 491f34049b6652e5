// What y = A·x could take on this machine: A as in BenchmarkMulVec, 2^20 rows of 16 entries near
// the diagonal, columns in 32 bits, on two threads. Prints the best of the runs: the triad, and
// the plain loop over rows by OpenMP.
//
//	gcc -O2 -march=native -fopenmp spmv_openmp.c && ./a.out 101
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define N (1l << 20)
#define ROW 16
#define THREADS 2

// large returns memory in large pages.
static void *large(size_t bytes) {
	void *p = aligned_alloc(2 << 20, (bytes + (2 << 20) - 1) & ~(size_t)((2 << 20) - 1));
	if (!p)
		exit(1);
	madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

#define BEST(best, ...)                            \
	double best = 1e9;                             \
	for (int r = 0; r < runs; r++) {               \
		double began = omp_get_wtime();            \
		__VA_ARGS__                                \
		double took = omp_get_wtime() - began;     \
		if (took < best)                           \
			best = took;                           \
	}

static int ascending(const void *a, const void *b) {
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv) {
	int runs = argc > 1 ? atoi(argv[1]) : 101;
	omp_set_num_threads(THREADS);
	const long M = 1 << 24;
	double *p = large(8 * M), *q = large(8 * M), *s = large(8 * M);
#pragma omp parallel for schedule(static)
	for (long i = 0; i < M; i++)
		p[i] = 0, q[i] = 1, s[i] = 2;
	BEST(triad, {
		_Pragma("omp parallel for schedule(static)") for (long i = 0; i < M; i++) p[i] = q[i] + 3 * s[i];
	})
	int64_t *ia = large(8 * (N + 1));
	int32_t *ja = large(4 * N * ROW);
	double *data = large(8 * N * ROW), *x = large(8 * N), *y = large(8 * N);
	srand(1);
	ia[0] = 0;
	for (long i = 0; i < N; i++) {
		ia[i + 1] = ia[i] + ROW;
		x[i] = rand() / (double)RAND_MAX;
		for (long k = i * ROW; k < (i + 1) * ROW; k++) {
			long j = i + rand() % 2000 - 1000;
			ja[k] = j < 0 ? 0 : j >= N ? N - 1 : j;
			data[k] = rand() / (double)RAND_MAX;
		}
		qsort(ja + i * ROW, ROW, sizeof *ja, ascending);
	}
	BEST(product, {
		_Pragma("omp parallel for schedule(dynamic, 2048)") for (long i = 0; i < N; i++) {
			double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
			long k = ia[i], to = ia[i + 1];
			for (; k + 4 <= to; k += 4) {
				s0 += data[k] * x[ja[k]];
				s1 += data[k + 1] * x[ja[k + 1]];
				s2 += data[k + 2] * x[ja[k + 2]];
				s3 += data[k + 3] * x[ja[k + 3]];
			}
			for (; k < to; k++)
				s0 += data[k] * x[ja[k]];
			y[i] = (s0 + s1) + (s2 + s3);
		}
	})
	double bytes = 12. * N * ROW + 24. * N;
	printf("triad %.1f GB/s; OpenMP %.2f ms, %.1f GB/s\n", 24. * M / triad / 1e9, product * 1e3, bytes / product / 1e9);
	return 0;
}
