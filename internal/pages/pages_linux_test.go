package pages_test

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/tessera-la/tessera/internal/pages"
)

// TestLarge: the kernel notes that memory is to have large pages. Whether it has them to give is
// its own affair.
func TestLarge(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage/enabled"); err != nil || os.Getpagesize() != 4096 {
		t.Skip("this kernel has no large pages for such memory")
	}
	x := make([]float64, 1<<23)
	pages.Large(x)
	pages.Large([]float64{})
	pages.Large(make([]float64, 3))
	for _, at := range []int{0, len(x) / 2, len(x) - 1} {
		if flags := flagsOf(t, uintptr(unsafe.Pointer(&x[at]))); !slices.Contains(flags, "hg") {
			t.Errorf("element %d of %d is in memory with flags %v, which lack hg", at, len(x), flags)
		}
	}
	runtime.KeepAlive(x)
}

// flagsOf returns what /proc/self/smaps says of the mapping at an address.
func flagsOf(t *testing.T, at uintptr) []string {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	in := false
	for s := bufio.NewScanner(f); s.Scan(); {
		var from, to uintptr
		if n, _ := fmt.Sscanf(s.Text(), "%x-%x ", &from, &to); n == 2 {
			in = from <= at && at < to
		}
		if flags, ok := strings.CutPrefix(s.Text(), "VmFlags:"); in && ok {
			return strings.Fields(flags)
		}
	}
	t.Skip("this kernel does not tell the flags of mappings")
	return nil
}
