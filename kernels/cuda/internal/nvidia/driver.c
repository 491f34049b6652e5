//go:build cuda && linux

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "shim.h"
#include "symbols.h"

#define X(name) extern void *tessera_at_##name __attribute__((visibility("hidden")));
TESSERA_DRIVER(X)
#undef X

/* tessera_missing is what all trampolines lead to before libcuda is loaded, and
 * later those to functions that this libcuda does not have. */
__attribute__((visibility("hidden"))) int tessera_missing(void) { return CUDA_ERROR_NOT_FOUND; }

/* cuInit is called by gorgonia.org/cu when the program starts, and there is
 * nothing to do yet. */
__attribute__((visibility("hidden"))) CUresult cuInit(unsigned int flags) {
	(void)flags;
	return CUDA_SUCCESS;
}

void *tessera_open(const char *path, char *why, size_t n) {
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (lib == NULL && n > 0) {
		const char *text = dlerror();
		strncpy(why, text ? text : "dlopen failed", n - 1);
		why[n - 1] = 0;
	}
	return lib;
}

int tessera_bind(void *libcuda) {
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static int bound; /* to the library that was found first */
	CUresult (*init)(unsigned int) = (CUresult(*)(unsigned int))dlsym(libcuda, "cuInit");
	if (init == NULL)
		return CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND;
	pthread_mutex_lock(&mutex);
	if (!bound) {
		void *p;
#define X(name) \
	if ((p = dlsym(libcuda, #name)) != NULL) \
		tessera_at_##name = p;
		TESSERA_DRIVER(X)
#undef X
		bound = 1;
	}
	pthread_mutex_unlock(&mutex);
	return init(0);
}

const char *tessera_lookup(tessera_libraries *l, void *cublas, void *cusolver) {
#define X(name) \
	if ((l->p_##name = (__typeof__(name) *)dlsym(cublas, #name)) == NULL) \
		return #name;
	TESSERA_CUBLAS(X)
#undef X
#define X(name) \
	if ((l->p_##name = (__typeof__(name) *)dlsym(cusolver, #name)) == NULL) \
		return #name;
	TESSERA_CUSOLVER(X)
#undef X
	return NULL;
}
