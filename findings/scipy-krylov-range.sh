#!/usr/bin/env bash
# scipy 1.10.1 (Debian 12): the iterative methods take the norm of b as the root of a sum of squares without a scale. If
# the squares overflow or vanish (elements of about 1e155 and more, or 1e-163 and less), they return 0 for success with an
# x of zeros or NaN: so for the identity and b = (1e170, 2e170, 1e170), whose solution is b. Overflow makes the bound for
# the residual +Inf, which x = 0 meets. gmres alone has the solution for the large one, and lsqr returns 7, the limit
# of iterations, with NaN.
# It needs Debian's package registry and Python 3.11 in /usr/bin.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get -q download python3-scipy=1.10.1-2 python3-numpy=1:1.24.2-1+deb12u1 python3-decorator liblbfgsb0 libblas3 liblapack3 libgfortran5 libquadmath0 >/dev/null
for deb in *.deb; do dpkg -x "$deb" root; done
lib=$dir/root/usr/lib/$(uname -m)-linux-gnu
PYTHONPATH="$dir/root/usr/lib/python3/dist-packages" LD_LIBRARY_PATH="$lib:$lib/blas:$lib/lapack" /usr/bin/python3 -W ignore - <<'END' | tee output
import numpy, scipy, scipy.sparse as sparse, scipy.sparse.linalg as linalg
print("scipy", scipy.__version__)
a = sparse.identity(3).tocsr()
for size in 1e170, 1e-170:
    for method in linalg.cg, linalg.minres, linalg.gmres, linalg.bicgstab, linalg.lsqr:
        x, info = method(a, numpy.array([1, 2, 1]) * size)[:2]
        print(f"{size:g} {method.__name__}: {info}, x/{size:g} = {(x / size).round(9).tolist()}")
END
diff - output <<'END' || { echo "changed"; exit 1; }
scipy 1.10.1
1e+170 cg: 0, x/1e+170 = [0.0, 0.0, 0.0]
1e+170 minres: 0, x/1e+170 = [nan, nan, nan]
1e+170 gmres: 0, x/1e+170 = [1.0, 2.0, 1.0]
1e+170 bicgstab: 0, x/1e+170 = [0.0, 0.0, 0.0]
1e+170 lsqr: 7, x/1e+170 = [nan, nan, nan]
1e-170 cg: 0, x/1e-170 = [0.0, 0.0, 0.0]
1e-170 minres: 0, x/1e-170 = [0.0, 0.0, 0.0]
1e-170 gmres: 0, x/1e-170 = [0.0, 0.0, 0.0]
1e-170 bicgstab: 0, x/1e-170 = [0.0, 0.0, 0.0]
1e-170 lsqr: 0, x/1e-170 = [0.0, 0.0, 0.0]
END
