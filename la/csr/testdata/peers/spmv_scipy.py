"""y = A·x with scipy: A as in BenchmarkMulVec, 2^20 rows of 16 entries near the diagonal.

Prints the best and the median of the runs in milliseconds.

    python3 spmv_scipy.py 101
"""
import sys
import time

import numpy as np
import scipy.sparse

runs = int(sys.argv[1]) if len(sys.argv) > 1 else 101
n, row = 1 << 20, 16
random = np.random.default_rng(1)
columns = np.arange(n)[:, None] + random.integers(-1000, 1000, (n, row))
columns = np.sort(np.clip(columns, 0, n - 1), axis=1).ravel()
a = scipy.sparse.csr_matrix((random.random(n * row), columns, np.arange(0, n * row + 1, row)), shape=(n, n))
x = random.random(n)
took = []
for _ in range(runs):
    began = time.perf_counter()
    y = a @ x
    took.append(1e3 * (time.perf_counter() - began))
took.sort()
print(f"scipy {scipy.__version__}, {a.nnz / 1e6:.1f} million entries, {a.indices.dtype}: {took[0]:.2f} ms (median {took[runs // 2]:.2f})")
