// What a round of connected components could take on this machine: the graph of
// BenchmarkComponents, R-MAT of 2^20 vertices and 2^24 edges, on two threads. Prints the
// best of the runs: the triad; the labels of all entries read and added up, without rows, and
// with columns prefetched, which is about the limit of this machine for these reads; and the round
// itself, by OpenMP, as one writes it and with columns prefetched.
//
//	gcc -O2 -march=native -fopenmp components_openmp.c && ./a.out 15
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LEVELS 20
#define N (1 << LEVELS)
#define EDGES (16l << LEVELS)
#define THREADS 2

static uint64_t mix(uint64_t x) {
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

// edge is RMAT.Edge of rmat.go with seed 1.
static void edge(uint64_t e, uint32_t *u, uint32_t *v) {
	const uint64_t a = 37356, b = 37356 + 12452, c = 37356 + 2 * 12452;
	uint64_t state = 0x9e3779b97f4a7c15u + (e << 20), random = 0;
	*u = *v = 0;
	for (int level = 0; level < LEVELS; level++) {
		if (level % 4 == 0)
			random = mix(++state);
		uint64_t r = random & 0xffff;
		random >>= 16;
		*u = *u << 1 | (r >= b);
		*v = *v << 1 | ((r >= a) - (r >= b) + (r >= c));
	}
}

// large returns memory in large pages.
static void *large(size_t bytes) {
	void *p = aligned_alloc(2 << 20, (bytes + (2 << 20) - 1) & ~(size_t)((2 << 20) - 1));
	if (!p)
		exit(1);
	madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

// Ends and starts of both directions of all edges, ordered by pass: first by column, then, as
// that keeps the order, by row.
static void pass(long n, const uint32_t *by, const uint32_t *other, uint32_t *to_by, uint32_t *to_other, long *at) {
	memset(at, 0, (N + 1) * sizeof *at);
	for (long k = 0; k < n; k++)
		at[by[k] + 1]++;
	for (long i = 0; i < N; i++)
		at[i + 1] += at[i];
	for (long k = 0; k < n; k++) {
		long to = at[by[k]]++;
		to_by[to] = by[k];
		to_other[to] = other[k];
	}
}

#define MAX(x, v) x = (v) > x ? (v) : x
#define BEST(best, ...)                            \
	double best = 1e9;                             \
	for (int r = 0; r < runs; r++) {               \
		double began = omp_get_wtime();            \
		__VA_ARGS__                                \
		double took = omp_get_wtime() - began;     \
		if (took < best)                           \
			best = took;                           \
	}

// A round, with what is to be done first at each two columns.
#define ROUND(best, FIRST)                                                                                     \
	BEST(best, {                                                                                               \
		_Pragma("omp parallel for schedule(dynamic, 4)") for (long b = 0; b < blocks; b++) for (long i = starts[b]; i < starts[b + 1]; i++) { \
			uint32_t p = c[i], q = 0;                                                                          \
			long k = ia[i], to = ia[i + 1];                                                                    \
			for (; k + 2 <= to; k += 2) {                                                                      \
				FIRST                                                                                          \
				MAX(p, c[v[k]]);                                                                               \
				MAX(q, c[v[k + 1]]);                                                                           \
			}                                                                                                  \
			if (k < to)                                                                                        \
				MAX(p, c[v[k]]);                                                                               \
			MAX(p, q);                                                                                         \
			next[i] = p;                                                                                       \
		}                                                                                                      \
	})

// How many columns ahead are prefetched.
#define AHEAD 1024

int main(int argc, char **argv) {
	int runs = argc > 1 ? atoi(argv[1]) : 15;
	omp_set_num_threads(THREADS);
	const long M = 1 << 25;
	double *x = large(8 * M), *y = large(8 * M), *z = large(8 * M);
#pragma omp parallel for schedule(static)
	for (long i = 0; i < M; i++)
		x[i] = 0, y[i] = 1, z[i] = 2;
	BEST(triad, {
		_Pragma("omp parallel for schedule(static)") for (long i = 0; i < M; i++) x[i] = y[i] + 3 * z[i];
	})
	printf("triad: %.1f GB/s\n", 24. * M / triad / 1e9);
	free(x), free(y), free(z);

	uint32_t *u = large(8 * EDGES), *v = large(8 * EDGES), *s = large(8 * EDGES), *t = large(8 * EDGES);
	long n = 0, *ia = large(8 * (N + 1));
	for (long e = 0; e < EDGES; e++) {
		uint32_t i, j;
		edge(e, &i, &j);
		if (i != j)
			u[n] = i, v[n++] = j, u[n] = j, v[n++] = i;
	}
	pass(n, v, u, t, s, ia);
	pass(n, s, t, u, v, ia);
	long m = 0;
	memset(ia, 0, (N + 1) * sizeof *ia);
	for (long k = 0; k < n; k++)
		if (k == 0 || u[k] != u[k - 1] || v[k] != v[k - 1]) {
			v[m++] = v[k];
			ia[u[k] + 1]++;
		}
	for (long i = 0; i < N; i++)
		ia[i + 1] += ia[i];
	free(s), free(t), free(u);

	// Blocks of rows with equally many entries: nothing is lost by unlike rows.
	long blocks = 0, *starts = malloc((N + 1) * sizeof *starts);
	starts[0] = 0;
	for (long i = 0; i < N; i++)
		if (ia[i + 1] - ia[starts[blocks]] >= 1 << 14 || i == N - 1)
			starts[++blocks] = i + 1;
	uint32_t *c = large(4 * N), *next = large(4 * N);
	for (long i = 0; i < N; i++)
		c[i] = i + 1;
	double bytes = 4. * m + 8. * (N + 1) + 8. * N;
	BEST(gather, {
		_Pragma("omp parallel for schedule(dynamic, 4)") for (long b = 0; b < blocks; b++) {
			uint32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
			long k = ia[starts[b]], to = ia[starts[b + 1]];
			for (; k + 4 <= to; k += 4) {
				__builtin_prefetch(v + k + AHEAD, 0, 0);
				s0 += c[v[k]], s1 += c[v[k + 1]], s2 += c[v[k + 2]], s3 += c[v[k + 3]];
			}
			for (; k < to; k++)
				s0 += c[v[k]];
			next[starts[b]] = s0 + s1 + s2 + s3;
		}
	})
	ROUND(plain, )
	ROUND(ahead, __builtin_prefetch(v + k + AHEAD, 0, 0);)
	printf("%ld entries: labels alone %.2f ms, round %.2f ms, %.1f GB/s; columns prefetched %.2f ms\n", m, gather * 1e3, plain * 1e3, bytes / plain / 1e9, ahead * 1e3);
	return 0;
}
