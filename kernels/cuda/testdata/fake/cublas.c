#include <math.h>
#include <stdlib.h>

#include "fake.h"

#include <cublas_v2.h>

struct cublasContext {
	CUstream stream;
	cublasMath_t mode;
};

#ifndef VERSION
#define VERSION 120400
#endif

cublasStatus_t cublasCreate_v2(cublasHandle_t *h) {
	CUcontext ctx;
	int r = fake_call("cublasCreate_v2");
	if (r)
		return (cublasStatus_t)r;
	if (cuCtxGetCurrent(&ctx) != CUDA_SUCCESS || ctx == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	*h = calloc(1, sizeof **h);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t h) {
	free(h);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t h, cudaStream_t s) {
	h->stream = s;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t h, int *v) {
	(void)h;
	*v = VERSION;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t h, cublasMath_t mode) {
	h->mode = mode;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t h, cublasMath_t *mode) {
	*mode = h->mode;
	return CUBLAS_STATUS_SUCCESS;
}

/* A library of NVIDIA's has no code for a lost device. */
#define CALL(h, name) \
	do { \
		int r_ = fake_call(name); \
		CUcontext ctx_; \
		if (r_) \
			return (cublasStatus_t)(r_ > 100 ? CUBLAS_STATUS_EXECUTION_FAILED : r_); \
		if (h == NULL || cuCtxGetCurrent(&ctx_) != CUDA_SUCCESS || ctx_ == NULL) \
			return CUBLAS_STATUS_NOT_INITIALIZED; \
	} while (0)
#define BAD(ld, rows) ((ld) < 1 || (ld) < (rows))

static cublasStatus_t enqueue(cublasHandle_t h, void (*work)(void *), const void *args, size_t n) {
	return fake_enqueue(h->stream, work, args, n) ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

#define T float
#define NAME(x) s_##x
#define API(x) cublasS##x
#define API_NAME(x) "cublasS" x
#include "routines.h"
#undef T
#undef NAME
#undef API
#undef API_NAME

#define T double
#define NAME(x) d_##x
#define API(x) cublasD##x
#define API_NAME(x) "cublasD" x
#include "routines.h"
