# Bare `make` lists the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help

GO       ?= go
CC       ?= cc
TAGS     ?=
FUZZTIME ?= 10s
# How long the tests of a package may take: what goes on for longer hangs, however
# busy the machine is.
TIMEOUT  ?= 2h
BENCH    ?= .
BENCHTIME ?= 1s

TEST := $(GO) test -timeout $(TIMEOUT)

# Short tests have small heaps: with Go's default, a third of their processor time goes into
# collecting garbage and into memory that is given back and asked for again. Nobody debugs their
# programs, and without tables for debuggers a link takes half the time.
SHORT := GOGC=400 GOMEMLIMIT=2GiB $(TEST) -short -vet=off -ldflags '-s -w'

# The packages that have tests.
TESTED := $(GO) list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...

# Tests of versions that are in every build, and so not tested again with a library.
OTHERS := ^TestConformance$$/././^(go|avx2|avx512|knl)$$|^TestHelped$$/././^(go|avx2|avx512|knl),|^TestCUDA|^TestGonum$$/^(portable|tiny|wide|packing|large|avx)

# OpenBLAS reads both when the process starts, and runs kernels below the
# machine's instruction set if some environment sets them.
CLEAN_ENV := env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE

LINK_OPENBLAS := -lopenblas
LINK_LAPACKE  := -l:liblapacke.so.3 -lopenblas
LINK_SCALAPACK := -lscalapack-openmpi
LINK_MKL      := -Wl,--no-as-needed -lmkl_rt -lgomp -lm -ldl -lpthread

# The header for machines without CUDA's toolkit; it includes the toolkit's own
# where there is one. gorgonia.org/cu can be told of it by the environment only.
CUDA_ENV := CGO_ENABLED=1 CGO_CFLAGS="-O2 -g -I$(CURDIR)/kernels/cuda/include"

# The packages that read or write bytes of files, and those of messages: what has to be
# right with 32 bits and with the high byte first, too. Of the second only some tests take
# messages apart.
BYTES := ./blocked/file ./exec/sim/machinefile ./exec/sim/runfile ./exec/trace ./internal/tomltext ./kernels ./la/csr \
	./transport ./transport/mpi ./versions
MESSAGES := ./exec/cluster ./transport/web
TAKES_APART := ^(Fuzz|TestDirectory$$|TestFrame|TestNonsense$$)

# Tests that start this program once more, which the kernel does not run; one that needs the
# address of a bus error, which qemu leaves out; and one in which a worker on another core helps.
NOT_EMULATED := ^(TestProcessesSaveTogether|TestKilledWhileSaving|TestCheckpointKilled|TestMappedFileShrinks|TestHelpBits)$$

# The packages with assembly for arm64, and those above that the drop-in's and la's users call.
ARM64 := ./kernels/cpu/... ./kernels/op ./la ./la/csr ./la/dropin

# links FLAGS: succeeds if a C program can be linked with FLAGS.
# emulated ARCH PACKAGES: tests packages for another processor, which qemu emulates.
define FUNCTIONS
emulated() {
	local run=(env GOARCH="$$1" CGO_ENABLED=0 $(SHORT) -exec "env GODEBUG=asyncpreemptoff=1 GOMAXPROCS=1 qemu-$$1")
	"$${run[@]}" -skip '$(NOT_EMULATED)' -run '$(RUN)' $$2
	[[ '$(PACKAGES)' ]] || "$${run[@]}" -run '$(TAKES_APART)' $(MESSAGES)
}
links() { command -v $(CC) >/dev/null && echo 'int main(void) { return 0; }' | $(CC) -x c - -o /dev/null "$$@" >/dev/null 2>&1; }
endef

.PHONY: help build test test-all test-blas test-386 test-s390x test-arm64 test-portable test-race test-long test-noasm test-nocgo test-cuda test-mpi test-slurm test-cuts test-numa image test-container kubernetes-check fuzz soak mutations lint fmt fmt-check vet \
	deps deps-mkl deps-cluster deps-mpi deps-slurm deps-numa deps-container bench bench-libraries bench-cluster bench-tasks bench-loops bench-components bench-plan bench-spmv examples generate-check clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	echo
	echo "  variables: TAGS='$(TAGS)' FUZZTIME=$(FUZZTIME) BENCH='$(BENCH)' BENCHTIME=$(BENCHTIME)"

build: ## compile everything, and labench into bin/ (TAGS=openblas or cuda for those versions)
	@[[ ',$(TAGS),' != *[,\ ]cuda[,\ ]* ]] || export $(CUDA_ENV)
	$(GO) build -tags '$(TAGS)' ./...
	mkdir -p bin
	$(GO) build -tags '$(TAGS)' -o bin/ ./cmd/...

test: ## test the default build, in six minutes of processor time
	@log=$$(mktemp)
	finish() {
		local status=$$?
		trap - EXIT
		echo
		command -v dot >/dev/null || echo "  left out  drawing of task graphs: no graphviz; get it with: make deps"
		command -v chromium >/dev/null || echo "  left out  the monitor's page in a browser: no Chromium; get it with: make deps"
		[[ $$($(GO) env GOARCH) != amd64 || ! -e /proc/cpuinfo ]] || grep -qw avx2 /proc/cpuinfo || echo "  left out  kernels and sums in vectors: no AVX2 on this machine"
		grep -qw avx512f /proc/cpuinfo 2>/dev/null || echo "  left out  agents unlike one another, and the KNL version: no AVX-512 on this machine"
		[[ ! -e /proc/self || -e /proc/self/schedstat ]] || echo "  left out  what other programs take of a core: this kernel does not tell (schedstat)"
		[[ ! -e /proc/self ]] || { [[ -e /sys/kernel/mm/transparent_hugepage/enabled ]] && grep -q ^VmFlags /proc/self/smaps; } || echo "  left out  large pages: this kernel has none, or does not tell (smaps)"
		echo "  left out  long tests, the race detector, the tags openblas, mkl, cuda, mpi and noasm, builds without C, other processors, examples: make test-all"
		echo "  left out  the batch scripts on a Slurm cluster: make test-slurm"
		[[ -e /sys/devices/system/node/node1 ]] || echo "  left out  what needs two NUMA nodes: make test-numa"
		if ((status)); then
			local failed=$$(.ci/failed "$$log")
			echo "make test: FAILED: $${failed:-see above}"
		else echo "make test: passed"; fi
		rm -f "$$log"
		exit "$$status"
	}
	trap finish EXIT
	packages=$$($(TESTED))
	# What takes long, make vet and the C libraries' versions are for test-all.
	$(SHORT) $$packages 2>&1 | tee "$$log"

# Each target runs, whatever failed before it.
test-all: ## test all that this machine can run, in half an hour
	@log=$$(mktemp); trap 'rm -f "$$log"' EXIT
	failed=
	for target in test test-blas test-noasm test-nocgo test-386 test-s390x test-long test-race test-cuda test-mpi examples; do
		echo "== make $$target"
		if ! $(MAKE) --no-print-directory "$$target" 2>&1 | tee "$$log"; then
			what=$$(.ci/failed "$$log")
			failed+="; $$target$${what:+: $$what}"
		fi
	done
	if [[ $$failed ]]; then echo "make test-all: FAILED: $${failed#; }"; exit 1; fi
	echo "make test-all: passed"

# A C library brings versions of the kernels and changes nothing above them. So its tags
# test these versions: the files of kernels/cpu that name its routines, and the suites.
# Above, one factorization of each kind in blocked, and with OpenBLAS two examples of la: to compile all
# tests of la would take longer than all that, no file of la knows of a tag, and two libraries' versions
# differ in kernels/cpu alone.
test-blas: ## test the versions of OpenBLAS and MKL, where they link
	@$(FUNCTIONS)
	above='^(TestGemm|TestSyrk|TestTrsm|TestPotrf|TestGetrf|TestGeqrf)$$'
	routines=$$(sed -n 's/^func \(Test[A-Za-z0-9_]*\)(.*/\1/p' $$(grep -l '\bBLAS[A-Za-z]*\[' kernels/cpu/*_test.go) | paste -s -d '|')
	check() { # TAGS
		$(GO) vet -tags "$$1" ./kernels/cpu
		$(CLEAN_ENV) $(SHORT) -tags "$$1" -run "^($$routines)\$$" -skip '$(OTHERS)' ./kernels/cpu
		$(CLEAN_ENV) $(SHORT) -tags "$$1" -skip '$(OTHERS)' ./kernels/op
		$(CLEAN_ENV) $(SHORT) -tags "$$1" -run "$$above" ./blocked
	}
	if links $(LINK_OPENBLAS); then
		check openblas
		for example in 02-cholesky 04-least-squares; do $(CLEAN_ENV) $(GO) run -tags openblas ./examples/$$example; done
	else echo "  left out  tag openblas: no C compiler with OpenBLAS; get them with: make deps"; fi
	if links $(LINK_LAPACKE); then
		$(CLEAN_ENV) $(SHORT) -tags openblas,lapacke ./cmd/labench/internal/matcalls
		$(GO) vet -tags openblas,lapacke ./cmd/labench/internal/matcalls ./la/dropin
	else echo "  left out  tag lapacke: no LAPACKE; get it with: make deps"; fi
	if links $(LINK_MKL); then check mkl
	else echo "  left out  tag mkl: no C compiler with MKL; get it with: make deps-mkl"; fi

# The detector makes a test ten to twenty times as slow. So it is for what has
# goroutines: it does not see the suites of the kernels and the packages that have
# none, tests that take many matrices through tasks that other tests have, and
# tests of programs, where nobody reads what it would say. Of tests that repeat the
# same under many settings, it sees some: two policies on three nodes, one with nodes cut
# off, states of two factorizations on nodes, one version with every op in parts. After a
# change of these lists compare the coverage of exec, blocked and la with and without what
# is new: nothing concurrent may be lost.
NO_RACE := ^Test(Conformance|CUDA|Stages|AcceleratorTraffic|SimRoutines|Kinds|Trial|Run|GeqrfColumns|LUKinds|LUZeroPivots|CholeskyKinds|Minors|QRFlops|PotrfTraffic|StatsShapes|LUTournament|LUDeterminism|QRDeterminism|QRKinds|QRFiles|MatrixFiles|Trsm|Syrk|SolveSPDKinds|SolveGeneralKinds|Suites|TrtriRange|TriangleNonFinite|Gemm|AcceleratorsPanels|JSON|ManyNodes)$$|^TestCut$$/^(locality|eft)$$|^TestNodesAndPolicies$$/^nodes=[125]$$|^TestNodesAndPolicies$$/^nodes=3$$/^(priority|fifo|lifo|fifodata|steal|locality|user)$$|^TestDistributedCheckpoint$$/^(lu|qr,_flat|qr,_greedy)$$|^TestHelped$$/./f64/^(avx512|knl)|^TestLoad$$/^float32$$
# The same by package: many matrices, types of operands, shapes, options and exponents of la, la/csr, kernels/bidiag and
# kernels/tridiag, and what la computes without tasks; files of every kind; a process that is killed.
NO_RACE_MORE := ^Test(SVD|SVDFloat32|EigenSym|EigenSymFloat32|EigenSymGeneralized|Single|CheckpointKilled|Eigen|Eigen32|LDL|Band|CholeskyUpdates|Grids|SolveSPDIterations|QRVersions|Range|LUTall|LoadNonFinite|PivotedQR|MixedTiny|LULateNaN|DependentColumns|Thin|DistributedScales|[A-Z][A-Za-z]*Sources|Narrow|Sweep|Determinism|LUTallDeterministic|XeonAndKNL|VerdictOfGonum|VerdictFloat32|SolveKinds|Small|SmallErrors|SmallRanks|SmallUpdates|SmallestSystems|StRD|SVDPart|EigenSymPart|Edges|PartSuites|NonFiniteTable|Values|Chosen|Roots|SingularRoots|ReadCheck|ReadNPZHostile)$$
# Packages without goroutines of their own, and lints. Of labench bench and jobs stay. The goroutines of node,
# setup and dropin hand over one value or wait, and most run in programs that tests start. The command itself
# would compile all of labench with the detector, which takes longer than all tests of exec, to see again what
# the tests of exec, exec/cluster, exec/monitor and bench show.
NO_RACE_IN := kernels/cpu(/.*)?|kernels/(kerneltest(/.*)?|schur)|exec/dispatch|exec/sim/(machinefile|runfile)|la/(krylov|plan|scalapack)|transport/web/certs|examples/.*|cmd/labench|internal/(lint|matgen|asm|pages|origin|quiet|tuning|plotting|matcalls|gpucheck|cli|report|scalar|tomltext|acceptance|calibrate|dropin|explain|inspect|node|ops|plan|planner|record|scale|setup|sweep|taskbench|tune)
test-race: ## test what runs concurrently under the race detector (needs a C compiler)
	@if ! command -v $(CC) >/dev/null; then echo "the race detector needs a C compiler: make deps" >&2; exit 1; fi
	export CGO_ENABLED=1
	$(SHORT) -race -skip '$(NO_RACE)|$(NO_RACE_MORE)' $$($(TESTED) | grep -vE '/($(NO_RACE_IN))$$')
	$(SHORT) -race -run Tall ./kernels/cpu

# The tests that have run with -short are not run again.
test-long: ## run the tests that take long
	@run() { # PACKAGE
		tests=$$(awk '/^func /{name = $$2; sub(/\(.*/, "", name)} /testing\.Short\(\)/ && name ~ /^Test/{print name}' "$$1"/*_test.go | sort -u | paste -s -d '|')
		[[ $$tests ]] || return 0
		local status=0 log; log=$$(mktemp) # in one piece, as another package's tests run beside
		GOGC=400 GOMEMLIMIT=6GiB $(TEST) -vet=off -ldflags '-s -w' -run "^($$tests)\$$" "$$1" >"$$log" 2>&1 || status=$$?
		cat "$$log"; rm -f "$$log"
		return $$status
	}
	export -f run
	packages=$$(grep -rl 'testing\.Short()' --include='*_test.go' . | xargs -n 1 dirname | sort -u)
	xargs -n 1 -P 2 bash -euo pipefail -c 'run "$$1"' run <<<"$$packages"

test-386: ## test all with 32 bits, or, if the kernel does not run 386, what reads or writes bytes, on qemu-arm (PACKAGES= RUN=)
	@$(FUNCTIONS)
	dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT
	printf 'package main\n\nfunc main() {}\n' >"$$dir/main.go"
	GOARCH=386 CGO_ENABLED=0 $(GO) build -o "$$dir/main" "$$dir/main.go"
	if "$$dir/main" 2>/dev/null; then
		GOARCH=386 CGO_ENABLED=0 $(SHORT) -run '$(RUN)' $(or $(PACKAGES),$$($(TESTED)))
	elif command -v qemu-arm >/dev/null; then
		echo "  left out  32 bits, but for what reads or writes bytes: this kernel does not run programs for 386, qemu those for arm"
		emulated arm "$(or $(PACKAGES),$(BYTES))"
	else echo "  left out  32 bits: this kernel does not run programs for 386, and there is no qemu-arm; get it with: make deps"; fi

test-s390x: ## test what reads or writes bytes with the high byte first, on qemu-s390x (PACKAGES= RUN=)
	@$(FUNCTIONS)
	if command -v qemu-s390x >/dev/null; then emulated s390x "$(or $(PACKAGES),$(BYTES))"
	else echo "  left out  the high byte first: no qemu-s390x; get it with: make deps"; fi

test-arm64: ## test the kernels, la and the drop-in on qemu-aarch64, with no word about speed (PACKAGES= RUN=)
	@if command -v qemu-aarch64 >/dev/null; then
		GOARCH=arm64 CGO_ENABLED=0 $(SHORT) -exec "env GODEBUG=asyncpreemptoff=1 GOMAXPROCS=1 qemu-aarch64" \
			-skip '$(NOT_EMULATED)' -run '$(RUN)' $(or $(PACKAGES),$(ARM64))
	else echo "  left out  arm64: no qemu-aarch64; get it with: make deps"; fi

test-portable: ## build all for freebsd/arm64, riscv64, ppc64le and wasm, and test the portable kernels on the last three, on qemu and node (PACKAGES= RUN=)
	@CGO_ENABLED=0 GOOS=freebsd GOARCH=arm64 $(GO) build ./...
	check() { # GOOS GOARCH WHAT RUNS IT
		GOOS=$$1 GOARCH=$$2 CGO_ENABLED=0 $(GO) build ./...
		if command -v "$$3" >/dev/null; then
			GOOS=$$1 GOARCH=$$2 CGO_ENABLED=0 $(SHORT) -exec "$${*:4}" -run '$(RUN)' $(or $(PACKAGES),./kernels/cpu)
		else echo "  left out  tests for $$2: no $$3"; fi
	}
	for arch in riscv64 ppc64le; do
		check linux $$arch qemu-$$arch env GODEBUG=asyncpreemptoff=1 GOMAXPROCS=1 qemu-$$arch
	done
	check js wasm node "$$($(GO) env GOROOT)/lib/wasm/go_js_wasm_exec"

test-noasm: ## test the packages with assembly without it
	@packages=$$({ find . -name '*_noasm.go' -not -path './.git/*' -printf '%h\n'; grep -rl --include='*.go' '/kernels/cpu/native"' . | xargs -n1 dirname; } | sort -u)
	$(SHORT) -tags noasm $$packages

test-nocgo: ## test which versions there are without C (TestPlatforms checks that all compiles)
	CGO_ENABLED=0 $(SHORT) -run '^(TestAbsent|TestTable)$$' ./kernels/op

# Of la the tests on devices are compiled for vet only: that factorizations are right on these devices is what
# the check of labench gpu-check finds out. The command around it has tests on a simulated device.
test-cuda: ## test the tag cuda on fake libraries, what calls them under the race detector (needs a C compiler)
	@if ! command -v $(CC) >/dev/null; then echo "the tag cuda needs a C compiler: make deps" >&2; exit 1; fi
	export $(CUDA_ENV)
	$(GO) vet -tags cuda ./kernels/op ./kernels/cuda/... ./la
	$(GO) test -c -vet=off -tags cuda -buildmode=pie -gcflags=all=-N -o /dev/null ./kernels/cuda # links, and is not run
	dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT
	kernels/cuda/testdata/fake/build "$$dir"
	$(SHORT) -race -tags cuda -run 'Fake|Signatures' ./kernels/cuda
	TESSERA_CUDA_LIBRARIES=$$dir FAKE_DELAY=50 $(SHORT) -count=1 -tags cuda -run TestDevice ./kernels/op
	TESSERA_CUDA_LIBRARIES=$$dir $(SHORT) -count=1 -tags cuda -run TestDevice -v ./cmd/labench/internal/gpucheck | tee "$$dir/log"
	! grep -q '^--- SKIP' "$$dir/log" || { echo "a test did not find the fake device" >&2; exit 1; }

# Ranks are processes of mpirun's, which a test that has failed may leave to it.
test-mpi: ## test the tag mpi on ranks of Open MPI and of MPICH (make deps-mpi)
	@$(FUNCTIONS)
	left_out() { echo "  left out  tag $$1: no $$2; get it with: make deps-mpi"; }
	dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT
	check() { # TAGS mpirun…
		$(GO) vet -tags "$$1" ./transport/mpi/... ./cmd/labench ./la/scalapack/... ./examples/15-mpi-tasks
		$(SHORT) -count=1 -tags "$$1" ./transport/mpi
		$(SHORT) -count=1 -tags "$$1" -run '^TestRank' ./cmd/labench
		$(GO) build -tags "$$1" -o "$$dir/tasks" ./examples/15-mpi-tasks
		"$${@:2}" -n 4 "$$dir/tasks"
		if [[ $$1 == mpi ]] && links $(LINK_SCALAPACK); then set -- "$$1,scalapack"
		else echo "  left out  tag $$1: what is compared with ScaLAPACK; it is for Open MPI: make deps-mpi"; fi
		$(SHORT) -count=1 -tags "$$1" -run '^TestRank' ./la/scalapack
	}
	command -v pkg-config >/dev/null || { left_out mpi pkg-config; exit; }
	if pkg-config --exists ompi && command -v mpirun.openmpi >/dev/null; then check mpi mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none; else left_out mpi "Open MPI"; fi
	if pkg-config --exists mpich && command -v mpirun.mpich >/dev/null; then check mpi,mpich mpirun.mpich; else left_out mpi,mpich MPICH; fi

test-slurm: ## submit the batch scripts to a Slurm cluster in network namespaces (make deps-slurm; Linux, as root)
	@GO='$(GO)' deploy/slurm/test/run

test-cuts: ## cut paths between nodes in network namespaces (RUNS=20 SEED=1 N=2500 LASTS=60; Linux, as root)
	@GO='$(GO)' deploy/cuts/run

test-numa: ## test pinning, places of tiles, locality and queues on two NUMA nodes, which qemu emulates (make deps-numa)
	@GO='$(GO)' .ci/numa

image: ## make an OCI image of labench, from nothing, in bin/image (make deps-container; GOARCH=arm64 for another processor)
	@GO='$(GO)' deploy/container/build bin/image

test-container: ## run that image as two agents and a driver in network namespaces (make deps-container; Linux, as root)
	@GO='$(GO)' deploy/container/test

kubernetes-check: ## read the files of deploy/kubernetes with the types of Kubernetes, a module of their own that is downloaded
	@files=("$(CURDIR)"/deploy/kubernetes/*.yaml)
	cd .ci/kubernetes
	$(GO) run . "$${files[@]}"

# A package is compiled once for all its targets, with the instrumentation that go test -fuzz
# has, but only in itself: it leads the fuzzer to the lines of the package under test, and what
# this one imports need not be compiled once more. Now and then Go's fuzzer takes the end of FUZZTIME for a
# failure (golang/go#75804): it then names no input, and the target is run once more.
# Two packages at a time: a compiler or a fuzzer that begins leaves cores idle.
fuzz: ## run every fuzz target for FUZZTIME
	@run() { # PACKAGE'S DIRECTORY
		work=$$(mktemp -d)
		trap 'rm -rf "$$work"' EXIT
		local package cache; package=$$($(GO) list "$$1"); cache=$$($(GO) env GOCACHE)/fuzz/$$package
		$(GO) test -c -vet=off -gcflags="$$package=-d=libfuzzer" -ldflags '-s -w' -o "$$work/fuzz.test" "$$1"
		cd "$$1"
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' ./*_test.go); do
			for try in 1 2; do
				local status=0
				"$$work/fuzz.test" -test.paniconexit0 -test.run '^$$' -test.fuzz "^$$target\$$" -test.fuzztime $(FUZZTIME) \
					-test.fuzzcachedir "$$cache" >"$$work/log" 2>&1 || status=$$?
				echo "== fuzz: $$target in $$1"$$'\n'"$$(<"$$work/log")" # in one piece
				((status)) || break
				grep -qx ' *context deadline exceeded' "$$work/log" && ! grep -q 'Failing input written' "$$work/log" && ((try == 1)) || exit 1
			done
		done
	}
	export -f run
	xargs -n 1 -P 2 bash -euo pipefail -c 'run "$$1"' run <<<"$$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n 1 dirname | sort -u)"
	echo "make fuzz: $$(grep -rh --include='*_test.go' '^func Fuzz' . | wc -l) targets, $(FUZZTIME) each, passed"

mutations: ## break the code in a hundred places, one at a time, and say what no test notices (FROM= TO=; hours)
	@.ci/mutate $(FROM) $(TO)

lint: ## hold the code to the rules of the house
	@$(TEST) -count=1 -short ./internal/lint

fmt: ## format the Go files
	@gofmt -l -w .

fmt-check: ## fail if a Go file is not formatted
	@files=$$(gofmt -l .)
	if [[ $$files ]]; then echo "not formatted (make fmt):"; echo "$$files"; exit 1; fi

vet: ## run go vet on the default build; test-blas and test-cuda vet what their tags change
	$(GO) vet ./...

deps: ## install what the tag openblas and the tests need (Debian, as root)
	@$(FUNCTIONS)
	missing=()
	links $(LINK_OPENBLAS) || missing+=(gcc libc6-dev libopenblas-pthread-dev)
	links $(LINK_LAPACKE) || missing+=(liblapacke)
	command -v dot >/dev/null || missing+=(graphviz)
	command -v chromium >/dev/null || missing+=(chromium)
	type qemu-arm qemu-s390x qemu-aarch64 &>/dev/null || missing+=(qemu-user)
	command -v aarch64-linux-gnu-objdump >/dev/null || missing+=(binutils-aarch64-linux-gnu)
	if ((!$${#missing[@]})); then echo "a C compiler, OpenBLAS, LAPACKE, graphviz, Chromium, qemu and objdump for arm64 are here"; exit; fi
	if ! command -v apt-get >/dev/null; then
		echo "this is not Debian: install $${missing[*]} or what they are called here" >&2; exit 1
	fi
	apt-get update -q
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$${missing[@]}"

deps-mkl: ## install what the tag mkl needs, from Debian's component non-free (as root)
	@$(FUNCTIONS)
	if links $(LINK_MKL); then echo "a C compiler and MKL are here"; exit; fi
	.ci/deps-mkl

deps-cluster: ## install what make bench-cluster needs: ScaLAPACK, StarPU, Open MPI (Debian, as root)
	@if command -v mpicc >/dev/null && command -v mpirun >/dev/null && [[ -e /usr/include/scalapack.h || -n $$(ls /usr/lib/*/libscalapack-openmpi.so 2>/dev/null) ]] && compgen -G '/usr/lib/*/starpu/mpi/mpi_cholesky_distributed' >/dev/null; then
		echo "ScaLAPACK, StarPU and Open MPI are here"; exit
	fi
	apt-get update -q
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends libscalapack-openmpi-dev starpu-examples libopenmpi-dev openmpi-bin libopenblas-pthread-dev gcc libc6-dev

deps-mpi: ## install what the tag mpi needs, and ScaLAPACK to compare with (Debian, as root)
	@$(FUNCTIONS)
	if type pkg-config mpirun.openmpi mpirun.mpich &>/dev/null && pkg-config --exists ompi mpich && links $(LINK_SCALAPACK); then
		echo "Open MPI, MPICH and ScaLAPACK are here"; exit
	fi
	apt-get update -q
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends openmpi-bin libopenmpi-dev mpich libmpich-dev libscalapack-openmpi-dev pkg-config gcc libc6-dev

deps-slurm: deps-mpi ## install what make test-slurm needs: Slurm, munge and MPI (Debian, as root)
	@if type slurmctld slurmd munged ip nsenter pgrep &>/dev/null; then echo "Slurm and munge are here"; exit; fi
	apt-get update -q
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends slurmctld slurmd slurm-client munge iproute2 util-linux procps

# The kernel is not installed: what would start it is not wanted here.
deps-numa: ## install what make test-numa needs: qemu, busybox, cpio, and a kernel in the cache directory (Debian, as root)
	@cache=$${XDG_CACHE_HOME:-$$HOME/.cache}/tessera
	if type qemu-system-x86_64 busybox cpio &>/dev/null && [[ -e $$cache/vmlinuz ]]; then echo "qemu, busybox, cpio and a kernel are here"; exit; fi
	apt-get update -q
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends qemu-system-x86 busybox-static cpio
	dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT
	chmod 0755 "$$dir"
	cd "$$dir"
	apt-get download -q "$$(apt-cache depends linux-image-cloud-amd64 | awk '$$1 == "Depends:" { print $$2; exit }')"
	dpkg -x linux-image-*.deb .
	mkdir -p "$$cache"
	cp boot/vmlinuz-* "$$cache/vmlinuz"

deps-container: ## install what make image and make test-container need: umoci, runc (Debian, as root)
	@if type umoci runc ip &>/dev/null; then echo "umoci and runc are here"; exit; fi
	apt-get update -q
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends umoci runc iproute2

bench: ## run the Go benchmarks (BENCH=pattern BENCHTIME=1s TAGS=openblas)
	@$(CLEAN_ENV) $(GO) test -run '^$$' -tags '$(TAGS)' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem ./...

bench-libraries: ## ours in turns with OpenBLAS, MKL and BLIS where installed (OPS= SIZES= TYPE= TURNS= PEERS= RUN=)
	@OPS='$(OPS)' SIZES='$(SIZES)' TYPE='$(TYPE)' TURNS='$(TURNS)' PEERS='$(PEERS)' RUN='$(RUN)' VERSIONS='$(VERSIONS)' CC='$(CC)' cmd/labench/testdata/libraries/compare

soak: ## 10,000 random programs on nodes with faults (SEEDS=N), 200 factorizations with agents lost (LOSSES=N); an hour
	$(GO) test ./exec/cluster -count=1 -run '^TestFaults$$' -timeout 10h -v -seeds $(or $(SEEDS),10000)
	$(GO) test ./cmd/labench -count=1 -run '^TestAgentLost$$' -timeout 10h -v -losses $(or $(LOSSES),200)

bench-cluster: ## two nodes, over HTTP and MPI, in turns with ScaLAPACK and StarPU (N=8192 OPS= TURNS= NBS= SWEEP=)
	@N='$(N)' OPS='$(OPS)' TURNS='$(TURNS)' NBS='$(NBS)' SWEEP='$(SWEEP)' cmd/labench/testdata/scalapack/compare

bench-tasks: ## what a task costs, in turns with OpenMP and StarPU where they are installed
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT
	$(GO) test -c -o "$$dir/ours" ./exec
	if command -v $(CC) >/dev/null && $(CC) -O2 -fopenmp exec/testdata/peers/openmp.c -o "$$dir/openmp" 2>/dev/null; then :
	else echo "left out: OpenMP; it needs gcc: make deps"; fi
	if command -v pkg-config >/dev/null && pkg-config --exists starpu-1.3 &&
		$(CC) -O2 exec/testdata/peers/starpu.c $$(pkg-config --cflags --libs starpu-1.3) -o "$$dir/starpu"; then :
	else echo "left out: StarPU; it needs the packages libstarpu-dev and pkg-config"; fi
	for turn in 1 2 3; do
		"$$dir/ours" -test.run '^$$' -test.bench 'CholeskyEmpty/sched=(priority|fifo)$$/tiles=64' -test.benchtime 1s | grep ^Benchmark
		"$$dir/ours" -test.run '^$$' -test.bench Independent -test.benchtime 1s | grep ^Benchmark
		[[ ! -x $$dir/openmp ]] || "$$dir/openmp" 64 31
		[[ ! -x $$dir/starpu ]] || STARPU_NCPU=2 STARPU_SILENT=1 "$$dir/starpu" 64 11
	done

bench-loops: ## what a loop and a chunk cost, in turns with OpenMP where it is installed
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT
	$(GO) test -c -o "$$dir/ours" ./exec/loop
	if command -v $(CC) >/dev/null && $(CC) -O2 -fopenmp exec/testdata/peers/openmp_loop.c -o "$$dir/openmp" 2>/dev/null; then :
	else echo "left out: OpenMP; it needs gcc: make deps"; fi
	for turn in 1 2 3; do
		"$$dir/ours" -test.run '^$$' -test.bench 'Empty|Chunk' -test.benchtime 1s | grep ^Benchmark
		[[ ! -x $$dir/openmp ]] || "$$dir/openmp" 1000000 1001
	done

bench-components: ## a round of connected components, in turns with OpenMP where it is installed
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT
	$(GO) test -c -o "$$dir/ours" ./examples/papers/internal/loopapps
	if command -v $(CC) >/dev/null && $(CC) -O2 -march=native -fopenmp examples/papers/internal/loopapps/testdata/peers/components_openmp.c -o "$$dir/openmp" 2>/dev/null; then :
	else echo "left out: OpenMP; it needs gcc: make deps"; fi
	for turn in 1 2 3; do
		"$$dir/ours" -test.run '^$$' -test.bench Components -test.benchtime 2s | grep ^Benchmark
		[[ ! -x $$dir/openmp ]] || "$$dir/openmp" 31
	done

bench-spmv: ## products of a sparse matrix and a vector, in turns with OpenMP, scipy and GraphBLAS where they are installed
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT
	$(GO) test -c -o "$$dir/ours" ./la/csr
	if command -v $(CC) >/dev/null && $(CC) -O2 -march=native -fopenmp la/csr/testdata/peers/spmv_openmp.c -o "$$dir/openmp" 2>/dev/null; then :
	else echo "left out: OpenMP; it needs gcc: make deps"; fi
	if command -v $(CC) >/dev/null && $(CC) -O2 la/csr/testdata/peers/spmv_graphblas.c -lgraphblas -o "$$dir/graphblas" 2>/dev/null; then :
	else echo "left out: GraphBLAS; it needs gcc and libgraphblas-dev"; fi
	python=; for p in python3 /usr/bin/python3; do if $$p -c 'import scipy.sparse' 2>/dev/null; then python=$$p; break; fi; done
	[[ -n $$python ]] || echo "left out: scipy; it needs python3-scipy"
	for turn in 1 2 3; do
		"$$dir/ours" -test.run '^$$' -test.bench MulVec -test.benchtime 1s | grep ^Benchmark
		[[ ! -x $$dir/openmp ]] || "$$dir/openmp" 101
		[[ ! -x $$dir/graphblas ]] || "$$dir/graphblas" 101
		[[ -z $$python ]] || $$python la/csr/testdata/peers/spmv_scipy.py 101
	done

bench-plan: ## what labench plan predicts for this machine beside what runs take (OPS= SIZES= SCHEDS= WORKERS= TURNS= REPEAT= MACHINE= NODES= NODES_MACHINE=)
	@OPS='$(OPS)' SIZES='$(SIZES)' SCHEDS='$(SCHEDS)' WORKERS='$(WORKERS)' TURNS='$(TURNS)' REPEAT='$(REPEAT)' MACHINE='$(MACHINE)' NODES='$(NODES)' NODES_MACHINE='$(NODES_MACHINE)' cmd/labench/testdata/plan/compare

examples: ## run every example; each checks its own result
	@count=0
	for dir in examples/[0-9]*/; do
		[[ -d $$dir ]] || continue
		echo "== $$dir"
		$(GO) run -tags '$(TAGS)' "./$$dir"
		count=$$((count + 1))
	done
	for study in nested eager qr; do
		echo "== examples/papers $$study"
		$(GO) run -tags '$(TAGS)' ./examples/papers $$study
		count=$$((count + 1))
	done
	if ((count == 0)); then echo "make examples: there are none" >&2; exit 1; fi
	echo "make examples: $$count examples passed"

generate-check: ## fail if go generate changes a file
	@state() { git diff; git ls-files --others --exclude-standard -z | xargs -0 -r sha256sum; }
	before=$$(state)
	$(GO) generate ./...
	if [[ $$before != "$$(state)" ]]; then
		echo "go generate changes these files:"; git status --short; exit 1
	fi

clean: ## remove what make and go build put here
	@rm -rf bin coverage.* labench
