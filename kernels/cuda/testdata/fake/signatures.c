/*
 * What NVIDIA's documentation says of the functions that are used. Compiled
 * against the header of this repository and, where there is a toolkit, against
 * that one's, it shows that both mean the same. cuEventElapsedTime is left out:
 * its number changed in CUDA 12.8, not what it takes.
 */
#include <cuda.h>
#include <cublas_v2.h>
#include <cusolverDn.h>

#include <stddef.h>

#define SAME(result, name, ...) \
	_Static_assert(__builtin_types_compatible_p(__typeof__(name), result(__VA_ARGS__)), #name " has another signature")
#define DRIVER(name, ...) SAME(CUresult, name, __VA_ARGS__)
#define BLAS(name, ...) SAME(cublasStatus_t, name, __VA_ARGS__)
#define SOLVER(name, ...) SAME(cusolverStatus_t, name, __VA_ARGS__)

DRIVER(cuInit, unsigned int);
DRIVER(cuDriverGetVersion, int *);
DRIVER(cuDeviceGetCount, int *);
DRIVER(cuDeviceGet, CUdevice *, int);
DRIVER(cuDeviceGetName, char *, int, CUdevice);
DRIVER(cuDeviceTotalMem_v2, size_t *, CUdevice);
DRIVER(cuDevicePrimaryCtxRetain, CUcontext *, CUdevice);
DRIVER(cuDevicePrimaryCtxRelease_v2, CUdevice);
DRIVER(cuCtxSetCurrent, CUcontext);
DRIVER(cuCtxGetCurrent, CUcontext *);
DRIVER(cuMemGetInfo_v2, size_t *, size_t *);
DRIVER(cuMemAlloc_v2, CUdeviceptr *, size_t);
DRIVER(cuMemFree_v2, CUdeviceptr);
DRIVER(cuMemHostAlloc, void **, size_t, unsigned int);
DRIVER(cuMemFreeHost, void *);
DRIVER(cuStreamCreate, CUstream *, unsigned int);
DRIVER(cuStreamDestroy_v2, CUstream);
DRIVER(cuStreamQuery, CUstream);
DRIVER(cuStreamSynchronize, CUstream);
DRIVER(cuStreamWaitEvent, CUstream, CUevent, unsigned int);
DRIVER(cuEventCreate, CUevent *, unsigned int);
DRIVER(cuEventDestroy_v2, CUevent);
DRIVER(cuEventRecord, CUevent, CUstream);
DRIVER(cuEventQuery, CUevent);
DRIVER(cuEventSynchronize, CUevent);
DRIVER(cuMemcpyHtoDAsync_v2, CUdeviceptr, const void *, size_t, CUstream);
DRIVER(cuMemcpyDtoHAsync_v2, void *, CUdeviceptr, size_t, CUstream);
DRIVER(cuMemcpyDtoDAsync_v2, CUdeviceptr, CUdeviceptr, size_t, CUstream);
DRIVER(cuMemcpy2DAsync_v2, const CUDA_MEMCPY2D *, CUstream);
DRIVER(cuMemsetD8Async, CUdeviceptr, unsigned char, size_t, CUstream);
DRIVER(cuMemsetD2D8Async, CUdeviceptr, size_t, unsigned char, size_t, size_t, CUstream);
DRIVER(cuModuleLoadData, CUmodule *, const void *);
DRIVER(cuModuleUnload, CUmodule);
DRIVER(cuModuleGetFunction, CUfunction *, CUmodule, const char *);
DRIVER(cuLaunchKernel, CUfunction, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, CUstream, void **, void **);

BLAS(cublasCreate_v2, cublasHandle_t *);
BLAS(cublasDestroy_v2, cublasHandle_t);
BLAS(cublasSetStream_v2, cublasHandle_t, CUstream);
BLAS(cublasGetVersion_v2, cublasHandle_t, int *);
BLAS(cublasSetMathMode, cublasHandle_t, cublasMath_t);
BLAS(cublasGetMathMode, cublasHandle_t, cublasMath_t *);
BLAS(cublasSgemm_v2, cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const float *, const float *, int, const float *, int, const float *, float *, int);
BLAS(cublasSsyrk_v2, cublasHandle_t, cublasFillMode_t, cublasOperation_t, int, int, const float *, const float *, int, const float *, float *, int);
BLAS(cublasStrsm_v2, cublasHandle_t, cublasSideMode_t, cublasFillMode_t, cublasOperation_t, cublasDiagType_t, int, int, const float *, const float *, int, float *, int);
BLAS(cublasStrmm_v2, cublasHandle_t, cublasSideMode_t, cublasFillMode_t, cublasOperation_t, cublasDiagType_t, int, int, const float *, const float *, int, const float *, int, float *, int);
BLAS(cublasSgeam, cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, const float *, const float *, int, const float *, const float *, int, float *, int);
BLAS(cublasDgemm_v2, cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const double *, const double *, int, const double *, int, const double *, double *, int);
BLAS(cublasDsyrk_v2, cublasHandle_t, cublasFillMode_t, cublasOperation_t, int, int, const double *, const double *, int, const double *, double *, int);
BLAS(cublasDtrsm_v2, cublasHandle_t, cublasSideMode_t, cublasFillMode_t, cublasOperation_t, cublasDiagType_t, int, int, const double *, const double *, int, double *, int);
BLAS(cublasDtrmm_v2, cublasHandle_t, cublasSideMode_t, cublasFillMode_t, cublasOperation_t, cublasDiagType_t, int, int, const double *, const double *, int, const double *, int, double *, int);
BLAS(cublasDgeam, cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, const double *, const double *, int, const double *, const double *, int, double *, int);
BLAS(cublasSgemmBatched, cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const float *, const float *const *, int, const float *const *, int, const float *, float *const *, int, int);
BLAS(cublasStrsmBatched, cublasHandle_t, cublasSideMode_t, cublasFillMode_t, cublasOperation_t, cublasDiagType_t, int, int, const float *, const float *const *, int, float *const *, int, int);
BLAS(cublasDgemmBatched, cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const double *, const double *const *, int, const double *const *, int, const double *, double *const *, int, int);
BLAS(cublasDtrsmBatched, cublasHandle_t, cublasSideMode_t, cublasFillMode_t, cublasOperation_t, cublasDiagType_t, int, int, const double *, const double *const *, int, double *const *, int, int);

SOLVER(cusolverGetVersion, int *);
SOLVER(cusolverDnCreate, cusolverDnHandle_t *);
SOLVER(cusolverDnDestroy, cusolverDnHandle_t);
SOLVER(cusolverDnSetStream, cusolverDnHandle_t, CUstream);
SOLVER(cusolverDnSpotrf_bufferSize, cusolverDnHandle_t, cublasFillMode_t, int, float *, int, int *);
SOLVER(cusolverDnSpotrf, cusolverDnHandle_t, cublasFillMode_t, int, float *, int, float *, int, int *);
SOLVER(cusolverDnDpotrf_bufferSize, cusolverDnHandle_t, cublasFillMode_t, int, double *, int, int *);
SOLVER(cusolverDnDpotrf, cusolverDnHandle_t, cublasFillMode_t, int, double *, int, double *, int, int *);
SOLVER(cusolverDnSgeqrf_bufferSize, cusolverDnHandle_t, int, int, float *, int, int *);
SOLVER(cusolverDnSgeqrf, cusolverDnHandle_t, int, int, float *, int, float *, float *, int, int *);
SOLVER(cusolverDnDgeqrf_bufferSize, cusolverDnHandle_t, int, int, double *, int, int *);
SOLVER(cusolverDnDgeqrf, cusolverDnHandle_t, int, int, double *, int, double *, double *, int, int *);
SOLVER(cusolverDnCreateParams, cusolverDnParams_t *);
SOLVER(cusolverDnDestroyParams, cusolverDnParams_t);
SOLVER(cusolverDnXgetrf_bufferSize, cusolverDnHandle_t, cusolverDnParams_t, int64_t, int64_t, cudaDataType, const void *, int64_t, cudaDataType, size_t *, size_t *);
SOLVER(cusolverDnXgetrf, cusolverDnHandle_t, cusolverDnParams_t, int64_t, int64_t, cudaDataType, void *, int64_t, int64_t *, cudaDataType, void *, size_t, void *, size_t, int *);
SOLVER(cusolverDnSlaswp, cusolverDnHandle_t, int, float *, int, int, int, const int *, int);
SOLVER(cusolverDnDlaswp, cusolverDnHandle_t, int, double *, int, int, int, const int *, int);

_Static_assert(CUDA_R_32F == 0 && CUDA_R_64F == 1, "cudaDataType");
_Static_assert(CUBLAS_OP_N == 0 && CUBLAS_OP_T == 1, "cublasOperation_t");
_Static_assert(CUBLAS_FILL_MODE_LOWER == 0 && CUBLAS_FILL_MODE_UPPER == 1, "cublasFillMode_t");
_Static_assert(CUBLAS_SIDE_LEFT == 0 && CUBLAS_SIDE_RIGHT == 1, "cublasSideMode_t");
_Static_assert(CUBLAS_DIAG_NON_UNIT == 0 && CUBLAS_DIAG_UNIT == 1, "cublasDiagType_t");
_Static_assert(CUBLAS_DEFAULT_MATH == 0 && CUBLAS_PEDANTIC_MATH == 2, "cublasMath_t");
_Static_assert(CU_MEMORYTYPE_HOST == 1 && CU_MEMORYTYPE_DEVICE == 2, "CUmemorytype");
_Static_assert(CU_STREAM_NON_BLOCKING == 1 && CU_EVENT_BLOCKING_SYNC == 1, "flags");
_Static_assert(CU_MEMHOSTALLOC_PORTABLE == 1, "flags of pinned memory");
_Static_assert(CUDA_ERROR_OUT_OF_MEMORY == 2 && CUDA_ERROR_NO_DEVICE == 100 && CUDA_ERROR_NOT_READY == 600, "CUresult");
_Static_assert(CUDA_ERROR_DEVICE_UNAVAILABLE == 46 && CUDA_ERROR_ECC_UNCORRECTABLE == 214 && CUDA_ERROR_NVLINK_UNCORRECTABLE == 220 &&
	CUDA_ERROR_ILLEGAL_ADDRESS == 700 && CUDA_ERROR_LAUNCH_FAILED == 719 && CUDA_ERROR_UNKNOWN == 999, "CUresult");
_Static_assert(offsetof(CUDA_MEMCPY2D, srcHost) == 24 && offsetof(CUDA_MEMCPY2D, srcPitch) == 48 &&
	offsetof(CUDA_MEMCPY2D, dstDevice) == 88 && offsetof(CUDA_MEMCPY2D, WidthInBytes) == 112 && sizeof(CUDA_MEMCPY2D) == 128, "CUDA_MEMCPY2D");
