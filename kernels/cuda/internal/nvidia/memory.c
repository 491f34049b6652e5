//go:build cuda && linux

#include "shim.h"

/* A context is current on a thread, and a goroutine may be on another thread at
 * its next call: so every call says which context it means. Setting the one
 * that is current already is cheap. */
#define CURRENT(ctx) \
	do { \
		CUresult r_ = cuCtxSetCurrent(ctx); \
		if (r_ != CUDA_SUCCESS) \
			return r_; \
	} while (0)

int tessera_host_alloc(CUcontext ctx, size_t n, void **p) {
	CURRENT(ctx);
	return cuMemHostAlloc(p, n, CU_MEMHOSTALLOC_PORTABLE);
}

int tessera_host_free(CUcontext ctx, void *p) {
	CURRENT(ctx);
	return cuMemFreeHost(p);
}

/* rows_of is the part of a 2-D copy that does not depend on its direction. */
static CUDA_MEMCPY2D rows_of(size_t dpitch, size_t spitch, size_t width, size_t rows) {
	CUDA_MEMCPY2D c = {0};
	c.dstPitch = dpitch;
	c.srcPitch = spitch;
	c.WidthInBytes = width;
	c.Height = rows;
	return c;
}

int tessera_copy_in(CUcontext ctx, CUstream s, CUdeviceptr dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t rows) {
	CURRENT(ctx);
	CUDA_MEMCPY2D c = rows_of(dpitch, spitch, width, rows);
	c.srcMemoryType = CU_MEMORYTYPE_HOST;
	c.srcHost = src;
	c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	c.dstDevice = dst;
	return cuMemcpy2DAsync(&c, s);
}

int tessera_copy_out(CUcontext ctx, CUstream s, void *dst, size_t dpitch, CUdeviceptr src, size_t spitch, size_t width, size_t rows) {
	CURRENT(ctx);
	CUDA_MEMCPY2D c = rows_of(dpitch, spitch, width, rows);
	c.srcMemoryType = CU_MEMORYTYPE_DEVICE;
	c.srcDevice = src;
	c.dstMemoryType = CU_MEMORYTYPE_HOST;
	c.dstHost = dst;
	return cuMemcpy2DAsync(&c, s);
}

int tessera_copy(CUcontext ctx, CUstream s, CUdeviceptr dst, size_t dpitch, CUdeviceptr src, size_t spitch, size_t width, size_t rows) {
	CURRENT(ctx);
	CUDA_MEMCPY2D c = rows_of(dpitch, spitch, width, rows);
	c.srcMemoryType = CU_MEMORYTYPE_DEVICE;
	c.srcDevice = src;
	c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	c.dstDevice = dst;
	return cuMemcpy2DAsync(&c, s);
}

int tessera_launch(CUcontext ctx, CUstream s, CUfunction f, int x, int y, int threads, unsigned long long *params, int n) {
	void *at[16];
	if (n > 16)
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < n; i++)
		at[i] = &params[i];
	CURRENT(ctx);
	return cuLaunchKernel(f, x, y, 1, threads, 1, 1, 0, s, at, NULL);
}
