package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestResources: a file of two kinds of worker; and files that are none.
func TestResources(t *testing.T) {
	file := filepath.Join(t.TempDir(), "resources.toml")
	for text, want := range map[string]string{
		"[[workers]]\ncount = 2\n[[workers]]\ncount = 1\nprocessor = \"KNL\"\nunits = 2\nmemory = 1_000\nfeatures = [\"avx512f\"]": "",
		"":                        "declares no [[workers]]",
		"[[workers]]\nnumber = 2": "unknown key workers.number",
		"[[workers]]\ncount = 1\n[[workers]]\nunits = 2": "table 2 of [[workers]]: count is 0, want at least 1",
		"[workers]\ncount = 2":                           "workers",
		"[[workers]]\ncount = \"two\"":                   "count",
		"[[workers]":                                     "line 1",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := ReadResources(file)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if err != nil || len(all) != 2 || all[0].Workers != 2 || all[1].Target.Processor != "KNL" || all[1].Target.Units != 2 || all[1].Target.Memory != 1000 || len(all[1].Target.Features) != 1 {
			t.Errorf("%+v, %v", all, err)
		}
	}
	if _, err := ReadResources(file + "x"); err == nil {
		t.Error("a file that is not there")
	}
}
