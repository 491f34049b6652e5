#!/usr/bin/env bash
# scipy 1.10.1 (Debian 12): mmread of a Matrix Market file with the header "symmetric" that
# stores both triangles adds up the two: element (2, 1) of 5 is 10 in the result, without a
# warning. The format allows one triangle only; one would expect an error, or 5. And mmwrite
# gives unsigned arrays the field "unsigned-integer", which the format does not have; many
# readers refuse it.
# It needs Debian's package registry and Python 3.11 in /usr/bin.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get -q download python3-scipy=1.10.1-2 python3-numpy=1:1.24.2-1+deb12u1 python3-decorator liblbfgsb0 libblas3 liblapack3 libgfortran5 libquadmath0 >/dev/null
for deb in *.deb; do dpkg -x "$deb" root; done
lib=$dir/root/usr/lib/$(uname -m)-linux-gnu
cat >both.mtx <<'END'
%%MatrixMarket matrix coordinate real symmetric
2 2 4
1 1 1
2 1 5
1 2 5
2 2 1
END
PYTHONPATH="$dir/root/usr/lib/python3/dist-packages" LD_LIBRARY_PATH="$lib:$lib/blas:$lib/lapack" /usr/bin/python3 - <<'END' | tee output
import numpy, scipy, scipy.io
print("scipy", scipy.__version__)
print(scipy.io.mmread("both.mtx").toarray().tolist())
scipy.io.mmwrite("u.mtx", numpy.array([[1, 2]], dtype="uint8"))
print(open("u.mtx").readline().strip())
END
diff - output <<'END' || { echo "changed"; exit 1; }
scipy 1.10.1
[[1.0, 10.0], [10.0, 1.0]]
%%MatrixMarket matrix array unsigned-integer general
END
