/*
 * The part of cuSOLVER that package kernels/cuda uses. Where there is a toolkit,
 * its own header is included instead.
 */
#ifndef TESSERA_CUSOLVER_DN_H
#define TESSERA_CUSOLVER_DN_H

#if defined(__has_include_next) && !defined(TESSERA_OWN_CUDA_H)
#if __has_include_next(<cusolverDn.h>)
#define TESSERA_TOOLKIT_CUSOLVER
#include_next <cusolverDn.h>
#endif
#endif

#ifndef TESSERA_TOOLKIT_CUSOLVER

#include <stddef.h>
#include <stdint.h>

#include <cublas_v2.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cusolverDnContext *cusolverDnHandle_t;
typedef struct cusolverDnParams *cusolverDnParams_t;

typedef enum cudaDataType_t {
	CUDA_R_32F = 0,
	CUDA_R_64F = 1,
} cudaDataType;

typedef enum {
	CUSOLVER_STATUS_SUCCESS = 0,
	CUSOLVER_STATUS_NOT_INITIALIZED = 1,
	CUSOLVER_STATUS_ALLOC_FAILED = 2,
	CUSOLVER_STATUS_INVALID_VALUE = 3,
	CUSOLVER_STATUS_ARCH_MISMATCH = 4,
	CUSOLVER_STATUS_MAPPING_ERROR = 5,
	CUSOLVER_STATUS_EXECUTION_FAILED = 6,
	CUSOLVER_STATUS_INTERNAL_ERROR = 7,
} cusolverStatus_t;

cusolverStatus_t cusolverGetVersion(int *version);
cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle);
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle);
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream);
cusolverStatus_t cusolverDnSpotrf_bufferSize(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, float *a, int lda, int *work);
cusolverStatus_t cusolverDnDpotrf_bufferSize(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, double *a, int lda, int *work);
cusolverStatus_t cusolverDnSpotrf(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, float *a, int lda,
	float *work, int lwork, int *info);
cusolverStatus_t cusolverDnDpotrf(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, double *a, int lda,
	double *work, int lwork, int *info);
cusolverStatus_t cusolverDnSgeqrf_bufferSize(cusolverDnHandle_t handle, int m, int n, float *a, int lda, int *work);
cusolverStatus_t cusolverDnSgeqrf(cusolverDnHandle_t handle, int m, int n, float *a, int lda, float *tau,
	float *work, int lwork, int *info);
cusolverStatus_t cusolverDnDgeqrf_bufferSize(cusolverDnHandle_t handle, int m, int n, double *a, int lda, int *work);
cusolverStatus_t cusolverDnDgeqrf(cusolverDnHandle_t handle, int m, int n, double *a, int lda, double *tau,
	double *work, int lwork, int *info);
cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t *params);
cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t params);
cusolverStatus_t cusolverDnXgetrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n,
	cudaDataType type, const void *a, int64_t lda, cudaDataType compute, size_t *device, size_t *host);
cusolverStatus_t cusolverDnXgetrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n,
	cudaDataType type, void *a, int64_t lda, int64_t *ipiv, cudaDataType compute, void *device, size_t device_bytes,
	void *host, size_t host_bytes, int *info);
cusolverStatus_t cusolverDnSlaswp(cusolverDnHandle_t handle, int n, float *a, int lda, int k1, int k2, const int *ipiv, int incx);
cusolverStatus_t cusolverDnDlaswp(cusolverDnHandle_t handle, int n, double *a, int lda, int k1, int k2, const int *ipiv, int incx);

#ifdef __cplusplus
}
#endif

#endif

#endif
