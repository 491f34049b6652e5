// The cost of an empty task with StarPU: the graph of a Cholesky factorization
// of N×N tiles on two workers. Prints the best and the median of the runs in
// nanoseconds a task.
//
//	gcc -O2 starpu.c $(pkg-config --cflags --libs starpu-1.3) && STARPU_NCPU=2 ./a.out 64 5
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>

static void nothing(void *buffers[], void *arg) {
	(void)buffers;
	(void)arg;
}

static struct starpu_codelet one = {.cpu_funcs = {nothing}, .nbuffers = 1, .modes = {STARPU_RW}};
static struct starpu_codelet two = {.cpu_funcs = {nothing}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}};
static struct starpu_codelet three = {.cpu_funcs = {nothing}, .nbuffers = 3, .modes = {STARPU_R, STARPU_R, STARPU_RW}};

static int ascending(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static long factor(int n, starpu_data_handle_t *a) {
	long tasks = 0;
	for (int k = 0; k < n; k++) {
		starpu_task_insert(&one, STARPU_RW, a[k * n + k], 0);
		tasks++;
		for (int i = k + 1; i < n; i++, tasks++)
			starpu_task_insert(&two, STARPU_R, a[k * n + k], STARPU_RW, a[i * n + k], 0);
		for (int i = k + 1; i < n; i++) {
			starpu_task_insert(&two, STARPU_R, a[i * n + k], STARPU_RW, a[i * n + i], 0);
			tasks++;
			for (int j = k + 1; j < i; j++, tasks++)
				starpu_task_insert(&three, STARPU_R, a[i * n + k], STARPU_R, a[j * n + k], STARPU_RW, a[i * n + j], 0);
		}
	}
	return tasks;
}

int main(int argc, char **argv) {
	int n = argc > 1 ? atoi(argv[1]) : 64, runs = argc > 2 ? atoi(argv[2]) : 5;
	if (starpu_init(NULL) != 0) {
		fprintf(stderr, "StarPU does not start\n");
		return 1;
	}
	starpu_data_handle_t *a = malloc(sizeof(*a) * n * n);
	double *memory = calloc((size_t)n * n, sizeof(double)), *took = malloc(sizeof(double) * runs);
	for (int i = 0; i < n * n; i++)
		starpu_variable_data_register(&a[i], STARPU_MAIN_RAM, (uintptr_t)&memory[i], sizeof(double));
	long tasks = 0;
	for (int r = 0; r < runs; r++) {
		double start = starpu_timing_now();
		tasks = factor(n, a);
		starpu_task_wait_for_all();
		took[r] = (starpu_timing_now() - start) / tasks * 1e3;
	}
	qsort(took, runs, sizeof(double), ascending);
	printf("StarPU: %ld tasks, %.0f ns a task (median %.0f)\n", tasks, took[0], took[runs / 2]);
	for (int i = 0; i < n * n; i++)
		starpu_data_unregister(a[i]);
	starpu_shutdown();
	return 0;
}
