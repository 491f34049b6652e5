#ifndef TESSERA_SHIM_H
#define TESSERA_SHIM_H

#include <cuda.h>
#include <cublas_v2.h>
#include <cusolverDn.h>

/* The functions below return the code of the driver or of the library that
 * they call, 0 being success. Codes of the driver from calls that are otherwise
 * the library's are moved by TESSERA_OF_DRIVER. */
#define TESSERA_OF_DRIVER 100000

/* tessera_open loads a library; if it cannot, it returns NULL and the reason. */
void *tessera_open(const char *path, char *why, size_t n);
/* tessera_bind points the trampolines to libcuda's functions and initialises
 * the driver. */
int tessera_bind(void *libcuda);

/* Pinned memory of the host. */
int tessera_host_alloc(CUcontext ctx, size_t n, void **p);
int tessera_host_free(CUcontext ctx, void *p);

/* Copies of rows. */
int tessera_copy_in(CUcontext ctx, CUstream s, CUdeviceptr dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t rows);
int tessera_copy_out(CUcontext ctx, CUstream s, void *dst, size_t dpitch, CUdeviceptr src, size_t spitch, size_t width, size_t rows);
int tessera_copy(CUcontext ctx, CUstream s, CUdeviceptr dst, size_t dpitch, CUdeviceptr src, size_t spitch, size_t width, size_t rows);

/* tessera_launch launches a kernel on a grid of x by y blocks, with n parameters of
 * 64 bits, 16 at most, which it has read when it returns. */
int tessera_launch(CUcontext ctx, CUstream s, CUfunction f, int x, int y, int threads, unsigned long long *params, int n);

/* What is used of cuBLAS and cuSOLVER. */
#define TESSERA_CUBLAS(X) \
	X(cublasCreate_v2) X(cublasDestroy_v2) X(cublasSetStream_v2) X(cublasGetVersion_v2) \
	X(cublasSetMathMode) X(cublasGetMathMode) \
	X(cublasSgemm_v2) X(cublasDgemm_v2) X(cublasSsyrk_v2) X(cublasDsyrk_v2) \
	X(cublasStrsm_v2) X(cublasDtrsm_v2) X(cublasStrmm_v2) X(cublasDtrmm_v2) \
	X(cublasSgeam) X(cublasDgeam) \
	X(cublasSgemmBatched) X(cublasDgemmBatched) X(cublasStrsmBatched) X(cublasDtrsmBatched)
#define TESSERA_CUSOLVER(X) \
	X(cusolverGetVersion) X(cusolverDnCreate) X(cusolverDnDestroy) X(cusolverDnSetStream) \
	X(cusolverDnSpotrf_bufferSize) X(cusolverDnDpotrf_bufferSize) X(cusolverDnSpotrf) X(cusolverDnDpotrf) \
	X(cusolverDnSgeqrf_bufferSize) X(cusolverDnDgeqrf_bufferSize) X(cusolverDnSgeqrf) X(cusolverDnDgeqrf) \
	X(cusolverDnCreateParams) X(cusolverDnDestroyParams) X(cusolverDnXgetrf_bufferSize) X(cusolverDnXgetrf) \
	X(cusolverDnSlaswp) X(cusolverDnDlaswp)

/* tessera_libraries holds their functions. The types are the header's. */
typedef struct {
#define X(name) __typeof__(name) *p_##name;
	TESSERA_CUBLAS(X)
	TESSERA_CUSOLVER(X)
#undef X
} tessera_libraries;

/* tessera_lookup fills in the functions of both libraries; it returns the name
 * of one that is missing, or NULL. */
const char *tessera_lookup(tessera_libraries *l, void *cublas, void *cusolver);

/* tessera_handles are the libraries' handles of one stream. */
typedef struct {
	const tessera_libraries *l;
	CUcontext ctx;
	cublasHandle_t blas;
	cusolverDnHandle_t solver;
	cusolverDnParams_t params;
} tessera_handles;

/* tessera_handles_open makes the handles; failed is the name of the call that
 * the code is from. */
int tessera_handles_open(tessera_handles *h, const tessera_libraries *l, CUcontext ctx, CUstream s, const char **failed);
int tessera_handles_close(tessera_handles *h);
/* tessera_versions reports cuBLAS's and cuSOLVER's versions and the math mode. */
int tessera_versions(tessera_handles *h, int *blas, int *solver, int *mode);

int tessera_gemm(tessera_handles *h, int f64, int ta, int tb, int m, int n, int k, double alpha,
	CUdeviceptr a, int lda, CUdeviceptr b, int ldb, double beta, CUdeviceptr c, int ldc);
int tessera_syrk(tessera_handles *h, int f64, int uplo, int trans, int n, int k, double alpha,
	CUdeviceptr a, int lda, double beta, CUdeviceptr c, int ldc);
int tessera_trsm(tessera_handles *h, int f64, int side, int uplo, int trans, int diag, int m, int n, double alpha,
	CUdeviceptr a, int lda, CUdeviceptr b, int ldb);
int tessera_trmm(tessera_handles *h, int f64, int side, int uplo, int trans, int diag, int m, int n, double alpha,
	CUdeviceptr a, int lda, CUdeviceptr b, int ldb, CUdeviceptr c, int ldc);
int tessera_geam(tessera_handles *h, int f64, int m, int n, double alpha,
	CUdeviceptr a, int lda, double beta, CUdeviceptr b, int ldb, CUdeviceptr c, int ldc);
/* a, b and c are where the addresses of the matrices are. */
int tessera_gemm_batched(tessera_handles *h, int f64, int ta, int tb, int m, int n, int k, double alpha,
	CUdeviceptr a, int lda, CUdeviceptr b, int ldb, double beta, CUdeviceptr c, int ldc, int count);
int tessera_trsm_batched(tessera_handles *h, int f64, int side, int uplo, int trans, int diag, int m, int n, double alpha,
	CUdeviceptr a, int lda, CUdeviceptr b, int ldb, int count);
/* The size of the work is in elements. */
int tessera_potrf_work(tessera_handles *h, int f64, int uplo, int n, CUdeviceptr a, int lda, int *work);
int tessera_potrf(tessera_handles *h, int f64, int uplo, int n, CUdeviceptr a, int lda, CUdeviceptr work, int lwork, CUdeviceptr info);
int tessera_geqrf_work(tessera_handles *h, int f64, int m, int n, CUdeviceptr a, int lda, int *work);
int tessera_geqrf(tessera_handles *h, int f64, int m, int n, CUdeviceptr a, int lda, CUdeviceptr tau, CUdeviceptr work, int lwork, CUdeviceptr info);
/* The sizes of the work are in bytes, on the device and on the host. */
int tessera_getrf_work(tessera_handles *h, int f64, int m, int n, CUdeviceptr a, int lda, size_t *device, size_t *host);
int tessera_getrf(tessera_handles *h, int f64, int m, int n, CUdeviceptr a, int lda, CUdeviceptr pivots, CUdeviceptr work, size_t device,
	void *own, size_t host, CUdeviceptr info);
int tessera_laswp(tessera_handles *h, int f64, int n, CUdeviceptr a, int lda, int k, CUdeviceptr pivots, int step);

#endif
