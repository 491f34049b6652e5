// The cost of a loop of empty items with OpenMP: schedule(dynamic) on two threads, for
// growing chunks. Prints the best and the median of the runs of each chunk size in
// microseconds, and those of the size with the best median.
//
//	gcc -O2 -fopenmp openmp_loop.c && ./a.out 1000000 501
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv) {
	long n = argc > 1 ? atol(argv[1]) : 1000000, best_chunk = 0;
	int runs = argc > 2 ? atoi(argv[2]) : 501;
	double *took = malloc(sizeof(double) * runs), best = 0, median = 0;
	for (long chunk = 64; chunk <= n; chunk *= 4) {
		for (int r = 0; r < runs; r++) {
			double start = omp_get_wtime();
#pragma omp parallel for schedule(dynamic, chunk) num_threads(2)
			for (long i = 0; i < n; i++)
				__asm__ volatile("" : : "r"(i)); // an item: it is counted, and that is all
			took[r] = (omp_get_wtime() - start) * 1e6;
		}
		qsort(took, runs, sizeof(double), ascending);
		if (!best_chunk || took[runs / 2] < median) {
			best_chunk = chunk;
			best = took[0];
			median = took[runs / 2];
		}
	}
	printf("OpenMP dynamic, chunk %ld: %.1f µs a loop (median %.1f)\n", best_chunk, best, median);
	return 0;
}
