#!/usr/bin/env bash
# scipy 1.10.1 (Debian 12): scipy.sparse.linalg.minres says that it ends when the relative residual is below tol, and
# returns 0 for success, as cg does. But what it compares with tol is ‖b − A·x‖/(‖A‖·‖x‖), with a Frobenius norm of A that
# grows from step to step. For the second difference of order 2000 and a b of ones, tol = 1e-8 ends with success at a
# relative residual of 0.28 and an x that is 12 % off; with tol = 1e-5 it is 99 % off. cg keeps its promise with the
# same arguments, so one method does not replace the other. One has to look at b − A·x.
# It needs Debian's package registry and Python 3.11 in /usr/bin.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get -q download python3-scipy=1.10.1-2 python3-numpy=1:1.24.2-1+deb12u1 python3-decorator liblbfgsb0 libblas3 liblapack3 libgfortran5 libquadmath0 >/dev/null
for deb in *.deb; do dpkg -x "$deb" root; done
lib=$dir/root/usr/lib/$(uname -m)-linux-gnu
PYTHONPATH="$dir/root/usr/lib/python3/dist-packages" LD_LIBRARY_PATH="$lib:$lib/blas:$lib/lapack" /usr/bin/python3 - <<'END' | tee output
import numpy, scipy, scipy.sparse as sparse, scipy.sparse.linalg as linalg
print("scipy", scipy.__version__)
n = 2000
a = sparse.diags([-1, 2, -1], [-1, 0, 1], shape=(n, n)).tocsr()
b = numpy.ones(n)
i = numpy.arange(1, n + 1)
exact = i * (n + 1 - i) / 2
for method, tol in (linalg.cg, 1e-8), (linalg.minres, 1e-8), (linalg.minres, 1e-5):
    x, info = method(a, b, tol=tol)
    residual = numpy.linalg.norm(b - a @ x) / numpy.linalg.norm(b)
    error = numpy.linalg.norm(x - exact) / numpy.linalg.norm(exact)
    print(f"{method.__name__}, tol {tol:g}: info {info}, relative residual {residual:.2f}, error {error:.2f}")
END
diff - output <<'END' || { echo "changed"; exit 1; }
scipy 1.10.1
cg, tol 1e-08: info 0, relative residual 0.00, error 0.00
minres, tol 1e-08: info 0, relative residual 0.28, error 0.12
minres, tol 1e-05: info 0, relative residual 0.97, error 0.99
END
