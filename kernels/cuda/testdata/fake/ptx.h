/*
 * An interpreter of PTX, of as much as kernels.ptx has: so tests run what that
 * says. Threads of a block are run one after the other, each until it ends or
 * exchanges something with the others of its warp.
 */
#include <stdint.h>

struct ptx_module;
struct ptx_kernel;

/* ptx_parse reads a module, and returns NULL if it does not understand it. */
struct ptx_module *ptx_parse(const char *text);
void ptx_free(struct ptx_module *m);

/* ptx_find returns a kernel, or NULL, and ptx_params how many parameters it has, of
 * 8 bytes each. */
struct ptx_kernel *ptx_find(struct ptx_module *m, const char *name);
int ptx_params(const struct ptx_kernel *k);

/* ptx_run runs a grid of blocks, the last one first, and returns 0 if it has
 * accessed what it must not. */
int ptx_run(const struct ptx_kernel *k, const uint64_t *params, unsigned gx, unsigned gy, unsigned threads);
