/*
 * A stand-in for NVIDIA's driver in plain C, so that the code for real devices
 * runs in tests: streams are threads, memory is NaN until it is written, and its
 * addresses cannot be followed. The other two libraries use what is declared
 * here. The environment says how the device behaves, when it is opened:
 *
 *	FAKE_DEVICES  how many there are (1)
 *	FAKE_VERSION  the driver's version of CUDA (12040)
 *	FAKE_MEMORY   bytes of a device (256 MiB)
 *	FAKE_DELAY    microseconds that some of the work waits at most, at random (100)
 *	FAKE_FAIL     FUNCTION:N:CODE, the N-th call returns CODE; with ":late" the
 *	              call succeeds, and its work fails
 */
#ifndef FAKE_H
#define FAKE_H

#define TESSERA_OWN_CUDA_H
#include <cuda.h>

/* fake_call is the begin of every function: it returns the error that the call
 * is to have. */
int fake_call(const char *name);

/* fake_enqueue has the stream run work, which gets a copy of the n bytes at
 * args. */
int fake_enqueue(CUstream s, void (*work)(void *args), const void *args, size_t n);

/* fake_at returns where n bytes of the device's memory are. If they are not all
 * of one allocation, the device is lost, and the result NULL. */
void *fake_at(CUdeviceptr p, size_t n);

/* fake_range does it, and tells the bounds of the allocation. fake_address is for
 * what lies within them. */
void *fake_range(CUdeviceptr p, size_t n, CUdeviceptr *from, CUdeviceptr *to);
void *fake_address(CUdeviceptr p);

/* fake_pause waits for a random time, now and then. */
void fake_pause(void);

/* fake_live reports whether s is a stream. */
int fake_live(CUstream s);

#endif
