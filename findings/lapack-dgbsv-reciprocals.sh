#!/usr/bin/env bash
# LAPACK's dgbsv, in OpenBLAS 0.3.21 (Debian 12): the error of a band solution grows with n where the same pivot comes
# again and again. dgbtf2 multiplies by the reciprocal of the pivot, whose rounding error is then the same in all steps,
# and a row that is never taken as pivot gathers them. For the tridiagonal matrix with 1 on the diagonal and 3 beside
# it, and n = 300,000, the backward error (the largest residual by the largest row of |A|·|x| + |b|) is 1.6e-13, more
# than a thousand times the unit; dgtsv, which divides, has 5e-15. One would take dgbsv for as accurate
# as dgtsv: both are partial pivoting on the same three diagonals.
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
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void dgbsv_(int *n, int *kl, int *ku, int *nrhs, double *ab, int *ldab, int *ipiv, double *b, int *ldb, int *info);
void dgtsv_(int *n, int *nrhs, double *dl, double *d, double *du, double *b, int *ldb, int *info);

/* backward returns the backward error of x. */
static double backward(int n, const double *x, const double *b) {
	double residual = 0, size = 0;
	for (int i = 0; i < n; i++) {
		double before = i > 0 ? 3 * x[i - 1] : 0, after = i < n - 1 ? 3 * x[i + 1] : 0;
		residual = fmax(residual, fabs(before + x[i] + after - b[i]));
		size = fmax(size, fabs(before) + fabs(x[i]) + fabs(after) + fabs(b[i]));
	}
	return residual / size;
}

int main(void) {
	int n = 300000, one = 1, ld = 4, info;
	double *ab = calloc(4 * n, 8), *lower = calloc(n, 8), *diagonal = calloc(n, 8), *upper = calloc(n, 8);
	double *b = calloc(n, 8), *x = calloc(n, 8), *y = calloc(n, 8);
	int *pivots = calloc(n, sizeof *pivots);
	uint64_t seed = 1;
	for (int i = 0; i < n; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		b[i] = x[i] = y[i] = (seed >> 11) * 0x1p-53 - 0.5;
		ab[4 * i + 1] = ab[4 * i + 3] = lower[i] = upper[i] = 3;
		ab[4 * i + 2] = diagonal[i] = 1;
	}
	dgbsv_(&n, &one, &one, &one, ab, &ld, pivots, x, &n, &info);
	double band = backward(n, x, b);
	printf("dgbsv: info %d, backward error %.1e\n", info, band);
	dgtsv_(&n, &one, lower, diagonal, upper, y, &n, &info);
	double tridiagonal = backward(n, y, b);
	printf("dgtsv: info %d, backward error %.1e\n", info, tridiagonal);
	return !(band > 5e-14 && tridiagonal < 1e-14);
}
END
cc main.c -o main "$lib/openblas-pthread/libopenblas.so.0" -lm -Wl,-rpath-link,"$lib"
env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE OPENBLAS_NUM_THREADS=1 LD_LIBRARY_PATH="$lib/openblas-pthread:$lib" ./main ||
	{ echo "changed: it was above 5e-14 and below 1e-14"; exit 1; }
