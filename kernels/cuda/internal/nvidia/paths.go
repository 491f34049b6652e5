//go:build cuda && linux

package nvidia

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Variable names the environment variable with the directories, separated by
// colons, in which libraries are looked for. If it is set, no others are.
const Variable = "TESSERA_CUDA_LIBRARIES"

// search returns the directories in which libraries are looked for; "" is
// where the dynamic linker looks.
func search() []string {
	if dirs, ok := os.LookupEnv(Variable); ok {
		return filepath.SplitList(dirs)
	}
	dirs := []string{""}
	add := func(patterns ...string) {
		for _, p := range patterns {
			found, err := filepath.Glob(p)
			if err != nil {
				continue // of a directory with brackets in its name
			}
			for i := len(found) - 1; i >= 0; i-- { // later versions first
				dirs = append(dirs, found[i])
			}
		}
	}
	for _, name := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if root := os.Getenv(name); root != "" {
			add(root+"/lib64", root+"/lib")
		}
	}
	add("/usr/local/cuda/lib64", "/usr/local/cuda-*/lib64", "/usr/local/cuda*/targets/*/lib", "/opt/cuda/lib64",
		// where drivers put themselves in containers, on NixOS and in WSL
		"/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/run/opengl-driver/lib", "/usr/lib/wsl/lib", "/usr/lib64/nvidia")
	for _, site := range sitePackages() {
		add(site+"/nvidia/*/lib", site+"/nvidia/lib")
	}
	return dirs
}

// sitePackages returns patterns of the directories in which pip puts packages:
// its nvidia-cublas and nvidia-cusolver hold the libraries, too.
func sitePackages() []string {
	sites := filepath.SplitList(os.Getenv("PYTHONPATH"))
	var prefixes []string
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if p := os.Getenv(name); p != "" {
			prefixes = append(prefixes, p)
		}
	}
	for _, name := range []string{"python3", "python"} {
		if python, err := exec.LookPath(name); err == nil {
			prefixes = append(prefixes, filepath.Dir(filepath.Dir(python)))
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		prefixes = append(prefixes, home+"/.local")
	}
	for _, p := range append(prefixes, "/usr/local", "/usr") {
		sites = append(sites, p+"/lib/python3*/site-packages", p+"/lib/python3*/dist-packages", p+"/lib/python3/dist-packages")
	}
	return sites
}

// release is the libraries that belong to one version of CUDA.
type release struct {
	cuda   int
	blas   string
	solver string
	// What the two depend on, if the dynamic linker does not find it itself.
	needs []string
}

func releases() []release {
	return []release{
		{13, "libcublas.so.13", "libcusolver.so.12",
			[]string{"libnvJitLink.so.13", "libcublasLt.so.13", "libcublas.so.13", "libcusparse.so.12"}},
		{12, "libcublas.so.12", "libcusolver.so.11",
			[]string{"libnvJitLink.so.12", "libcublasLt.so.12", "libcublas.so.12", "libcusparse.so.12"}},
		{11, "libcublas.so.11", "libcusolver.so.11",
			[]string{"libcublasLt.so.11", "libcublas.so.11", "libcusparse.so.11"}},
	}
}

// shorten makes one line of the reasons why libraries were not loaded: that
// no file was found goes without saying.
func shorten(reasons []string) string {
	var told []string
	for _, r := range reasons {
		if !strings.Contains(r, "No such file or directory") && !strings.Contains(strings.Join(told, "\n"), r) {
			told = append(told, r)
		}
	}
	return strings.Join(told, "; ")
}
