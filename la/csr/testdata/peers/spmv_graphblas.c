// y = A·x with SuiteSparse:GraphBLAS on two threads: A as in BenchmarkMulVec, 2^20 rows of 16
// entries near the diagonal. Prints the best and the median of the runs in milliseconds.
//
//	gcc -O2 spmv_graphblas.c -lgraphblas && ./a.out 101
#include <GraphBLAS.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define N (1 << 20)
#define ROW 16

static int ascending(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

#define check(call)                                          \
	do {                                                     \
		GrB_Info info = (call);                              \
		if (info != GrB_SUCCESS) {                           \
			fprintf(stderr, "%s: error %d\n", #call, info);  \
			return 1;                                        \
		}                                                    \
	} while (0)

int main(int argc, char **argv) {
	int runs = argc > 1 ? atoi(argv[1]) : 101;
	size_t entries = (size_t)N * ROW;
	GrB_Index *rows = malloc(entries * sizeof *rows), *cols = malloc(entries * sizeof *cols);
	double *values = malloc(entries * sizeof *values), *took = malloc(runs * sizeof *took);
	srand(1);
	for (size_t k = 0; k < entries; k++) {
		long j = (long)(k / ROW) + rand() % 2000 - 1000;
		rows[k] = k / ROW;
		cols[k] = j < 0 ? 0 : j >= N ? N - 1 : j;
		values[k] = rand() / (double)RAND_MAX;
	}
	GrB_Matrix a;
	GrB_Vector x, y;
	check(GrB_init(GrB_NONBLOCKING));
	check(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, 2));
	check(GrB_Matrix_new(&a, GrB_FP64, N, N));
	check(GrB_Matrix_build_FP64(a, rows, cols, values, entries, GrB_PLUS_FP64));
	check(GrB_Vector_new(&x, GrB_FP64, N));
	check(GrB_Vector_new(&y, GrB_FP64, N));
	for (long i = 0; i < N; i++)
		check(GrB_Vector_setElement_FP64(x, rand() / (double)RAND_MAX, i));
	check(GrB_Vector_wait(x, GrB_MATERIALIZE));
	check(GrB_Matrix_wait(a, GrB_MATERIALIZE));
	GrB_Index stored;
	check(GrB_Matrix_nvals(&stored, a));
	for (int r = 0; r < runs; r++) {
		double began = now();
		check(GrB_mxv(y, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, a, x, NULL));
		check(GrB_Vector_wait(y, GrB_MATERIALIZE));
		took[r] = (now() - began) * 1e3;
	}
	qsort(took, runs, sizeof *took, ascending);
	printf("GraphBLAS, %.1f million entries: %.2f ms (median %.2f)\n", stored / 1e6, took[0], took[runs / 2]);
	return 0;
}
