/*
 * BLAS routines by plain loops, for elements of type T; NAME(x) makes a name.
 * Included once for each T. A result is worked out on a copy, and what it
 * replaces is NaN until then.
 */

struct NAME(call) {
	int op1, op2, side, uplo, diag, m, n, k;
	T alpha, beta;
	CUdeviceptr a, b, c;
	int lda, ldb, ldc;
};

/* NAME(at) returns where a matrix is. */
static T *NAME(at)(CUdeviceptr p, int rows, int cols, int ld) {
	static T none;
	if (rows == 0 || cols == 0)
		return &none;
	return fake_at(p, ((size_t)(cols - 1) * (size_t)ld + (size_t)rows) * sizeof(T));
}

/* NAME(get) is element (i, j) of op(A). */
static T NAME(get)(const T *a, int ld, int trans, int i, int j) {
	return trans ? a[(size_t)j + (size_t)i * (size_t)ld] : a[(size_t)i + (size_t)j * (size_t)ld];
}

/* NAME(put) replaces C by x, which has m rows and no gaps; part is 'A' for all,
 * 'L' or 'U' for a triangle. */
static void NAME(put)(T *c, int ldc, const T *x, int m, int n, int part) {
	for (int pass = 0; pass < 2; pass++) {
		for (int j = 0; j < n; j++)
			for (int i = 0; i < m; i++)
				if (part == 'A' || (part == 'L' ? i >= j : i <= j))
					c[(size_t)i + (size_t)j * (size_t)ldc] = pass ? x[(size_t)i + (size_t)j * (size_t)m] : (T)NAN;
		if (pass == 0)
			fake_pause();
	}
}

static T *NAME(work)(int m, int n) { return malloc(((size_t)m * (size_t)n + 1) * sizeof(T)); }

static void NAME(gemm)(void *args) {
	struct NAME(call) *p = args;
	int none = p->alpha == 0;
	if (p->k == 0) /* cuBLAS does not promise to scale C then */
		return;
	T *a = none ? NULL : NAME(at)(p->a, p->op1 ? p->k : p->m, p->op1 ? p->m : p->k, p->lda);
	T *b = none ? NULL : NAME(at)(p->b, p->op2 ? p->n : p->k, p->op2 ? p->k : p->n, p->ldb);
	T *c = NAME(at)(p->c, p->m, p->n, p->ldc);
	if (c == NULL || (!none && (a == NULL || b == NULL)))
		return;
	T *x = NAME(work)(p->m, p->n);
	for (int j = 0; j < p->n; j++)
		for (int i = 0; i < p->m; i++) {
			T sum = 0;
			for (int l = 0; !none && l < p->k; l++)
				sum += NAME(get)(a, p->lda, p->op1, i, l) * NAME(get)(b, p->ldb, p->op2, l, j);
			T old = p->beta == 0 ? 0 : p->beta * c[(size_t)i + (size_t)j * (size_t)p->ldc];
			x[(size_t)i + (size_t)j * (size_t)p->m] = p->alpha * sum + old;
		}
	NAME(put)(c, p->ldc, x, p->m, p->n, 'A');
	free(x);
}

static void NAME(syrk)(void *args) {
	struct NAME(call) *p = args;
	int none = p->alpha == 0;
	if (p->k == 0) /* as in gemm */
		return;
	T *a = none ? NULL : NAME(at)(p->a, p->op1 ? p->k : p->n, p->op1 ? p->n : p->k, p->lda);
	T *c = NAME(at)(p->c, p->n, p->n, p->ldc);
	if (c == NULL || (!none && a == NULL))
		return;
	T *x = NAME(work)(p->n, p->n);
	int lower = p->uplo == CUBLAS_FILL_MODE_LOWER;
	for (int j = 0; j < p->n; j++)
		for (int i = lower ? j : 0; i < (lower ? p->n : j + 1); i++) {
			T sum = 0;
			for (int l = 0; !none && l < p->k; l++)
				sum += NAME(get)(a, p->lda, p->op1, i, l) * NAME(get)(a, p->lda, p->op1, j, l);
			T old = p->beta == 0 ? 0 : p->beta * c[(size_t)i + (size_t)j * (size_t)p->ldc];
			x[(size_t)i + (size_t)j * (size_t)p->n] = p->alpha * sum + old;
		}
	NAME(put)(c, p->ldc, x, p->n, p->n, lower ? 'L' : 'U');
	free(x);
}

/* NAME(tri) is element (i, j) of op(A), A being triangular. */
static T NAME(tri)(const struct NAME(call) *p, const T *a, int i, int j) {
	int r = p->op1 ? j : i, c = p->op1 ? i : j;
	if (r == c)
		return p->diag == CUBLAS_DIAG_UNIT ? 1 : a[(size_t)r + (size_t)c * (size_t)p->lda];
	if (p->uplo == CUBLAS_FILL_MODE_LOWER ? r < c : r > c)
		return 0;
	return a[(size_t)r + (size_t)c * (size_t)p->lda];
}

static void NAME(trmm)(void *args) {
	struct NAME(call) *p = args;
	int left = p->side == CUBLAS_SIDE_LEFT, k = left ? p->m : p->n;
	T *a = NAME(at)(p->a, k, k, p->lda), *b = NAME(at)(p->b, p->m, p->n, p->ldb), *c = NAME(at)(p->c, p->m, p->n, p->ldc);
	if (a == NULL || b == NULL || c == NULL)
		return;
	T *x = NAME(work)(p->m, p->n);
	for (int j = 0; j < p->n; j++)
		for (int i = 0; i < p->m; i++) {
			T sum = 0;
			for (int l = 0; l < k; l++) {
				T t = left ? NAME(tri)(p, a, i, l) : NAME(tri)(p, a, l, j);
				if (t != 0)
					sum += t * (left ? b[(size_t)l + (size_t)j * (size_t)p->ldb] : b[(size_t)i + (size_t)l * (size_t)p->ldb]);
			}
			x[(size_t)i + (size_t)j * (size_t)p->m] = p->alpha * sum;
		}
	NAME(put)(c, p->ldc, x, p->m, p->n, 'A');
	free(x);
}

static void NAME(trsm)(void *args) {
	struct NAME(call) *p = args;
	int left = p->side == CUBLAS_SIDE_LEFT, k = left ? p->m : p->n;
	T *a = NAME(at)(p->a, k, k, p->lda), *b = NAME(at)(p->b, p->m, p->n, p->ldb);
	if (a == NULL || b == NULL)
		return;
	T *x = NAME(work)(p->m, p->n);
	/* The order in which unknowns are found: forwards if op(A) is lower and on
	 * the left, or upper and on the right. */
	int lower = (p->uplo == CUBLAS_FILL_MODE_LOWER) != (p->op1 != 0), forwards = lower == left;
	int others = left ? p->n : p->m;
	for (int o = 0; o < others; o++)
		for (int s = 0; s < k; s++) {
			int i = forwards ? s : k - 1 - s;
#define AT(v, ld, q) v[left ? (size_t)(q) + (size_t)o * (size_t)(ld) : (size_t)o + (size_t)(q) * (size_t)(ld)]
			T sum = p->alpha == 0 ? 0 : p->alpha * AT(b, p->ldb, i);
			for (int t = 0; t < s; t++) {
				int l = forwards ? t : k - 1 - t;
				sum -= (left ? NAME(tri)(p, a, i, l) : NAME(tri)(p, a, l, i)) * AT(x, p->m, l);
			}
			AT(x, p->m, i) = sum / NAME(tri)(p, a, i, i);
#undef AT
		}
	NAME(put)(b, p->ldb, x, p->m, p->n, 'A');
	free(x);
}

static void NAME(geam)(void *args) {
	struct NAME(call) *p = args;
	T *a = p->alpha == 0 ? NULL : NAME(at)(p->a, p->m, p->n, p->lda);
	T *b = p->beta == 0 ? NULL : NAME(at)(p->b, p->m, p->n, p->ldb);
	T *c = NAME(at)(p->c, p->m, p->n, p->ldc);
	if (c == NULL || (p->alpha != 0 && a == NULL) || (p->beta != 0 && b == NULL))
		return;
	T *x = NAME(work)(p->m, p->n);
	for (int j = 0; j < p->n; j++)
		for (int i = 0; i < p->m; i++)
			x[(size_t)i + (size_t)j * (size_t)p->m] = (a ? p->alpha * a[(size_t)i + (size_t)j * (size_t)p->lda] : 0) +
				(b ? p->beta * b[(size_t)i + (size_t)j * (size_t)p->ldb] : 0);
	NAME(put)(c, p->ldc, x, p->m, p->n, 'A');
	free(x);
}

cublasStatus_t API(gemm_v2)(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
	const T *alpha, const T *a, int lda, const T *b, int ldb, const T *beta, T *c, int ldc) {
	CALL(h, API_NAME("gemm_v2"));
	if (m < 0 || n < 0 || k < 0 || BAD(lda, ta ? k : m) || BAD(ldb, tb ? n : k) || BAD(ldc, m))
		return CUBLAS_STATUS_INVALID_VALUE;
	struct NAME(call) p = {.op1 = (int)ta, .op2 = (int)tb, .m = m, .n = n, .k = k, .alpha = *alpha, .beta = *beta,
		.a = (uintptr_t)a, .b = (uintptr_t)b, .c = (uintptr_t)c, .lda = lda, .ldb = ldb, .ldc = ldc};
	return enqueue(h, NAME(gemm), &p, sizeof p);
}

cublasStatus_t API(syrk_v2)(cublasHandle_t h, cublasFillMode_t uplo, cublasOperation_t trans, int n, int k,
	const T *alpha, const T *a, int lda, const T *beta, T *c, int ldc) {
	CALL(h, API_NAME("syrk_v2"));
	if (n < 0 || k < 0 || BAD(lda, trans ? k : n) || BAD(ldc, n))
		return CUBLAS_STATUS_INVALID_VALUE;
	struct NAME(call) p = {.uplo = (int)uplo, .op1 = (int)trans, .n = n, .k = k, .alpha = *alpha, .beta = *beta,
		.a = (uintptr_t)a, .c = (uintptr_t)c, .lda = lda, .ldc = ldc};
	return enqueue(h, NAME(syrk), &p, sizeof p);
}

cublasStatus_t API(trsm_v2)(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans,
	cublasDiagType_t diag, int m, int n, const T *alpha, const T *a, int lda, T *b, int ldb) {
	CALL(h, API_NAME("trsm_v2"));
	if (m < 0 || n < 0 || BAD(lda, side == CUBLAS_SIDE_LEFT ? m : n) || BAD(ldb, m))
		return CUBLAS_STATUS_INVALID_VALUE;
	struct NAME(call) p = {.side = (int)side, .uplo = (int)uplo, .op1 = (int)trans, .diag = (int)diag, .m = m, .n = n,
		.alpha = *alpha, .a = (uintptr_t)a, .b = (uintptr_t)b, .lda = lda, .ldb = ldb};
	return enqueue(h, NAME(trsm), &p, sizeof p);
}

cublasStatus_t API(trmm_v2)(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans,
	cublasDiagType_t diag, int m, int n, const T *alpha, const T *a, int lda, const T *b, int ldb, T *c, int ldc) {
	CALL(h, API_NAME("trmm_v2"));
	if (m < 0 || n < 0 || BAD(lda, side == CUBLAS_SIDE_LEFT ? m : n) || BAD(ldb, m) || BAD(ldc, m))
		return CUBLAS_STATUS_INVALID_VALUE;
	struct NAME(call) p = {.side = (int)side, .uplo = (int)uplo, .op1 = (int)trans, .diag = (int)diag, .m = m, .n = n,
		.alpha = *alpha, .a = (uintptr_t)a, .b = (uintptr_t)b, .c = (uintptr_t)c, .lda = lda, .ldb = ldb, .ldc = ldc};
	return enqueue(h, NAME(trmm), &p, sizeof p);
}

cublasStatus_t API(geam)(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, const T *alpha,
	const T *a, int lda, const T *beta, const T *b, int ldb, T *c, int ldc) {
	CALL(h, API_NAME("geam"));
	if (ta || tb || m < 0 || n < 0 || BAD(lda, m) || BAD(ldb, m) || BAD(ldc, m))
		return CUBLAS_STATUS_INVALID_VALUE;
	struct NAME(call) p = {.m = m, .n = n, .alpha = *alpha, .beta = *beta, .a = (uintptr_t)a, .b = (uintptr_t)b,
		.c = (uintptr_t)c, .lda = lda, .ldb = ldb, .ldc = ldc};
	return enqueue(h, NAME(geam), &p, sizeof p);
}

/* NAME(batch) is a call for count matrices each, of which the addresses are at
 * a, b and c; those that are 0 have none. */
struct NAME(batch) {
	struct NAME(call) call;
	void (*work)(void *);
	int count;
};

static void NAME(batched)(void *args) {
	struct NAME(batch) *p = args;
	size_t n = (size_t)p->count * sizeof(CUdeviceptr);
	CUdeviceptr *a = fake_at(p->call.a, n), *b = fake_at(p->call.b, n), *c = NULL;
	if (p->call.c)
		c = fake_at(p->call.c, n);
	if (a == NULL || b == NULL || (p->call.c && c == NULL))
		return;
	for (int i = 0; i < p->count; i++) {
		struct NAME(call) one = p->call;
		one.a = a[i];
		one.b = b[i];
		one.c = c ? c[i] : 0;
		p->work(&one);
	}
}

cublasStatus_t API(gemmBatched)(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
	const T *alpha, const T *const a[], int lda, const T *const b[], int ldb, const T *beta, T *const c[], int ldc, int count) {
	CALL(h, API_NAME("gemmBatched"));
	if (m < 0 || n < 0 || k < 0 || count < 0 || BAD(lda, ta ? k : m) || BAD(ldb, tb ? n : k) || BAD(ldc, m))
		return CUBLAS_STATUS_INVALID_VALUE;
	struct NAME(batch) p = {.call = {.op1 = (int)ta, .op2 = (int)tb, .m = m, .n = n, .k = k, .alpha = *alpha, .beta = *beta,
		.a = (uintptr_t)a, .b = (uintptr_t)b, .c = (uintptr_t)c, .lda = lda, .ldb = ldb, .ldc = ldc},
		.work = NAME(gemm), .count = count};
	return enqueue(h, NAME(batched), &p, sizeof p);
}

cublasStatus_t API(trsmBatched)(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans,
	cublasDiagType_t diag, int m, int n, const T *alpha, const T *const a[], int lda, T *const b[], int ldb, int count) {
	CALL(h, API_NAME("trsmBatched"));
	if (m < 0 || n < 0 || count < 0 || BAD(lda, side == CUBLAS_SIDE_LEFT ? m : n) || BAD(ldb, m))
		return CUBLAS_STATUS_INVALID_VALUE;
	struct NAME(batch) p = {.call = {.side = (int)side, .uplo = (int)uplo, .op1 = (int)trans, .diag = (int)diag, .m = m, .n = n,
		.alpha = *alpha, .a = (uintptr_t)a, .b = (uintptr_t)b, .lda = lda, .ldb = ldb}, .work = NAME(trsm), .count = count};
	return enqueue(h, NAME(batched), &p, sizeof p);
}
