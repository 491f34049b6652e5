/* scalapack OP N NB P Q RUNS: GFLOP/s of an operation of ScaLAPACK on P x Q processes in
 * tiles of NB, the best of RUNS, and the residual of the last one. OP is gemm, cholesky, lu
 * or qr. Random matrices of order N; that of cholesky is symmetric with N on its diagonal.
 * Reference: L. S. Blackford et al., ScaLAPACK Users' Guide, SIAM, 1997. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void Cblacs_get(int, int, int *);
void Cblacs_gridinit(int *, const char *, int, int);
void Cblacs_gridinfo(int, int *, int *, int *, int *);
int numroc_(int *, int *, int *, int *, int *);
void descinit_(int *, int *, int *, int *, int *, int *, int *, int *, int *, int *);
double pdlange_(const char *, int *, int *, double *, int *, int *, int *, double *);
void pdgemm_(const char *, const char *, int *, int *, int *, double *, double *, int *, int *, int *, double *, int *, int *, int *, double *,
	double *, int *, int *, int *);
void pdpotrf_(const char *, int *, double *, int *, int *, int *, int *);
void pdpotrs_(const char *, int *, int *, double *, int *, int *, int *, double *, int *, int *, int *, int *);
void pdgetrf_(int *, int *, double *, int *, int *, int *, int *, int *);
void pdgetrs_(const char *, int *, int *, double *, int *, int *, int *, int *, double *, int *, int *, int *, int *);
void pdgeqrf_(int *, int *, double *, int *, int *, int *, double *, double *, int *, int *);
void pdormqr_(const char *, const char *, int *, int *, int *, double *, int *, int *, int *, double *, double *, int *, int *, int *, double *,
	int *, int *);
void pdtrsm_(const char *, const char *, const char *, const char *, int *, int *, double *, double *, int *, int *, int *, double *, int *, int *,
	int *);

static int zero = 0, one = 1, n, nb, context, rows, cols, row, col;

static void failed(const char *what, int info) {
	if (info != 0) {
		fprintf(stderr, "%s: info %d\n", what, info);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

/* matrix is an n x k matrix over the processes. */
typedef struct {
	int k, m, width, desc[9]; /* m x width are here */
	double *at;
} matrix;

static matrix make(int k) {
	matrix a = {.k = k};
	a.m = numroc_(&n, &nb, &row, &zero, &rows);
	a.width = numroc_(&k, &nb, &col, &zero, &cols);
	int lead = a.m > 1 ? a.m : 1, info;
	descinit_(a.desc, &n, &k, &nb, &nb, &zero, &zero, &context, &lead, &info);
	failed("descinit", info);
	if (!(a.at = calloc((size_t)lead * (a.width > 0 ? a.width : 1), sizeof(double))))
		failed("calloc", 1);
	return a;
}

/* element is a number from -0.5 to 0.5 (splitmix64). */
static double element(uint64_t seed, uint64_t i, uint64_t j) {
	uint64_t z = (seed << 56) + (i << 28) + j + 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	z ^= z >> 31;
	return (double)(z >> 11) * 0x1p-53 - 0.5;
}

static void fill(matrix *a, int seed, int symmetric) {
	for (int y = 0; y < a->width; y++)
		for (int x = 0; x < a->m; x++) {
			int i = (x / nb * rows + row) * nb + x % nb, j = (y / nb * cols + col) * nb + y % nb;
			int hi = symmetric && j > i ? j : i, lo = symmetric && j > i ? i : j;
			a->at[(size_t)y * a->m + x] = element(seed, hi, lo) + (symmetric && i == j ? n : 0);
		}
}

static double norm(matrix *a) {
	double *work = malloc(sizeof(double) * (a->width + a->m + 1));
	double x = pdlange_("1", &n, &a->k, a->at, &one, &one, a->desc, work);
	free(work);
	return x;
}

static void multiply(double alpha, matrix *a, matrix *x, double beta, matrix *y) {
	pdgemm_("N", "N", &n, &x->k, &n, &alpha, a->at, &one, &one, a->desc, x->at, &one, &one, x->desc, &beta, y->at, &one, &one, y->desc);
}

int main(int argc, char **argv) {
	MPI_Init(&argc, &argv);
	int rank, info = 0;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (argc != 7) {
		if (rank == 0)
			fprintf(stderr, "usage: scalapack OP N NB P Q RUNS\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	const char *op = argv[1];
	n = atoi(argv[2]), nb = atoi(argv[3]), rows = atoi(argv[4]), cols = atoi(argv[5]);
	int runs = atoi(argv[6]), gemm = !strcmp(op, "gemm"), cholesky = !strcmp(op, "cholesky"), lu = !strcmp(op, "lu"), qr = !strcmp(op, "qr");
	if (n < 1 || nb < 1 || runs < 1 || gemm + cholesky + lu + qr != 1)
		failed("arguments", 1);
	Cblacs_get(-1, 0, &context);
	Cblacs_gridinit(&context, "R", rows, cols);
	Cblacs_gridinfo(context, &rows, &cols, &row, &col);

	matrix a = make(n), b = {0}, c = {0}, x = make(1), y = make(1), z = make(1);
	if (gemm)
		b = make(n), c = make(n);
	int *pivots = malloc(sizeof(int) * (a.m + nb));
	double *tau = malloc(sizeof(double) * (a.width + 1)), *work = NULL, size, best = 0, f1 = 1;
	int lwork = -1;
	if (qr) { /* the most that either routine asks for */
		double ask[2];
		pdgeqrf_(&n, &n, a.at, &one, &one, a.desc, tau, &ask[0], &lwork, &info);
		pdormqr_("L", "T", &n, &one, &n, a.at, &one, &one, a.desc, tau, x.at, &one, &one, x.desc, &ask[1], &lwork, &info);
		lwork = (int)(ask[0] > ask[1] ? ask[0] : ask[1]);
		work = malloc(sizeof(double) * lwork);
	}
	double cube = (double)n * n * n, flops = gemm ? 2 * cube : cholesky ? cube / 3 : lu ? 2 * cube / 3 : 4 * cube / 3;
	for (int run = 0; run <= runs; run++) { /* the first is not counted */
		fill(&a, 1, cholesky);
		if (gemm)
			fill(&b, 2, 0);
		MPI_Barrier(MPI_COMM_WORLD);
		double begin = MPI_Wtime();
		if (gemm)
			multiply(1, &a, &b, 0, &c);
		else if (cholesky)
			pdpotrf_("L", &n, a.at, &one, &one, a.desc, &info);
		else if (lu)
			pdgetrf_(&n, &n, a.at, &one, &one, a.desc, pivots, &info);
		else
			pdgeqrf_(&n, &n, a.at, &one, &one, a.desc, tau, work, &lwork, &info);
		MPI_Barrier(MPI_COMM_WORLD);
		double rate = flops / (MPI_Wtime() - begin) / 1e9;
		failed(op, info);
		if (run > 0 && rate > best)
			best = rate;
	}

	/* gemm: z = C x - A (B x). The others: x solves A x = y, and z = y - A x. */
	fill(&x, 3, 0);
	if (gemm) {
		multiply(1, &b, &x, 0, &y);
		multiply(1, &a, &y, 0, &z);
		size = norm(&a) * norm(&y);
		multiply(1, &c, &x, -1, &z);
	} else {
		if (cholesky)
			pdpotrs_("L", &n, &one, a.at, &one, &one, a.desc, x.at, &one, &one, x.desc, &info);
		else if (lu)
			pdgetrs_("N", &n, &one, a.at, &one, &one, a.desc, pivots, x.at, &one, &one, x.desc, &info);
		else {
			pdormqr_("L", "T", &n, &one, &n, a.at, &one, &one, a.desc, tau, x.at, &one, &one, x.desc, work, &lwork, &info);
			pdtrsm_("L", "U", "N", "N", &n, &one, &f1, a.at, &one, &one, a.desc, x.at, &one, &one, x.desc);
		}
		failed("solve", info);
		fill(&a, 1, cholesky);
		fill(&z, 3, 0);
		size = norm(&a) * norm(&x);
		multiply(-1, &a, &x, 1, &z);
	}
	double residual = norm(&z) / (n * size * 0x1p-53);
	if (rank == 0)
		printf("%.2f %.3g\n", best, residual);
	if (!(residual < 30))
		failed("residual", 1);
	MPI_Finalize();
	return 0;
}
