#!/usr/bin/env bash
# Eigen 3.4.0 (Debian 12): its Cholesky factorizations report success for a matrix with a NaN on the diagonal. A pivot is
# refused if it is <= 0, which a NaN is not. LLT, SimplicialLLT and SimplicialLDLT say Success at any order; LDLT says
# Success at order 4 and NumericalIssue at 200, and isPositive() is true at both. One would expect NumericalIssue from all,
# as LAPACK's dpotrf returns the index of such a pivot in info. A program that asks info() before it solves gets NaN for a solution.
# It needs a C++ compiler and Debian's package registry.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get -q download libeigen3-dev=3.4.0-4 >/dev/null
dpkg -x ./*.deb root
cat >main.cpp <<'END'
#include <Eigen/Dense>
#include <Eigen/Sparse>
#include <cstdio>
#include <limits>

static const char *say(Eigen::ComputationInfo i) { return i == Eigen::Success ? "Success" : i == Eigen::NumericalIssue ? "NumericalIssue" : "other"; }

int main() {
	printf("Eigen %d.%d.%d\n", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
	for (int n : {4, 200}) {
		Eigen::MatrixXd a = 4 * Eigen::MatrixXd::Identity(n, n);
		a(0, 1) = a(1, 0) = 1;
		a(2, 2) = std::numeric_limits<double>::quiet_NaN();
		Eigen::SparseMatrix<double> s = a.sparseView();
		Eigen::LLT<Eigen::MatrixXd> llt(a);
		Eigen::LDLT<Eigen::MatrixXd> ldlt(a);
		Eigen::SimplicialLLT<Eigen::SparseMatrix<double>> sparse(s);
		Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> sparseLDLT(s);
		printf("n %d: LLT %s, LDLT %s, isPositive %d, SimplicialLLT %s, SimplicialLDLT %s\n", n, say(llt.info()), say(ldlt.info()),
			ldlt.isPositive(), say(sparse.info()), say(sparseLDLT.info()));
	}
}
END
g++ -O1 -I root/usr/include/eigen3 main.cpp -o main
./main | tee out
diff out - <<'END' || { echo "changed: the lines above were seen"; exit 1; }
Eigen 3.4.0
n 4: LLT Success, LDLT Success, isPositive 1, SimplicialLLT Success, SimplicialLDLT Success
n 200: LLT Success, LDLT NumericalIssue, isPositive 1, SimplicialLLT Success, SimplicialLDLT Success
END
