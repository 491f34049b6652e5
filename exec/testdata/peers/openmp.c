// The cost of an empty task with OpenMP: the graph of a Cholesky factorization
// of N×N tiles, by tasks with depend clauses on two threads. Prints the best and
// the median of the runs in nanoseconds a task.
//
//	gcc -O2 -fopenmp openmp.c && ./a.out 64 11
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

// factor makes the tasks and returns their number.
static long factor(int n, char *a) {
	long tasks = 0;
	for (int k = 0; k < n; k++) {
#pragma omp task depend(inout : a[k * n + k])
		{}
		tasks++;
		for (int i = k + 1; i < n; i++) {
#pragma omp task depend(in : a[k * n + k]) depend(inout : a[i * n + k])
			{}
			tasks++;
		}
		for (int i = k + 1; i < n; i++) {
#pragma omp task depend(in : a[i * n + k]) depend(inout : a[i * n + i])
			{}
			tasks++;
			for (int j = k + 1; j < i; j++) {
#pragma omp task depend(in : a[i * n + k], a[j * n + k]) depend(inout : a[i * n + j])
				{}
				tasks++;
			}
		}
	}
	return tasks;
}

int main(int argc, char **argv) {
	int n = argc > 1 ? atoi(argv[1]) : 64, runs = argc > 2 ? atoi(argv[2]) : 11;
	char *a = calloc((size_t)n * n, 1);
	double *took = malloc(sizeof(double) * runs);
	long tasks = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
	for (int r = 0; r < runs; r++) {
		double start = omp_get_wtime();
		tasks = factor(n, a);
#pragma omp taskwait
		took[r] = (omp_get_wtime() - start) / tasks * 1e9;
	}
	qsort(took, runs, sizeof(double), ascending);
	printf("OpenMP depend: %ld tasks, %.0f ns a task (median %.0f)\n", tasks, took[0], took[runs / 2]);
	return 0;
}
