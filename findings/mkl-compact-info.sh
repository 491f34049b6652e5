#!/usr/bin/env bash
# MKL 2020.4 (Debian 12, non-free): the compact routines, which factor many small matrices at once, set
# info to 0 whatever comes out. mkl_dpotrf_compact says so of a batch with a matrix that is not positive
# definite, of which NaN is left, and mkl_dgetrfnp_compact of one with a zero pivot, of which infinities
# are left; dpotrf and dgetrf would name the column. The other matrices of the batch are right. So a
# program that moves from a loop of dpotrf to the compact routine, and keeps its look at info, goes on
# with NaN. It needs a C compiler and Debian's registry with the component non-free.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
version=2020.4.304-4
if ! apt-get -q download libmkl-{rt,core,intel-lp64,sequential,avx,avx2,avx512,def}=$version >/dev/null; then
	echo "no MKL: add the component non-free to apt's sources" >&2
	exit 2
fi
for deb in *.deb; do dpkg -x "$deb" root; done
lib=$dir/root/usr/lib/x86_64-linux-gnu
cat >main.c <<'END'
#include <stdio.h>

enum { columns = 102, lower = 122 }; // MKL_COL_MAJOR, MKL_LOWER
int mkl_get_format_compact(void);
void mkl_dgepack_compact(int layout, int rows, int cols, const double *const *a, int lda, double *c, int ldc, int format, int count);
void mkl_dgeunpack_compact(int layout, int rows, int cols, double *const *a, int lda, const double *c, int ldc, int format, int count);
void mkl_dpotrf_compact(int layout, int uplo, int n, double *c, int ldc, int *info, int format, int count);
void mkl_dgetrfnp_compact(int layout, int m, int n, double *c, int ldc, int *info, int format, int count);
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);

int main(void) {
	static double c[1024] __attribute__((aligned(64)));
	double a[3][4] = {{2, 1, 1, 2}, {2, 1, 1, -2}, {2, 1, 1, 2}}, b[3][4] = {{2, 1, 1, 2}, {0, 1, 1, 2}, {2, 1, 1, 2}};
	double *all[3] = {a[0], a[1], a[2]}, *others[3] = {b[0], b[1], b[2]};
	int format = mkl_get_format_compact(), two = 2, info = -1;
	mkl_dgepack_compact(columns, 2, 2, (const double *const *)all, 2, c, 2, format, 3);
	mkl_dpotrf_compact(columns, lower, 2, c, 2, &info, format, 3);
	mkl_dgeunpack_compact(columns, 2, 2, all, 2, c, 2, format, 3);
	printf("Cholesky of (2 1; 1 -2) in a batch: info %d, L(2,2) is %s, that of its neighbour %.3f\n", info,
		a[1][3] != a[1][3] ? "NaN" : "a number", a[2][3]);
	info = -1;
	mkl_dgepack_compact(columns, 2, 2, (const double *const *)others, 2, c, 2, format, 3);
	mkl_dgetrfnp_compact(columns, 2, 2, c, 2, &info, format, 3);
	mkl_dgeunpack_compact(columns, 2, 2, others, 2, c, 2, format, 3);
	printf("LU of (0 1; 1 2) in a batch: info %d, L(2,1) is %g, that of its neighbour %g\n", info, b[1][1], b[2][1]);
	double one[4] = {2, 1, 1, -2};
	dpotrf_("L", &two, one, &two, &info);
	printf("Cholesky of (2 1; 1 -2) by dpotrf: info %d\n", info);
	return 0;
}
END
cc main.c -o main -L"$lib" -Wl,--no-as-needed -lmkl_intel_lp64 -lmkl_sequential -lmkl_core -lm -ldl -lpthread
LD_LIBRARY_PATH="$lib" ./main | tee output
grep -q 'batch: info 0, L(2,2) is NaN, that of its neighbour 1.225' output || { echo "changed: info was 0"; exit 1; }
grep -q 'batch: info 0, L(2,1) is inf, that of its neighbour 0.5' output || { echo "changed: info was 0"; exit 1; }
grep -q 'by dpotrf: info 2' output || { echo "changed: dpotrf named the column"; exit 1; }
