#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"
#include "ptx.h"

/* Addresses of the device are the host's plus this, which no processor follows. */
#define TAG (1ull << 56)

struct range {
	char *at;
	size_t n;
	struct range *next;
};

struct work {
	void (*run)(void *);
	void *args;
	int late;
	struct work *next;
};

struct CUstream_st {
	struct work *first, **last;
	int busy, closed;
	pthread_t thread;
};

struct CUevent_st {
	long recorded, reached;
	int closed;
	struct timespec at;
};

struct CUctx_st {
	int device, retained;
};
struct CUmod_st {
	struct ptx_module *m;
};

/* One lock and one condition for all: nothing here is about speed. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int sticky; /* the code with which the device was lost */
static struct range *device_memory, *host_memory;
static size_t used;
static struct CUctx_st contexts[16];
static __thread CUcontext current;
static __thread int late;

static long number(const char *name, long otherwise) {
	const char *s = getenv(name);
	return s ? atol(s) : otherwise;
}

static int is_lost(int code) { return code == 214 || code == 220 || (code >= 700 && code <= 719 && code != 701 && code != 712 && code != 713); }

static void lose(int code) {
	pthread_mutex_lock(&mutex);
	if (sticky == 0)
		sticky = code;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

int fake_call(const char *name) {
	static long calls;
	char op[128];
	long n;
	int code;
	const char *fail = getenv("FAKE_FAIL");
	late = 0;
	pthread_mutex_lock(&mutex);
	int r = sticky;
	if (r == 0 && fail && sscanf(fail, "%127[^:]:%ld:%d", op, &n, &code) == 3 && strcmp(op, name) == 0 && ++calls == n) {
		if (strstr(fail, ":late"))
			late = code;
		else
			r = code;
	}
	if (r && is_lost(r) && sticky == 0)
		sticky = r;
	pthread_mutex_unlock(&mutex);
	return r;
}

/* CALL is the begin of a function, and CTX of one that needs a context. */
#define CALL(name) \
	do { \
		int r_ = fake_call(name); \
		if (r_) \
			return r_; \
	} while (0)
#define CTX(name) \
	CALL(name); \
	if (current == NULL || current->retained == 0) \
	return CUDA_ERROR_INVALID_CONTEXT

void fake_pause(void) {
	static __thread unsigned seed;
	long most = number("FAKE_DELAY", 100);
	if (seed == 0)
		seed = (unsigned)(uintptr_t)&seed ^ (unsigned)time(NULL);
	if (most > 0 && rand_r(&seed) % 8 == 0)
		usleep(rand_r(&seed) % most);
}

void *fake_address(CUdeviceptr p) { return (void *)(uintptr_t)(p - TAG); }

void *fake_range(CUdeviceptr p, size_t n, CUdeviceptr *from, CUdeviceptr *to) {
	char *at = fake_address(p);
	pthread_mutex_lock(&mutex);
	struct range *r = device_memory;
	while (r && !(at >= r->at && at + n <= r->at + r->n))
		r = r->next;
	if (r) {
		*from = (uintptr_t)r->at + TAG;
		*to = *from + r->n;
	}
	pthread_mutex_unlock(&mutex);
	if (r)
		return at;
	lose(CUDA_ERROR_ILLEGAL_ADDRESS);
	return NULL;
}

void *fake_at(CUdeviceptr p, size_t n) {
	CUdeviceptr from, to;
	return fake_range(p, n, &from, &to);
}

/* The device. */

CUresult cuInit(unsigned int flags) {
	CALL("cuInit");
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	return number("FAKE_DEVICES", 1) ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult cuDriverGetVersion(int *v) {
	*v = (int)number("FAKE_VERSION", 12040);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *n) {
	CALL("cuDeviceGetCount");
	*n = (int)number("FAKE_DEVICES", 1);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *d, int i) {
	CALL("cuDeviceGet");
	if (i < 0 || i >= number("FAKE_DEVICES", 1))
		return CUDA_ERROR_INVALID_DEVICE;
	*d = i;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int n, CUdevice d) {
	(void)d;
	snprintf(name, (size_t)n, "fake device");
	return CUDA_SUCCESS;
}

static size_t memory(void) { return (size_t)number("FAKE_MEMORY", 256l << 20); }

CUresult cuDeviceTotalMem_v2(size_t *n, CUdevice d) {
	(void)d;
	*n = memory();
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) {
	CALL("cuDevicePrimaryCtxRetain");
	contexts[d].device = d;
	contexts[d].retained++;
	*c = &contexts[d];
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice d) {
	CALL("cuDevicePrimaryCtxRelease_v2");
	if (contexts[d].retained == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	contexts[d].retained--;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext c) {
	current = c;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *c) {
	*c = current;
	return CUDA_SUCCESS;
}

/* Memory. */

static struct range *add(struct range **list, char *at, size_t n) {
	struct range *r = malloc(sizeof *r);
	*r = (struct range){at, n, *list};
	return *list = r;
}

/* take removes the range at at from a list, and returns its size, or 0. */
static size_t take(struct range **list, char *at) {
	for (; *list; list = &(*list)->next)
		if ((*list)->at == at) {
			struct range *r = *list;
			size_t n = r->n;
			*list = r->next;
			free(r);
			return n;
		}
	return 0;
}

CUresult cuMemGetInfo_v2(size_t *available, size_t *total) {
	CTX("cuMemGetInfo_v2");
	*total = memory();
	*available = *total - used;
	return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n) {
	CTX("cuMemAlloc_v2");
	if (n == 0)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&mutex);
	int full = used + n > memory();
	if (!full)
		used += n;
	pthread_mutex_unlock(&mutex);
	if (full)
		return CUDA_ERROR_OUT_OF_MEMORY;
	char *at = aligned_alloc(256, (n + 255) / 256 * 256);
	memset(at, 0xff, n); /* NaN */
	pthread_mutex_lock(&mutex);
	add(&device_memory, at, n);
	pthread_mutex_unlock(&mutex);
	*p = (uintptr_t)at + TAG;
	return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr p) {
	CTX("cuMemFree_v2");
	char *at = (char *)(uintptr_t)(p - TAG);
	pthread_mutex_lock(&mutex);
	size_t n = take(&device_memory, at);
	used -= n;
	pthread_mutex_unlock(&mutex);
	if (n == 0)
		return CUDA_ERROR_INVALID_VALUE;
	memset(at, 0xff, n);
	free(at);
	return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **p, size_t n, unsigned int flags) {
	(void)flags;
	CTX("cuMemHostAlloc");
	*p = aligned_alloc(4096, (n + 4095) / 4096 * 4096);
	memset(*p, 0xff, n);
	pthread_mutex_lock(&mutex);
	add(&host_memory, *p, n);
	pthread_mutex_unlock(&mutex);
	return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *p) {
	CTX("cuMemFreeHost");
	pthread_mutex_lock(&mutex);
	size_t n = take(&host_memory, p);
	pthread_mutex_unlock(&mutex);
	if (n == 0)
		return CUDA_ERROR_INVALID_VALUE;
	free(p);
	return CUDA_SUCCESS;
}

/* Streams. */

static void *run(void *arg) {
	CUstream s = arg;
	pthread_mutex_lock(&mutex);
	for (;;) {
		while (s->first == NULL && !s->closed)
			pthread_cond_wait(&changed, &mutex);
		struct work *w = s->first;
		if (w == NULL)
			break;
		s->first = w->next;
		if (s->first == NULL)
			s->last = &s->first;
		s->busy = 1;
		int gone = sticky;
		pthread_mutex_unlock(&mutex);
		if (!gone) {
			fake_pause();
			if (w->late)
				lose(w->late);
			else
				w->run(w->args);
		}
		free(w->args);
		free(w);
		pthread_mutex_lock(&mutex);
		s->busy = 0;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

int fake_live(CUstream s) { return s != NULL && !s->closed; }

int fake_enqueue(CUstream s, void (*work)(void *), const void *args, size_t n) {
	if (!fake_live(s))
		return CUDA_ERROR_INVALID_HANDLE;
	struct work *w = malloc(sizeof *w);
	*w = (struct work){work, malloc(n + 1), late, NULL};
	memcpy(w->args, args, n);
	pthread_mutex_lock(&mutex);
	*s->last = w;
	s->last = &w->next;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *s, unsigned int flags) {
	(void)flags;
	CTX("cuStreamCreate");
	*s = calloc(1, sizeof **s); /* never freed: later uses are to be noticed */
	(*s)->last = &(*s)->first;
	return pthread_create(&(*s)->thread, NULL, run, *s) ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream s) {
	if (!fake_live(s))
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&mutex);
	s->closed = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	pthread_join(s->thread, NULL);
	return fake_call("cuStreamDestroy_v2");
}

CUresult cuStreamQuery(CUstream s) {
	CTX("cuStreamQuery");
	if (!fake_live(s))
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&mutex);
	int r = s->first || s->busy ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
	pthread_mutex_unlock(&mutex);
	return r;
}

CUresult cuStreamSynchronize(CUstream s) {
	CTX("cuStreamSynchronize");
	if (!fake_live(s))
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&mutex);
	while (sticky == 0 && (s->first || s->busy))
		pthread_cond_wait(&changed, &mutex);
	int r = sticky;
	pthread_mutex_unlock(&mutex);
	return r;
}

/* Events. */

struct point {
	CUevent e;
	long n;
};

static void reach(void *args) {
	struct point *p = args;
	pthread_mutex_lock(&mutex);
	if (p->n > p->e->reached)
		p->e->reached = p->n;
	clock_gettime(CLOCK_MONOTONIC, &p->e->at);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static void await(void *args) {
	struct point *p = args;
	pthread_mutex_lock(&mutex);
	while (sticky == 0 && p->e->reached < p->n)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
}

CUresult cuEventCreate(CUevent *e, unsigned int flags) {
	(void)flags;
	CTX("cuEventCreate");
	*e = calloc(1, sizeof **e);
	return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent e) {
	CALL("cuEventDestroy_v2");
	if (e == NULL || e->closed)
		return CUDA_ERROR_INVALID_HANDLE;
	e->closed = 1;
	return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent e, CUstream s) {
	CTX("cuEventRecord");
	if (e == NULL || e->closed)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&mutex);
	struct point p = {e, ++e->recorded};
	pthread_mutex_unlock(&mutex);
	return fake_enqueue(s, reach, &p, sizeof p);
}

CUresult cuStreamWaitEvent(CUstream s, CUevent e, unsigned int flags) {
	(void)flags;
	CTX("cuStreamWaitEvent");
	if (e == NULL || e->closed)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&mutex);
	struct point p = {e, e->recorded};
	pthread_mutex_unlock(&mutex);
	return fake_enqueue(s, await, &p, sizeof p);
}

CUresult cuEventQuery(CUevent e) {
	CALL("cuEventQuery");
	if (e == NULL || e->closed)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&mutex);
	int r = e->reached < e->recorded ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
	pthread_mutex_unlock(&mutex);
	return r;
}

CUresult cuEventSynchronize(CUevent e) {
	CALL("cuEventSynchronize");
	if (e == NULL || e->closed)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&mutex);
	while (sticky == 0 && e->reached < e->recorded)
		pthread_cond_wait(&changed, &mutex);
	int r = sticky;
	pthread_mutex_unlock(&mutex);
	return r;
}

CUresult cuEventElapsedTime(float *ms, CUevent a, CUevent b) {
	CALL("cuEventElapsedTime");
	if (a->reached == 0 || b->reached == 0)
		return CUDA_ERROR_INVALID_HANDLE;
	if (a->reached < a->recorded || b->reached < b->recorded)
		return CUDA_ERROR_NOT_READY;
	*ms = (float)((double)(b->at.tv_sec - a->at.tv_sec) * 1e3 + (double)(b->at.tv_nsec - a->at.tv_nsec) * 1e-6);
	return CUDA_SUCCESS;
}

/* Copies. What is written is NaN until the copy is done. */

struct copy {
	CUdeviceptr to, from;
	void *out;
	const void *in;
	size_t dpitch, spitch, width, rows;
};

static void copy(void *args) {
	struct copy *c = args;
	char *to = c->out;
	const char *from = c->in;
	if (to == NULL)
		to = fake_at(c->to, (c->rows - 1) * c->dpitch + c->width);
	if (from == NULL)
		from = fake_at(c->from, (c->rows - 1) * c->spitch + c->width);
	if (to == NULL || from == NULL)
		return;
	for (size_t i = 0; i < c->rows; i++)
		memset(to + i * c->dpitch, 0xff, c->width);
	fake_pause();
	for (size_t i = 0; i < c->rows; i++)
		memcpy(to + i * c->dpitch, from + i * c->spitch, c->width);
}

static int tagged(const void *p) { return p == NULL || (uintptr_t)p >= TAG; }

static int copy_on(CUstream s, struct copy c) {
	if ((c.out == NULL && c.to < TAG) || (c.in == NULL && c.from < TAG) || (c.out && tagged(c.out)) || (c.in && tagged(c.in)))
		return CUDA_ERROR_INVALID_VALUE;
	return fake_enqueue(s, copy, &c, sizeof c);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t n, CUstream s) {
	CTX("cuMemcpyHtoDAsync_v2");
	return copy_on(s, (struct copy){.to = to, .in = from, .width = n, .rows = 1});
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, CUstream s) {
	CTX("cuMemcpyDtoHAsync_v2");
	return copy_on(s, (struct copy){.out = to, .from = from, .width = n, .rows = 1});
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
	CTX("cuMemcpyDtoDAsync_v2");
	return copy_on(s, (struct copy){.to = to, .from = from, .width = n, .rows = 1});
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, CUstream s) {
	CTX("cuMemcpy2DAsync_v2");
	if (c->WidthInBytes > c->dstPitch || c->WidthInBytes > c->srcPitch || c->srcXInBytes || c->srcY || c->dstXInBytes || c->dstY)
		return CUDA_ERROR_INVALID_VALUE;
	struct copy d = {.dpitch = c->dstPitch, .spitch = c->srcPitch, .width = c->WidthInBytes, .rows = c->Height};
	if (c->srcMemoryType == CU_MEMORYTYPE_HOST)
		d.in = c->srcHost;
	else
		d.from = c->srcDevice;
	if (c->dstMemoryType == CU_MEMORYTYPE_HOST)
		d.out = c->dstHost;
	else
		d.to = c->dstDevice;
	return copy_on(s, d);
}

struct fill {
	CUdeviceptr to;
	int value;
	size_t n;
};

static void fill(void *args) {
	struct fill *f = args;
	void *to = fake_at(f->to, f->n);
	if (to)
		memset(to, f->value, f->n);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, CUstream s) {
	CTX("cuMemsetD8Async");
	struct fill f = {to, value, n};
	return fake_enqueue(s, fill, &f, sizeof f);
}

struct fill_rows {
	CUdeviceptr to;
	size_t pitch, width, rows;
	int value;
};

static void fill_rows(void *args) {
	struct fill_rows *f = args;
	char *to = fake_at(f->to, (f->rows - 1) * f->pitch + f->width);
	for (size_t i = 0; to && i < f->rows; i++)
		memset(to + i * f->pitch, f->value, f->width);
}

CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t rows, CUstream s) {
	CTX("cuMemsetD2D8Async");
	if (pitch < width || rows == 0)
		return CUDA_ERROR_INVALID_VALUE;
	struct fill_rows f = {to, pitch, width, rows, value};
	return fake_enqueue(s, fill_rows, &f, sizeof f);
}

/* Kernels. A function is a struct ptx_kernel. */

CUresult cuModuleLoadData(CUmodule *m, const void *image) {
	CTX("cuModuleLoadData");
	if (strncmp(image, ".version ", 9) || strstr(image, ".target sm_") == NULL)
		return CUDA_ERROR_INVALID_PTX;
	struct ptx_module *p = ptx_parse(image);
	if (p == NULL)
		return CUDA_ERROR_INVALID_PTX;
	*m = malloc(sizeof **m);
	(*m)->m = p;
	return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule m) {
	CTX("cuModuleUnload");
	ptx_free(m->m);
	free(m);
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name) {
	CTX("cuModuleGetFunction");
	*f = (CUfunction)ptx_find(m->m, name);
	return *f ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

struct launch {
	struct ptx_kernel *k;
	uint64_t params[16];
	unsigned gx, gy, threads;
};

static void grid(void *args) {
	struct launch *l = args;
	if (!ptx_run(l->k, l->params, l->gx, l->gy, l->threads))
		lose(CUDA_ERROR_LAUNCH_FAILED);
}

CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by,
	unsigned int bz, unsigned int shared, CUstream s, void **params, void **extra) {
	CTX("cuLaunchKernel");
	if (gx == 0 || gx > 0x7fffffff || gy == 0 || gy > 65535 || gz != 1 || bx == 0 || bx > 1024 || by != 1 || bz != 1 || shared || extra)
		return CUDA_ERROR_INVALID_VALUE;
	struct launch l = {.k = (struct ptx_kernel *)f, .gx = gx, .gy = gy, .threads = bx};
	for (int i = 0; i < ptx_params(l.k); i++)
		l.params[i] = *(uint64_t *)params[i];
	return fake_enqueue(s, grid, &l, sizeof l);
}
