package certs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/tessera-la/tessera/transport/web/certs"
)

// TestFullDisk: on a disk that becomes full in the middle nothing is left behind, and with room the same
// call makes all.
func TestFullDisk(t *testing.T) {
	top := t.TempDir()
	if err := syscall.Mount("tessera", top, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("LEFT OUT a disk that is full: it takes root to mount one: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(top, 0); err != nil {
			t.Error(err)
		}
	})
	dir, filler := filepath.Join(top, "cluster"), filepath.Join(top, "filler")
	nodes := []string{"a", "b"}
	done := false
	for pages := 16; pages >= 0; pages-- { // of 4 KiB that are taken
		if err := os.WriteFile(filler, bytes.Repeat([]byte{1}, pages*4096), 0o600); err != nil {
			continue
		}
		_, err := certs.Init(dir, nodes, time.Hour)
		if err == nil {
			done = true
			break
		}
		if got := all(t, top); len(got) != 2 {
			t.Fatalf("with %d pages taken: %v, and there is %v", pages, err, got)
		}
	}
	if !done || len(all(t, dir)) != 3+2*4 {
		t.Errorf("there is %v", all(t, dir))
	}
}
