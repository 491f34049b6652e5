#!/usr/bin/env bash
# MPICH 4.0.2 (Debian 12): mpiexec ends with the bitwise OR of its processes' exit codes. One
# that ends with 4 and one that ends with 8 make 12, a code that no process had; 1 and 2 make
# 3. Open MPI's mpirun returns the code of the first process that failed. A script that
# tells failures apart by their codes reads a third one.
# It needs Debian's package registry.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get -q download mpich=4.0.2-3+b1 libhwloc15 libslurm38 libmunge2 >/dev/null
for deb in *.deb; do dpkg -x "$deb" root; done
lib=$dir/root/usr/lib/$(uname -m)-linux-gnu
for codes in "4 8" "1 2"; do
	read -r a b <<<"$codes"
	code=0
	LD_LIBRARY_PATH="$lib:$lib/slurm-wlm" root/usr/bin/mpiexec.hydra -n 1 sh -c "exit $a" : -n 1 sh -c "exit $b" >/dev/null 2>&1 || code=$?
	echo "MPICH 4.0.2: processes end with $a and $b, mpiexec with $code"
	((code == (a | b))) || { echo "changed: it was $((a | b))"; exit 1; }
done
