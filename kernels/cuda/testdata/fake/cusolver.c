#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

#include <cusolverDn.h>

struct cusolverDnContext {
	CUstream stream;
};

cusolverStatus_t cusolverGetVersion(int *v) {
	*v = 11600;
	return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *h) {
	int r = fake_call("cusolverDnCreate");
	if (r)
		return (cusolverStatus_t)r;
	*h = calloc(1, sizeof **h);
	return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t h) {
	free(h);
	return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t h, cudaStream_t s) {
	h->stream = s;
	return CUSOLVER_STATUS_SUCCESS;
}

/* The work is as large as a few columns, and overwritten. */
static int columns(int n) { return 3 * n + 7; }

struct call {
	int uplo, n, lda;
	CUdeviceptr a, work, info;
};

#define POTRF(T, letter) \
	static void letter##_potrf(void *args) { \
		struct call *p = args; \
		size_t n = (size_t)p->n, ld = (size_t)p->lda; \
		T *a = fake_at(p->a, ((n - 1) * ld + n) * sizeof(T)); \
		T *w = fake_at(p->work, (size_t)columns(p->n) * sizeof(T)); \
		int *info = fake_at(p->info, sizeof(int)); \
		if (a == NULL || w == NULL || info == NULL) \
			return; \
		memset(w, 0xff, (size_t)columns(p->n) * sizeof(T)); \
		*info = -1; \
		fake_pause(); \
		/* Row i, column j of L, with U being its transpose. */ \
		size_t di = p->uplo == CUBLAS_FILL_MODE_LOWER ? 1 : ld, dj = p->uplo == CUBLAS_FILL_MODE_LOWER ? ld : 1; \
		for (size_t j = 0; j < n; j++) { \
			for (size_t i = j; i < n; i++) \
				for (size_t k = 0; k < j; k++) \
					a[i * di + j * dj] -= a[i * di + k * dj] * a[j * di + k * dj]; \
			T d = a[j * di + j * dj]; \
			if (!(d > 0)) { \
				*info = (int)j + 1; \
				return; \
			} \
			for (size_t i = j; i < n; i++) \
				a[i * di + j * dj] /= (T)sqrt((double)d); \
		} \
		*info = 0; \
	} \
	cusolverStatus_t cusolverDn##letter##potrf_bufferSize(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T *a, int lda, int *work) { \
		(void)h, (void)uplo, (void)a; \
		if (n < 0 || lda < n) \
			return CUSOLVER_STATUS_INVALID_VALUE; \
		*work = columns(n); \
		return CUSOLVER_STATUS_SUCCESS; \
	} \
	cusolverStatus_t cusolverDn##letter##potrf(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T *a, int lda, T *work, int lwork, int *info) { \
		int r = fake_call("cusolverDn" #letter "potrf"); \
		if (r) \
			return (cusolverStatus_t)(r > 100 ? CUSOLVER_STATUS_EXECUTION_FAILED : r); \
		if (n < 0 || lda < n || lwork < columns(n)) \
			return CUSOLVER_STATUS_INVALID_VALUE; \
		struct call p = {(int)uplo, n, lda, (uintptr_t)a, (uintptr_t)work, (uintptr_t)info}; \
		return fake_enqueue(h->stream, letter##_potrf, &p, sizeof p) ? CUSOLVER_STATUS_EXECUTION_FAILED : CUSOLVER_STATUS_SUCCESS; \
	}

POTRF(float, S)
POTRF(double, D)
