"""k-means with scikit-learn: Lloyd's algorithm, as many iterations as said, from given centres.

The points are 8 clouds, as those of `papers loop kmeans`. Prints the best and the median of the
runs in milliseconds.

    OMP_NUM_THREADS=2 python3 kmeans_sklearn.py POINTS DIMENSIONS CENTRES ITERATIONS RUNS
"""
import sys
import time
import warnings

import numpy as np
import sklearn
from sklearn.cluster import KMeans

n, d, k, iterations, runs = [int(v) for v in sys.argv[1:6]]
random = np.random.default_rng(1)
points = 4 * random.random((k, d))[random.integers(0, k, n)] + random.random((n, d))
first = points[np.arange(k) * n // k].copy()
took = []
warnings.simplefilter("ignore")  # that so few iterations may be too few
for _ in range(runs):
    # Without a tolerance it stops before only where no label changes any more.
    means = KMeans(n_clusters=k, init=first, n_init=1, max_iter=iterations, tol=0, algorithm="lloyd", copy_x=False)
    began = time.perf_counter()
    means.fit(points)
    took.append((1e3 * (time.perf_counter() - began), means.n_iter_))
took.sort()
print(f"scikit-learn {sklearn.__version__}, {took[0][1]} iterations: {took[0][0]:.1f} ms (median {took[runs // 2][0]:.1f}); an iteration {took[0][0] / took[0][1]:.2f} ms")
