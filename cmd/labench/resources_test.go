package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestResources: a file of two kinds of worker; and files that are none.
func TestResources(t *testing.T) {
	file := filepath.Join(t.TempDir(), "resources.json")
	for text, want := range map[string]string{
		`[{"workers": 2}, {"workers": 1, "processor": "KNL", "units": 2, "memory": 1000, "features": ["avx512f"]}]`: "",
		`[]`:                   "declares no workers",
		`[{"worker": 2}]`:      "unknown field",
		`{"workers": 2}`:       "cannot unmarshal",
		`[{"workers": "two"}]`: "cannot unmarshal",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := readResources(file)
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
	if _, err := readResources(file + "x"); err == nil {
		t.Error("a file that is not there")
	}
}
