#!/usr/bin/env bash
# OpenBLAS 0.3.21 (Debian 12): idamax of a vector with a NaN returns an index that is neither
# the NaN's nor that of the largest number. LU takes its pivots by idamax. Reference BLAS
# compares with >, which a NaN never is: with a NaN behind the first place it returns the
# largest number's. The kernels for Nehalem, Haswell, Zen and SkylakeX all do so.
# It needs a C compiler and Debian's package registry.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get -q download libopenblas0-pthread=0.3.21+ds-4 libgfortran5=12.2.0-14+deb12u1 libquadmath0=12.2.0-14+deb12u1 >/dev/null
for deb in *.deb; do dpkg -x "$deb" root; done
lib=$dir/root/usr/lib/$(uname -m)-linux-gnu
cat >main.c <<'END'
#include <math.h>
#include <stdio.h>

char *openblas_get_config(void);
int idamax_(int *n, double *x, int *incx);

int main(void) {
	double x[4] = {1, 9, 2, NAN};
	int n = 4, one = 1;
	printf("%.15s: idamax(1, 9, 2, NaN) = %d; the largest number is at 2, the NaN at 4\n", openblas_get_config(), idamax_(&n, x, &one));
	return 0;
}
END
cc main.c -o main "$lib/openblas-pthread/libopenblas.so.0" -Wl,-rpath-link,"$lib"
env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE OPENBLAS_NUM_THREADS=1 LD_LIBRARY_PATH="$lib/openblas-pthread:$lib" ./main | tee output
grep -q 'OpenBLAS 0.3.21.*) = 1;' output || { echo "changed: it was 1"; exit 1; }
