//go:build cuda && linux

package cuda

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unsafe"

	"gonum.org/v1/gonum/blas"
)

// librariesVariable is that of package nvidia.
const librariesVariable = "TESSERA_CUDA_LIBRARIES"

// fakeLibraries compiles the fake libraries of testdata/fake into a directory,
// or skips the test.
func fakeLibraries(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat("testdata/fake/build"); err != nil {
		t.Skip("the fake libraries' source is not here")
	}
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	if _, err := exec.LookPath(cc); err != nil {
		t.Skip("the fake libraries need a C compiler: make deps")
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "testdata/fake/build", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// child runs tests of this program with another environment, for libcuda is
// loaded once in a process.
func child(t *testing.T, run string, env ...string) (string, error) {
	t.Helper()
	args := []string{"-test.run=" + run, "-test.v"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), "GORACE=atexit_sleep_ms=0"), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestFake runs the tests of devices on the fake libraries.
func TestFake(t *testing.T) {
	dir := fakeLibraries(t)
	for _, delay := range []string{"0", "200"} {
		out, err := child(t, "^TestDevice", librariesVariable+"="+dir, "FAKE_DELAY="+delay)
		if err != nil || strings.Contains(out, "--- SKIP: TestDevice") || !strings.Contains(out, "--- PASS: TestDeviceRoutines") {
			t.Errorf("with delays of %s µs: %v\n%s", delay, err, out)
		}
	}
}

// TestDeviceReport computes a little, and prints which call fails and how, for
// TestFakeFaults to read.
func TestDeviceReport(t *testing.T) {
	all, err := Devices()
	fmt.Printf("report: devices: %d, %v\n", len(all), err)
	if none := (*UnavailableError)(nil); errors.As(err, &none) {
		fmt.Printf("report: missing: %v\n", none.Missing)
	}
	if len(all) == 0 {
		return
	}
	d := all[0]
	x := make([]float64, 64)
	for i := range x {
		x[i] = float64(i)
	}
	p, err := d.Alloc(512)
	fmt.Printf("report: alloc: %v\n", err)
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	a := Matrix{p, 8}
	in := s.CopyIn(p, 512, unsafe.Pointer(&x[0]), 512, 512, 1)
	fmt.Printf("report: copy: %v\n", in)
	fmt.Printf("report: gemm: %v\n", s.Gemm(F64, blas.NoTrans, blas.NoTrans, 4, 4, 4, 1, a, a, 0, Matrix{p + 32*8, 8}))
	fmt.Printf("report: triangle: %v\n", s.SetUpper(F64, 4, 4, 1, Strided{p, 1, 8}))
	fmt.Printf("report: geqrf: %v\n", s.Geqrf(F64, 4, 4, a, p+32*8, p+36*8, p+60*8))
	fmt.Printf("report: synchronize: %v\n", s.Synchronize())
	_, err = d.Alloc(512)
	fmt.Printf("report: later: %v\n", err)
	fmt.Printf("report: close: %v\n", d.Close())
}

// TestFakeFaults has the fake libraries fail, or not be there.
func TestFakeFaults(t *testing.T) {
	dir := fakeLibraries(t)
	// partly returns a directory with some of the libraries; what has text is
	// that, and no library.
	partly := func(files ...string) string {
		to := t.TempDir()
		for _, f := range files {
			name, text, _ := strings.Cut(f, "=")
			if from, ok := strings.CutPrefix(text, "lib"); ok {
				text = ""
				if err := os.Link(filepath.Join(dir, "lib"+from), filepath.Join(to, name)); err != nil {
					t.Fatal(err)
				}
			}
			if text != "" {
				if err := os.WriteFile(filepath.Join(to, name), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}
		return to
	}
	const driver, solver = "libcuda.so.1=libcuda.so.1", "libcusolver.so.11=libcusolver.so.11"
	for _, test := range []struct {
		name, dir string
		env       string
		want      map[string]string // the begin of what is reported, or all of it
	}{
		{"nothing fails", dir, "", map[string]string{"devices": "1, <nil>", "gemm": "<nil>", "triangle": "<nil>", "geqrf": "<nil>", "synchronize": "<nil>", "close": "<nil>"}},
		{"several devices", dir, "FAKE_DEVICES=3", map[string]string{"devices": "3, <nil>", "gemm": "<nil>", "synchronize": "<nil>"}},
		{"newer driver", dir, "FAKE_VERSION=13000", map[string]string{"devices": "1, <nil>"}},

		{"no libcuda", partly(), "", map[string]string{"devices": "0, cuda: no driver: libcuda: not found", "missing": "no driver"}},
		{"libcuda is no library", partly("libcuda.so.1=text"), "",
			map[string]string{"devices": "0, cuda: no driver: libcuda: .*(too short|invalid ELF)", "missing": "no driver"}},
		{"libcuda is another library", partly("libcuda.so.1=libcusolver.so.11"), "", map[string]string{"missing": "no driver"}},
		{"no device", dir, "FAKE_DEVICES=0", map[string]string{"devices": "0, cuda: no device: NoDevice", "missing": "no device"}},
		{"the driver fails", dir, "FAKE_FAIL=cuInit:1:803", map[string]string{"devices": "0, cuda: no driver: SystemDriverMismatch"}},
		{"no cuBLAS", partly(driver, solver), "", map[string]string{"devices": "0, cuda: no cuBLAS and cuSOLVER: cuBLAS: libcublas.so.12: not found"}},
		{"cuBLAS is no library", partly(driver, solver, "libcublas.so.12=text"), "",
			map[string]string{"devices": "0, cuda: no cuBLAS and cuSOLVER: .*(too short|invalid ELF)"}},
		{"cuBLAS without functions", partly(driver, solver, "libcublas.so.12=libcusolver.so.11"), "",
			map[string]string{"devices": "0, .* has no function cublasCreate_v2"}},
		{"no cuSOLVER", partly(driver, "libcublas.so.12=libcublas.so.12"), "", map[string]string{"devices": "0, .*: cuSOLVER: libcusolver.so.11: not found"}},
		{"older driver", dir, "FAKE_VERSION=11040", map[string]string{"devices": "0, .*libcublas.so.11: not found", "missing": "no cuBLAS and cuSOLVER"}},
		{"too old a driver", dir, "FAKE_VERSION=10020", map[string]string{"devices": "0, .* of CUDA 10, and 11 is the oldest"}},
		{"device in use", dir, "FAKE_FAIL=cuDevicePrimaryCtxRetain:1:46",
			map[string]string{"devices": `0, cuda: no access: cuda: cuDevicePrimaryCtxRetain on cuda0: DeviceUnavailable \(46\)`, "missing": "no access"}},
		{"one of two in use", dir, "FAKE_DEVICES=2 FAKE_FAIL=cuDevicePrimaryCtxRetain:1:46",
			map[string]string{"devices": "1, cuda: no access", "gemm": "<nil>", "synchronize": "<nil>", "close": "<nil>"}},
		{"no room for cuBLAS", dir, "FAKE_FAIL=cublasCreate_v2:1:3",
			map[string]string{"devices": `0, .* cublasCreate_v2 on cuda0, stream info: allocation failed \(3\)`}},
		{"no room for the parameters of getrf", dir, "FAKE_FAIL=cusolverDnCreateParams:1:2",
			map[string]string{"devices": `0, .* cusolverDnCreateParams on cuda0, stream info: allocation failed \(2\)`}},
		{"kernels do not compile", dir, "FAKE_FAIL=cuModuleLoadData:1:222",
			map[string]string{"devices": "0, .* cuModuleLoadData on cuda0: UnsupportedPtxVersion"}},

		{"memory", dir, "FAKE_FAIL=cuMemAlloc_v2:1:2", map[string]string{"alloc": "cuda: no room for 512 bytes on cuda0"}},
		{"copy", dir, "FAKE_FAIL=cuMemcpyHtoDAsync_v2:1:1",
			map[string]string{"copy": `cuda: cuMemcpyHtoDAsync on cuda0, stream 0: InvalidValue \(1\)$`, "gemm": "<nil>", "close": "<nil>"}},
		{"routine", dir, "FAKE_FAIL=cublasDgemm_v2:1:14",
			map[string]string{"gemm": `cuda: cublasDgemm on cuda0, stream 0: internal error \(14\)$`, "synchronize": "<nil>", "later": "<nil>"}},
		{"factorization", dir, "FAKE_FAIL=cusolverDnDgeqrf:1:7",
			map[string]string{"geqrf": `cuda: cusolverDnDgeqrf on cuda0, stream 0: internal error \(7\)$`, "synchronize": "<nil>", "later": "<nil>"}},
		{"kernel", dir, "FAKE_FAIL=cuLaunchKernel:1:701",
			map[string]string{"triangle": `cuda: cuLaunchKernel on cuda0, stream 0: code 701 \(701\)$`, "geqrf": "<nil>", "synchronize": "<nil>"}},
		{"lost by a kernel", dir, "FAKE_FAIL=cuLaunchKernel:1:719:late",
			map[string]string{"triangle": "<nil>", "synchronize": ".*the device is lost$", "close": "<nil>"}},
		{"lost by a routine", dir, "FAKE_FAIL=cublasDgemm_v2:1:719",
			map[string]string{"gemm": `cuda: cublasDgemm on cuda0, stream 0: LaunchFailed \(719\); the device is lost$`,
				"later": `.* cuMemAlloc on cuda0: LaunchFailed \(719\); the device is lost`, "close": "<nil>"}},
		{"lost while it works", dir, "FAKE_FAIL=cublasDgemm_v2:1:700:late",
			map[string]string{"gemm": "<nil>", "synchronize": `.* cuStreamSynchronize on cuda0, stream 0: IllegalAddress \(700\); the device is lost$`,
				"later": ".*the device is lost", "close": "<nil>"}},
		{"lost while it copies", dir, "FAKE_FAIL=cuMemcpyHtoDAsync_v2:1:214:late",
			map[string]string{"copy": "<nil>", "synchronize": ".* EccUncorrectable .*the device is lost$", "close": "<nil>"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, err := child(t, "^TestDeviceReport$", append(strings.Fields(test.env), librariesVariable+"="+test.dir)...)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			got := make(map[string]string)
			for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
				if key, value, ok := strings.Cut(strings.TrimPrefix(lines.Text(), "report: "), ": "); ok && got[key] == "" {
					got[key] = value
				}
			}
			for key, want := range test.want {
				if !regexp.MustCompile("^" + want).MatchString(got[key]) {
					t.Errorf("%s: %q, want %q", key, got[key], want)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}

// TestSignatures compares the functions that are used with what NVIDIA's
// documentation says of them, by the header of this repository and by those of
// a toolkit, if there is one; and looks for functions that were left out.
func TestSignatures(t *testing.T) {
	fakeLibraries(t) // or there is no compiler
	check := func(args ...string) {
		t.Helper()
		args = append(append([]string{"-std=gnu11", "-fsyntax-only", "-Wall", "-Werror"}, args...), "testdata/fake/signatures.c")
		if out, err := exec.CommandContext(t.Context(), "cc", args...).CombinedOutput(); err != nil {
			t.Errorf("cc %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	check("-Iinclude", "-DTESSERA_OWN_CUDA_H")
	toolkit := false
	for _, dir := range []string{os.Getenv("CUDA_HOME") + "/include", "/usr/local/cuda/include"} {
		if _, err := os.Stat(dir + "/cusolverDn.h"); err == nil {
			toolkit = true
			check("-I" + dir)
		}
	}
	if !toolkit {
		t.Log("no toolkit: only the header of this repository was checked")
	}
	signatures := read(t, "testdata/fake/signatures.c")
	shim := read(t, "internal/nvidia/shim.h")
	begin := bytes.Index(shim, []byte("#define TESSERA_CUBLAS(X)"))
	names := regexp.MustCompile(`\bX\((cu\w+)\)`).FindAllSubmatch(shim[begin:], -1)
	names = append(names, regexp.MustCompile(`(?m)^CUresult (cu\w+)\(`).FindAllSubmatch(read(t, "testdata/fake/cuda.c"), -1)...)
	if len(names) < 50 {
		t.Fatalf("only %d functions", len(names))
	}
	for _, n := range names {
		if name := string(n[1]); name != "cuEventElapsedTime" && !bytes.Contains(signatures, []byte("("+name+",")) {
			t.Errorf("the signature of %s is not checked", name)
		}
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
