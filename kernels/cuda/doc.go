// Package cuda runs tile operations on devices with memory of their own.
//
//	kernels (the versions "cuda" of the ops)
//	   │ Queue: where the operands are, the stream to enqueue on
//	   ▼
//	Accelerator: launches calls, cache of tiles, transfers ──► exec's workers
//	   │
//	   ▼
//	Device: memory, streams, events, copies, BLAS and LAPACK routines
//	   ├── simulated: always built, computes on the host after a modelled delay
//	   └── real: tag cuda, NVIDIA's driver, cuBLAS and cuSOLVER, found at run time
//
// A [Device] knows nothing of tiles, and an [Accelerator] nothing of BLAS.
// Matrices on a device are column-major, as its libraries take them: package
// kernels maps row-major tiles onto them.
package cuda
