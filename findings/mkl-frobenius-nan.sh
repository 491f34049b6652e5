#!/usr/bin/env bash
# MKL 2020.4 (Debian 12, non-free): dlange with 'F' takes a column that begins with a NaN for
# zero, and returns a finite norm; its 'M', 'I' and '1' are NaN. LAPACK has returned NaN from
# all four since 3.4.2. A program that tests a matrix for NaN by its Frobenius norm finds none.
# It needs a C compiler and Debian's registry with the component non-free.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
version=2020.4.304-4
if ! apt-get -q download libmkl-{rt,core,intel-lp64,sequential,avx2,def}=$version >/dev/null; then
	echo "no MKL: add the component non-free to apt's sources" >&2
	exit 2
fi
for deb in *.deb; do dpkg -x "$deb" root; done
lib=$dir/root/usr/lib/x86_64-linux-gnu
cat >main.c <<'END'
#include <math.h>
#include <stdio.h>

void mkl_get_version_string(char *buf, int len);
double dlange_(char *norm, int *m, int *n, double *a, int *lda, double *work);

int main(void) {
	double a[4] = {NAN, 4, 3, 0}, work[2]; // by columns
	int n = 2;
	printf("MKL 2020.4, columns (NaN 4), (3 0): F %g, 1 %g, M %g, I %g\n", dlange_("F", &n, &n, a, &n, work),
		dlange_("1", &n, &n, a, &n, work), dlange_("M", &n, &n, a, &n, work), dlange_("I", &n, &n, a, &n, work));
	return 0;
}
END
cc main.c -o main -L"$lib" -Wl,--no-as-needed -lmkl_intel_lp64 -lmkl_sequential -lmkl_core -lm -ldl -lpthread
LD_LIBRARY_PATH="$lib" ./main | tee output
grep -q 'F 3, ' output || { echo "changed: F was 3"; exit 1; }
