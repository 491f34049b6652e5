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

/* What a factorization of an m×n matrix works on. */
struct factor {
	int m, n, lda;
	CUdeviceptr a, extra, work, info;
};

static int least(int m, int n) { return m < n ? m : n; }

/* A long double has room for squares that overflow in a double. */
#define FACTOR(T, letter) \
	static void letter##_geqrf(void *args) { \
		struct factor *p = args; \
		size_t m = (size_t)p->m, n = (size_t)p->n, ld = (size_t)p->lda, k = (size_t)least(p->m, p->n); \
		T *a = fake_at(p->a, ((n - 1) * ld + m) * sizeof(T)), *tau = fake_at(p->extra, k * sizeof(T)); \
		T *w = fake_at(p->work, (size_t)columns(p->n) * sizeof(T)); \
		int *info = fake_at(p->info, sizeof(int)); \
		if (a == NULL || tau == NULL || w == NULL || info == NULL) \
			return; \
		memset(w, 0xff, (size_t)columns(p->n) * sizeof(T)); \
		memset(tau, 0xff, k * sizeof(T)); \
		*info = -1; \
		fake_pause(); \
		for (size_t j = 0; j < k; j++) { \
			T *v = a + j * ld; \
			long double sum = 0, alpha = v[j], beta; \
			int zero = 1; \
			for (size_t i = j + 1; i < m; i++) { \
				sum += (long double)v[i] * v[i]; \
				zero = zero && v[i] == 0; \
			} \
			tau[j] = 0; \
			if (zero) \
				continue; \
			beta = sqrtl(alpha * alpha + sum); \
			if (alpha >= 0) \
				beta = -beta; \
			tau[j] = (T)((beta - alpha) / beta); \
			for (size_t i = j + 1; i < m; i++) \
				v[i] = (T)(v[i] / (alpha - beta)); \
			v[j] = (T)beta; \
			for (size_t c = j + 1; c < n; c++) { \
				T *x = a + c * ld; \
				long double dot = x[j]; \
				for (size_t i = j + 1; i < m; i++) \
					dot += (long double)v[i] * x[i]; \
				dot *= tau[j]; \
				x[j] = (T)(x[j] - dot); \
				for (size_t i = j + 1; i < m; i++) \
					x[i] = (T)(x[i] - v[i] * dot); \
			} \
		} \
		*info = 0; \
	} \
	static cusolverStatus_t letter##_size(int m, int n, int lda, int *work) { \
		if (m < 0 || n < 0 || lda < m || lda < 1) \
			return CUSOLVER_STATUS_INVALID_VALUE; \
		*work = columns(n); \
		return CUSOLVER_STATUS_SUCCESS; \
	} \
	static cusolverStatus_t letter##_factor(const char *name, cusolverDnHandle_t h, int m, int n, T *a, int lda, void *extra, T *work, int *info, \
		void (*routine)(void *)) { \
		int r = fake_call(name); \
		if (r) \
			return (cusolverStatus_t)(r > 100 ? CUSOLVER_STATUS_EXECUTION_FAILED : r); \
		if (m < 1 || n < 1 || lda < m) \
			return CUSOLVER_STATUS_INVALID_VALUE; \
		struct factor p = {m, n, lda, (uintptr_t)a, (uintptr_t)extra, (uintptr_t)work, (uintptr_t)info}; \
		return fake_enqueue(h->stream, routine, &p, sizeof p) ? CUSOLVER_STATUS_EXECUTION_FAILED : CUSOLVER_STATUS_SUCCESS; \
	} \
	cusolverStatus_t cusolverDn##letter##geqrf_bufferSize(cusolverDnHandle_t h, int m, int n, T *a, int lda, int *work) { \
		(void)h, (void)a; \
		return letter##_size(m, n, lda, work); \
	} \
	cusolverStatus_t cusolverDn##letter##geqrf(cusolverDnHandle_t h, int m, int n, T *a, int lda, T *tau, T *work, int lwork, int *info) { \
		if (lwork < columns(n)) \
			return CUSOLVER_STATUS_INVALID_VALUE; \
		return letter##_factor("cusolverDn" #letter "geqrf", h, m, n, a, lda, tau, work, info, letter##_geqrf); \
	}

FACTOR(float, S)
FACTOR(double, D)

cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t *p) {
	int r = fake_call("cusolverDnCreateParams");
	if (r)
		return (cusolverStatus_t)r;
	*p = malloc(1);
	return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t p) {
	free(p);
	return CUSOLVER_STATUS_SUCCESS;
}

/* What an LU factorization needs on the host, and overwrites when it runs. */
enum { own_bytes = 40 };

struct lu {
	size_t m, n, ld;
	CUdeviceptr a, pivots, work, info;
	void *own;
};

/* With rows exchanged as LAPACK does: the first of the largest elements is the pivot. */
#define LU(T, letter) \
	static void letter##_getrf(void *args) { \
		struct lu *p = args; \
		size_t m = p->m, n = p->n, ld = p->ld, k = m < n ? m : n; \
		T *a = fake_at(p->a, ((n - 1) * ld + m) * sizeof(T)); \
		int64_t *pivots = fake_at(p->pivots, k * sizeof *pivots); \
		T *w = fake_at(p->work, (size_t)columns((int)n) * sizeof(T)); \
		int *info = fake_at(p->info, sizeof(int)); \
		if (a == NULL || pivots == NULL || w == NULL || info == NULL) \
			return; \
		memset(w, 0xff, (size_t)columns((int)n) * sizeof(T)); \
		memset(pivots, 0xff, k * sizeof *pivots); \
		memset(p->own, 0xff, own_bytes); \
		*info = -1; \
		fake_pause(); \
		int zero = 0; \
		for (size_t j = 0; j < k; j++) { \
			size_t best = j; \
			for (size_t i = j + 1; i < m; i++) \
				if (fabs((double)a[i + j * ld]) > fabs((double)a[best + j * ld])) \
					best = i; \
			pivots[j] = (int64_t)best + 1; \
			if (a[best + j * ld] == 0) { \
				if (zero == 0) \
					zero = (int)j + 1; \
				continue; \
			} \
			for (size_t c = 0; c < n && best != j; c++) { \
				T x = a[j + c * ld]; \
				a[j + c * ld] = a[best + c * ld]; \
				a[best + c * ld] = x; \
			} \
			for (size_t i = j + 1; i < m; i++) \
				a[i + j * ld] /= a[j + j * ld]; \
			for (size_t c = j + 1; c < n; c++) \
				for (size_t i = j + 1; i < m; i++) \
					a[i + c * ld] -= a[i + j * ld] * a[j + c * ld]; \
		} \
		*info = zero; \
	}

LU(float, S)
LU(double, D)

cusolverStatus_t cusolverDnXgetrf_bufferSize(cusolverDnHandle_t h, cusolverDnParams_t params, int64_t m, int64_t n, cudaDataType type,
	const void *a, int64_t lda, cudaDataType compute, size_t *device, size_t *host) {
	(void)h, (void)a;
	if (params == NULL || m < 1 || n < 1 || lda < m || type != compute || (type != CUDA_R_32F && type != CUDA_R_64F))
		return CUSOLVER_STATUS_INVALID_VALUE;
	*device = (size_t)columns((int)n) * (type == CUDA_R_64F ? sizeof(double) : sizeof(float));
	*host = own_bytes;
	return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnXgetrf(cusolverDnHandle_t h, cusolverDnParams_t params, int64_t m, int64_t n, cudaDataType type, void *a, int64_t lda,
	int64_t *ipiv, cudaDataType compute, void *work, size_t device, void *own, size_t host, int *info) {
	size_t d, o;
	int r = fake_call("cusolverDnXgetrf");
	if (r)
		return (cusolverStatus_t)(r > 100 ? CUSOLVER_STATUS_EXECUTION_FAILED : r);
	if (cusolverDnXgetrf_bufferSize(h, params, m, n, type, a, lda, compute, &d, &o) != CUSOLVER_STATUS_SUCCESS || device < d || host < o || own == NULL)
		return CUSOLVER_STATUS_INVALID_VALUE;
	struct lu p = {(size_t)m, (size_t)n, (size_t)lda, (uintptr_t)a, (uintptr_t)ipiv, (uintptr_t)work, (uintptr_t)info, own};
	return fake_enqueue(h->stream, type == CUDA_R_64F ? D_getrf : S_getrf, &p, sizeof p) ? CUSOLVER_STATUS_EXECUTION_FAILED : CUSOLVER_STATUS_SUCCESS;
}

struct swaps {
	int n, ld, first, last, step;
	CUdeviceptr a, pivots;
};

#define SWAPS(T, letter) \
	static void letter##_laswp(void *args) { \
		struct swaps *p = args; \
		int *pivots = fake_at(p->pivots, ((size_t)(p->last - p->first) * (size_t)p->step + 1) * sizeof(int)); \
		T *a = fake_at(p->a, ((size_t)(p->n - 1) * (size_t)p->ld + (size_t)p->last) * sizeof(T)); \
		if (pivots == NULL || a == NULL) \
			return; \
		fake_pause(); \
		for (int i = p->first - 1; i < p->last; i++) { \
			int r = pivots[(i - p->first + 1) * p->step] - 1; \
			for (int c = 0; c < p->n && r != i; c++) { \
				T x = a[i + (size_t)c * (size_t)p->ld]; \
				a[i + (size_t)c * (size_t)p->ld] = a[r + (size_t)c * (size_t)p->ld]; \
				a[r + (size_t)c * (size_t)p->ld] = x; \
			} \
		} \
	} \
	cusolverStatus_t cusolverDn##letter##laswp(cusolverDnHandle_t h, int n, T *a, int lda, int k1, int k2, const int *ipiv, int incx) { \
		int r = fake_call("cusolverDn" #letter "laswp"); \
		if (r) \
			return (cusolverStatus_t)(r > 100 ? CUSOLVER_STATUS_EXECUTION_FAILED : r); \
		if (n < 1 || k1 < 1 || k2 < k1 || lda < k2 || incx < 1) \
			return CUSOLVER_STATUS_INVALID_VALUE; \
		struct swaps p = {n, lda, k1, k2, incx, (uintptr_t)a, (uintptr_t)ipiv}; \
		return fake_enqueue(h->stream, letter##_laswp, &p, sizeof p) ? CUSOLVER_STATUS_EXECUTION_FAILED : CUSOLVER_STATUS_SUCCESS; \
	}

SWAPS(float, S)
SWAPS(double, D)
