package main

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestEncoder: objdump reads every instruction that is encoded here as the comment beside it has it.
func TestEncoder(t *testing.T) {
	const objdump = "aarch64-linux-gnu-objdump"
	path, err := exec.LookPath(objdump)
	if err != nil {
		t.Skipf("left out: no %s; get it with: make deps", objdump)
	}
	words := map[uint32]string{}
	files, err := filepath.Glob("../../*_arm64.s")
	if err != nil || len(files) == 0 {
		t.Fatal("no assembly", err)
	}
	line := regexp.MustCompile(`(?m)^\tWORD \$0x([0-9a-f]{8}) // (.*)$`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all := line.FindAllStringSubmatch(string(text), -1)
		if n := strings.Count(string(text), "WORD $"); n != len(all) {
			t.Errorf("%s: %d words, %d of them with a comment", file, n, len(all))
		}
		for _, m := range all {
			w, err := strconv.ParseUint(m[1], 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			if said, ok := words[uint32(w)]; ok && said != m[2] {
				t.Errorf("%08x is %q and %q", w, said, m[2])
			}
			words[uint32(w)] = m[2]
		}
	}
	var order []uint32
	var code []byte
	for w := range words {
		order = append(order, w)
		code = binary.LittleEndian.AppendUint32(code, w)
	}
	file := filepath.Join(t.TempDir(), "code")
	if err := os.WriteFile(file, code, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, "-D", "-b", "binary", "-m", "aarch64", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	read := regexp.MustCompile(`(?m)^ *[0-9a-f]+:\t([0-9a-f]{8}) \t(.*)$`).FindAllStringSubmatch(string(out), -1)
	if len(read) != len(order) {
		t.Fatalf("objdump reads %d instructions of %d:\n%s", len(read), len(order), out)
	}
	for i, m := range read {
		if got, want := strings.ReplaceAll(m[2], "\t", " "), words[order[i]]; got != want {
			t.Errorf("%s is %q, and said to be %q", m[1], got, want)
		}
	}
	t.Logf("%d different instructions", len(order))
}
