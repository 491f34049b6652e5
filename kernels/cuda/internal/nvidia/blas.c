//go:build cuda && linux

#include "shim.h"

int tessera_handles_open(tessera_handles *h, const tessera_libraries *l, CUcontext ctx, CUstream s, const char **failed) {
	int r;
	h->l = l;
	h->ctx = ctx;
	h->blas = NULL;
	h->solver = NULL;
	h->params = NULL;
	*failed = "cuCtxSetCurrent";
	if ((r = cuCtxSetCurrent(ctx)) != 0)
		return TESSERA_OF_DRIVER + r;
#define STEP(name, ...) \
	*failed = #name; \
	if ((r = l->p_##name(__VA_ARGS__)) != 0) { \
		tessera_handles_close(h); \
		return r; \
	}
	STEP(cublasCreate_v2, &h->blas)
	STEP(cublasSetStream_v2, h->blas, s)
	/* The default mode has no emulation and no TF32: what it computes in
	 * float32 and float64 is that. */
	STEP(cublasSetMathMode, h->blas, CUBLAS_DEFAULT_MATH)
	STEP(cusolverDnCreate, &h->solver)
	STEP(cusolverDnSetStream, h->solver, s)
	STEP(cusolverDnCreateParams, &h->params)
#undef STEP
	*failed = NULL;
	return 0;
}

int tessera_handles_close(tessera_handles *h) {
	int r = cuCtxSetCurrent(h->ctx), q;
	if (r != 0)
		r += TESSERA_OF_DRIVER;
	if (h->params != NULL && (q = h->l->p_cusolverDnDestroyParams(h->params)) != 0)
		r = q;
	if (h->solver != NULL && (q = h->l->p_cusolverDnDestroy(h->solver)) != 0)
		r = q;
	if (h->blas != NULL && (q = h->l->p_cublasDestroy_v2(h->blas)) != 0)
		r = q;
	h->params = NULL;
	h->solver = NULL;
	h->blas = NULL;
	return r;
}

int tessera_versions(tessera_handles *h, int *blas, int *solver, int *mode) {
	cublasMath_t m = CUBLAS_DEFAULT_MATH;
	int r = h->l->p_cublasGetVersion_v2(h->blas, blas);
	if (r == 0)
		r = h->l->p_cublasGetMathMode(h->blas, &m);
	if (r == 0)
		r = h->l->p_cusolverGetVersion(solver);
	*mode = (int)m;
	return r;
}

/* CURRENT: see memory.c. */
#define CURRENT(h) \
	do { \
		CUresult r_ = cuCtxSetCurrent((h)->ctx); \
		if (r_ != CUDA_SUCCESS) \
			return TESSERA_OF_DRIVER + r_; \
	} while (0)

#define F32(p) ((float *)(uintptr_t)(p))
#define F64(p) ((double *)(uintptr_t)(p))

int tessera_gemm(tessera_handles *h, int f64, int ta, int tb, int m, int n, int k, double alpha,
	CUdeviceptr a, int lda, CUdeviceptr b, int ldb, double beta, CUdeviceptr c, int ldc) {
	float x = (float)alpha, y = (float)beta;
	CURRENT(h);
	if (f64)
		return h->l->p_cublasDgemm_v2(h->blas, ta, tb, m, n, k, &alpha, F64(a), lda, F64(b), ldb, &beta, F64(c), ldc);
	return h->l->p_cublasSgemm_v2(h->blas, ta, tb, m, n, k, &x, F32(a), lda, F32(b), ldb, &y, F32(c), ldc);
}

int tessera_syrk(tessera_handles *h, int f64, int uplo, int trans, int n, int k, double alpha,
	CUdeviceptr a, int lda, double beta, CUdeviceptr c, int ldc) {
	float x = (float)alpha, y = (float)beta;
	CURRENT(h);
	if (f64)
		return h->l->p_cublasDsyrk_v2(h->blas, uplo, trans, n, k, &alpha, F64(a), lda, &beta, F64(c), ldc);
	return h->l->p_cublasSsyrk_v2(h->blas, uplo, trans, n, k, &x, F32(a), lda, &y, F32(c), ldc);
}

int tessera_trsm(tessera_handles *h, int f64, int side, int uplo, int trans, int diag, int m, int n, double alpha,
	CUdeviceptr a, int lda, CUdeviceptr b, int ldb) {
	float x = (float)alpha;
	CURRENT(h);
	if (f64)
		return h->l->p_cublasDtrsm_v2(h->blas, side, uplo, trans, diag, m, n, &alpha, F64(a), lda, F64(b), ldb);
	return h->l->p_cublasStrsm_v2(h->blas, side, uplo, trans, diag, m, n, &x, F32(a), lda, F32(b), ldb);
}

int tessera_trmm(tessera_handles *h, int f64, int side, int uplo, int trans, int diag, int m, int n, double alpha,
	CUdeviceptr a, int lda, CUdeviceptr b, int ldb, CUdeviceptr c, int ldc) {
	float x = (float)alpha;
	CURRENT(h);
	if (f64)
		return h->l->p_cublasDtrmm_v2(h->blas, side, uplo, trans, diag, m, n, &alpha, F64(a), lda, F64(b), ldb, F64(c), ldc);
	return h->l->p_cublasStrmm_v2(h->blas, side, uplo, trans, diag, m, n, &x, F32(a), lda, F32(b), ldb, F32(c), ldc);
}

int tessera_geam(tessera_handles *h, int f64, int m, int n, double alpha,
	CUdeviceptr a, int lda, double beta, CUdeviceptr b, int ldb, CUdeviceptr c, int ldc) {
	float x = (float)alpha, y = (float)beta;
	CURRENT(h);
	if (f64)
		return h->l->p_cublasDgeam(h->blas, CUBLAS_OP_N, CUBLAS_OP_N, m, n, &alpha, F64(a), lda, &beta, F64(b), ldb, F64(c), ldc);
	return h->l->p_cublasSgeam(h->blas, CUBLAS_OP_N, CUBLAS_OP_N, m, n, &x, F32(a), lda, &y, F32(b), ldb, F32(c), ldc);
}

#define TABLE(type, p) ((type)(uintptr_t)(p))

int tessera_gemm_batched(tessera_handles *h, int f64, int ta, int tb, int m, int n, int k, double alpha,
	CUdeviceptr a, int lda, CUdeviceptr b, int ldb, double beta, CUdeviceptr c, int ldc, int count) {
	float x = (float)alpha, y = (float)beta;
	CURRENT(h);
	if (f64)
		return h->l->p_cublasDgemmBatched(h->blas, ta, tb, m, n, k, &alpha, TABLE(const double *const *, a), lda,
			TABLE(const double *const *, b), ldb, &beta, TABLE(double *const *, c), ldc, count);
	return h->l->p_cublasSgemmBatched(h->blas, ta, tb, m, n, k, &x, TABLE(const float *const *, a), lda,
		TABLE(const float *const *, b), ldb, &y, TABLE(float *const *, c), ldc, count);
}

int tessera_trsm_batched(tessera_handles *h, int f64, int side, int uplo, int trans, int diag, int m, int n, double alpha,
	CUdeviceptr a, int lda, CUdeviceptr b, int ldb, int count) {
	float x = (float)alpha;
	CURRENT(h);
	if (f64)
		return h->l->p_cublasDtrsmBatched(h->blas, side, uplo, trans, diag, m, n, &alpha, TABLE(const double *const *, a), lda,
			TABLE(double *const *, b), ldb, count);
	return h->l->p_cublasStrsmBatched(h->blas, side, uplo, trans, diag, m, n, &x, TABLE(const float *const *, a), lda,
		TABLE(float *const *, b), ldb, count);
}

int tessera_potrf_work(tessera_handles *h, int f64, int uplo, int n, CUdeviceptr a, int lda, int *work) {
	CURRENT(h);
	if (f64)
		return h->l->p_cusolverDnDpotrf_bufferSize(h->solver, uplo, n, F64(a), lda, work);
	return h->l->p_cusolverDnSpotrf_bufferSize(h->solver, uplo, n, F32(a), lda, work);
}

int tessera_potrf(tessera_handles *h, int f64, int uplo, int n, CUdeviceptr a, int lda, CUdeviceptr work, int lwork, CUdeviceptr info) {
	int *at = (int *)(uintptr_t)info;
	CURRENT(h);
	if (f64)
		return h->l->p_cusolverDnDpotrf(h->solver, uplo, n, F64(a), lda, F64(work), lwork, at);
	return h->l->p_cusolverDnSpotrf(h->solver, uplo, n, F32(a), lda, F32(work), lwork, at);
}

int tessera_geqrf_work(tessera_handles *h, int f64, int m, int n, CUdeviceptr a, int lda, int *work) {
	CURRENT(h);
	if (f64)
		return h->l->p_cusolverDnDgeqrf_bufferSize(h->solver, m, n, F64(a), lda, work);
	return h->l->p_cusolverDnSgeqrf_bufferSize(h->solver, m, n, F32(a), lda, work);
}

int tessera_geqrf(tessera_handles *h, int f64, int m, int n, CUdeviceptr a, int lda, CUdeviceptr tau, CUdeviceptr work, int lwork, CUdeviceptr info) {
	int *at = (int *)(uintptr_t)info;
	CURRENT(h);
	if (f64)
		return h->l->p_cusolverDnDgeqrf(h->solver, m, n, F64(a), lda, F64(tau), F64(work), lwork, at);
	return h->l->p_cusolverDnSgeqrf(h->solver, m, n, F32(a), lda, F32(tau), F32(work), lwork, at);
}

#define TYPE(f64) ((f64) ? CUDA_R_64F : CUDA_R_32F)
#define AT(p) ((void *)(uintptr_t)(p))

int tessera_getrf_work(tessera_handles *h, int f64, int m, int n, CUdeviceptr a, int lda, size_t *device, size_t *host) {
	CURRENT(h);
	return h->l->p_cusolverDnXgetrf_bufferSize(h->solver, h->params, m, n, TYPE(f64), AT(a), lda, TYPE(f64), device, host);
}

int tessera_getrf(tessera_handles *h, int f64, int m, int n, CUdeviceptr a, int lda, CUdeviceptr pivots, CUdeviceptr work, size_t device,
	void *own, size_t host, CUdeviceptr info) {
	CURRENT(h);
	return h->l->p_cusolverDnXgetrf(h->solver, h->params, m, n, TYPE(f64), AT(a), lda, AT(pivots), TYPE(f64), AT(work), device,
		own, host, AT(info));
}

int tessera_laswp(tessera_handles *h, int f64, int n, CUdeviceptr a, int lda, int k, CUdeviceptr pivots, int step) {
	CURRENT(h);
	if (f64)
		return h->l->p_cusolverDnDlaswp(h->solver, n, AT(a), lda, 1, k, AT(pivots), step);
	return h->l->p_cusolverDnSlaswp(h->solver, n, AT(a), lda, 1, k, AT(pivots), step);
}
