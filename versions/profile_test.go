package versions

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// measured adds n runs of version v to p, past its warm-up.
func measured(p *Profile, v string, n int) {
	c := p.newCell(bookKey{targetKey{"cpu", "amd64", "Test"}, "gemm/f64"}, 3, []string{v})
	for i := range n {
		c.end(0, 1e-9*float64(1+i%3), false, false)
	}
}

func mustLoad(t *testing.T, path string) *Profile {
	t.Helper()
	p, w, err := Load(path)
	if err != nil || w != nil {
		t.Fatalf("%v, %v", w, err)
	}
	return p
}

func mustSave(t *testing.T, p *Profile, path string) {
	t.Helper()
	if w, err := p.Save(path); err != nil || w != nil {
		t.Fatalf("%v, %v", w, err)
	}
}

func counts(p *Profile) string {
	var s []string
	for _, t := range p.Timings() {
		s = append(s, fmt.Sprintf("%s %d/%d", t.Version, t.Count, t.Runs))
	}
	return strings.Join(s, ", ")
}

func genTimings() *rapid.Generator[[]Timing] {
	name := rapid.StringMatching(`[a-z0-9/ é<&"\\]{1,12}`)
	one := rapid.Custom(func(t *rapid.T) Timing {
		runs := rapid.Uint64Range(1, maxCount).Draw(t, "runs")
		tm := Timing{
			Op: name.Draw(t, "op"), Version: name.Draw(t, "version"),
			Kind: "cpu", Arch: "amd64", Processor: name.Draw(t, "processor"),
			Class: rapid.IntRange(0, NumClasses-1).Draw(t, "class"),
			Runs:  runs, Count: rapid.Uint64Range(1, runs).Draw(t, "count"),
			Mean: rapid.Float64Range(1e-300, maxSeconds).Draw(t, "mean"),
		}
		if tm.Count > 1 {
			tm.SD = rapid.Float64Range(0, maxSeconds).Draw(t, "sd")
		}
		return tm
	})
	return rapid.SliceOfNDistinct(one, 0, 20, func(t Timing) timingKey { return t.key() })
}

func TestProfileRoundTrip(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		want := genTimings().Draw(rt, "timings")
		data, err := encodeProfile(contents{Timings: want})
		if err != nil {
			rt.Fatal(err)
		}
		got, err := parseProfile(data)
		if err != nil || len(got.Timings) != len(want) {
			rt.Fatalf("%d of %d timings, %v\n%s", len(got.Timings), len(want), err, data)
		}
		again, err := encodeProfile(got)
		if err != nil || !bytes.Equal(again, data) {
			rt.Fatalf("%v\n%s\n%s", err, data, again)
		}
		if n++; n > 10 { // files are slow
			return
		}
		path := filepath.Join(dir, fmt.Sprint(n))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			rt.Fatal(err)
		}
		p := mustLoad(t, path)
		for i, tm := range p.Timings() {
			if w := got.Timings[i]; tm.key() != w.key() || tm.Count != w.Count || tm.Runs != w.Runs || tm.Mean != w.Mean || math.Abs(tm.SD-w.SD) > 1e-14*w.SD+1e-150 { // its square underflows
				rt.Fatalf("got %+v, want %+v", tm, w)
			}
		}
		copied := path + "-copy"
		mustSave(t, p, copied)
		if got := counts(mustLoad(t, copied)); got != counts(p) {
			rt.Fatalf("got %s", got)
		}
	})
}

func TestProfileText(t *testing.T) {
	p := new(Profile)
	c := p.newCell(bookKey{targetKey{"cpu", "amd64", "Test"}, "gemm/f64"}, 3, []string{"go"})
	c.end(0, 1, false, false)
	c.end(0, 3, false, false)
	path := filepath.Join(t.TempDir(), "profile.json")
	mustSave(t, p, path)
	got, err := os.ReadFile(path)
	want := `{
  "format": "tessera-profile",
  "version": 2,
  "timings": [
    {
      "op": "gemm/f64",
      "class": 3,
      "version": "go",
      "kind": "cpu",
      "arch": "amd64",
      "processor": "Test",
      "runs": 2,
      "count": 2,
      "mean": 2,
      "sd": 1.4142135623730951
    }
  ]
}
`
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestSaveMergesDelta checks that what others saved stays, and that nothing
// is counted twice.
func TestSaveMergesDelta(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "profile.json")
	a, b := mustLoad(t, path), mustLoad(t, path)
	measured(a, "go", 3)
	measured(b, "go", 4)
	measured(b, "avx2", 5)
	mustSave(t, a, path)
	mustSave(t, b, path)
	mustSave(t, a, path)
	mustSave(t, b, path)
	c := mustLoad(t, path)
	if got := counts(c); got != "avx2 5/5, go 7/7" {
		t.Errorf("two processes: %s", got)
	}
	if got := counts(a); got != "go 3/3" {
		t.Errorf("saving changed the profile: %s", got)
	}
	measured(c, "go", 1)
	mustSave(t, c, path)
	measured(a, "go", 1)
	mustSave(t, a, path)
	if got := counts(mustLoad(t, path)); got != "avx2 5/5, go 9/9" {
		t.Errorf("after more runs: %s", got)
	}

	// Another file gets all of it, once, and the first one nothing again.
	other := filepath.Join(dir, "other.json")
	mustSave(t, c, other)
	mustSave(t, c, other)
	mustSave(t, c, path)
	if got := counts(mustLoad(t, other)); got != "avx2 5/5, go 8/8" {
		t.Errorf("other file: %s", got)
	}
	if got := counts(mustLoad(t, path)); got != "avx2 5/5, go 9/9" {
		t.Errorf("first file: %s", got)
	}
}

// Each file that a profile is saved to holds all of it.
func TestSaveToTwoFiles(t *testing.T) {
	dir := t.TempDir()
	p := new(Profile)
	for runs := range 3 {
		measured(p, "go", 1)
		for _, name := range []string{"a.json", "b.json"} {
			path := filepath.Join(dir, name)
			mustSave(t, p, path)
			if got, want := counts(mustLoad(t, path)), fmt.Sprintf("go %d/%d", runs+1, runs+1); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
	}
}

// TestWarmUpsAreNotSaved checks that a process that ran a version only once
// leaves no word about its speed.
func TestWarmUpsAreNotSaved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profile.json")
	p := new(Profile)
	c := p.newCell(bookKey{targetKey{"cpu", "", ""}, "gemm"}, 3, []string{"go"})
	c.end(0, 1, true, false)
	mustSave(t, p, path)
	if got := counts(mustLoad(t, path)); got != "" {
		t.Errorf("got %s", got)
	}
	c.end(0, 1, false, false)
	mustSave(t, p, path)
	if got := counts(mustLoad(t, path)); got != "go 1/2" {
		t.Errorf("got %s", got)
	}
}

func TestSaveFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "profile.json")
	p := new(Profile)
	measured(p, "go", 3)
	// Nothing can be put in place of a directory.
	if err := os.MkdirAll(filepath.Join(path, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Save(path); err == nil {
		t.Fatal("saved")
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	mustSave(t, p, path)
	if got := counts(mustLoad(t, path)); got != "go 3/3" {
		t.Errorf("after a failed save: %s", got)
	}
	if _, err := p.Save(filepath.Join(dir, "none", "profile.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such directory: %v", err)
	}
	if _, err := p.Save(dir); err == nil {
		t.Error("saved to a directory")
	}
	if _, _, err := Load(dir); err == nil {
		t.Error("loaded a directory")
	}
}

func TestSaveThroughLink(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.json"), filepath.Join(dir, "link.json")
	p := new(Profile)
	measured(p, "go", 1)
	mustSave(t, p, real)
	if err := os.Symlink(real, link); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	measured(p, "go", 1)
	mustSave(t, p, link)
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	if got := counts(mustLoad(t, real)); got != "go 2/2" {
		t.Errorf("got %s", got)
	}
}

// entry is a profile with one timing in which old is replaced by new.
func entry(old, new string) string {
	good := `{"format":"tessera-profile","version":1,"timings":[{"op":"gemm","class":3,"version":"go","kind":"cpu","arch":"","processor":"","runs":2,"count":2,"mean":1e-9,"sd":0}]}`
	return strings.Replace(good, old, new, 1)
}

var badProfiles = []struct{ name, text string }{
	{"empty", ""},
	{"binary", "\x00\x01\x7fELF"},
	{"truncated", entry(`"sd":0}]}`, "")},
	{"null", "null"},
	{"list", "[]"},
	{"no head", "{}"},
	{"foreign", `{"name":"x","dependencies":{}}`},
	{"other format", entry("tessera-profile", "tessera-trace")},
	{"later version", entry(`"version":1`, `"version":3`)},
	{"unknown field", entry(`"sd"`, `"stddev"`)},
	{"text after", entry("", "") + "x"},
	{"two values", entry("", "") + "{}"},
	{"timings null", `{"format":"tessera-profile","version":1,"timings":null}`},
	{"timings object", `{"format":"tessera-profile","version":1,"timings":{}}`},
	{"timing null", `{"format":"tessera-profile","version":1,"timings":[null]}`},
	{"NaN", entry("1e-9", "NaN")},
	{"infinite", entry("1e-9", "1e999")},
	{"mean zero", entry("1e-9", "0")},
	{"mean negative", entry("1e-9", "-1")},
	{"mean huge", entry("1e-9", "1e300")},
	{"mean string", entry("1e-9", `"1"`)},
	{"sd negative", entry(`"sd":0`, `"sd":-1`)},
	{"sd huge", entry(`"sd":0`, `"sd":1e300`)},
	{"count negative", entry(`"count":2`, `"count":-2`)},
	{"count zero", entry(`"count":2`, `"count":0`)},
	{"count fraction", entry(`"count":2`, `"count":1.5`)},
	{"count above runs", entry(`"count":2`, `"count":3`)},
	{"runs huge", entry(`"runs":2`, `"runs":18446744073709551615`)},
	{"runs beyond integers", entry(`"runs":2`, `"runs":1e30`)},
	{"class negative", entry(`"class":3`, `"class":-1`)},
	{"class huge", entry(`"class":3`, `"class":64`)},
	{"no op", entry(`"op":"gemm",`, "")},
	{"no version", entry(`"version":"go"`, `"version":""`)},
	{"control character", entry(`"processor":""`, `"processor":"\u001b[31m"`)},
	{"long name", entry(`"processor":""`, `"processor":"`+strings.Repeat("x", 300)+`"`)},
	{"repeated", entry(`}]`, `},{"op":"gemm","class":3,"version":"go","kind":"cpu","arch":"","processor":"","runs":2,"count":2,"mean":1e-9,"sd":0}]`)},
	{"deep", strings.Repeat("[", 100000)},
	{"many empty timings", `{"format":"tessera-profile","version":1,"timings":[` + strings.Repeat("{},", 100000) + `{}]}`},
	{"bad tile size", `{"format":"tessera-profile","version":1,"timings":[],"tile_sizes":[{"op":"gemm","kind":"cpu","arch":"","processor":"","workers":1,"n":100,"nb":0,"rate":1e9}]}`},
	{"too large", entry("", strings.Repeat(" ", maxProfile))},
}

func TestBadProfiles(t *testing.T) {
	if c, err := parseProfile([]byte(entry("", ""))); err != nil || len(c.Timings) != 1 {
		t.Fatalf("the good one: %v, %v", c, err)
	}
	for _, test := range badProfiles {
		c, err := parseProfile([]byte(test.text))
		var bad *ProfileError
		if !errors.As(err, &bad) || c.Timings != nil || c.TileSizes != nil {
			t.Errorf("%s: %v, %v", test.name, c, err)
		}
	}
}

// TestForeign checks that a file that never was a profile stays as it is, and that one that a crash
// has emptied does not.
func TestForeign(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npy")
	if err := os.WriteFile(path, []byte("\x93NUMPY somebody's"), 0o644); err != nil {
		t.Fatal(err)
	}
	var bad *ProfileError
	if _, _, err := Load(path); !errors.As(err, &bad) || bad.File != path {
		t.Errorf("Load: %v", err)
	}
	p := new(Profile)
	measured(p, "go", 1)
	if _, err := p.Save(path); !errors.As(err, &bad) {
		t.Errorf("Save: %v", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "\x93NUMPY somebody's" {
		t.Errorf("the file is %q now (%v)", got, err)
	}
	if err := os.WriteFile(path, make([]byte, 100), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, w, err := Load(path); err != nil || w == nil || w.SetAside == "" {
		t.Errorf("an emptied file: %v, %v", w, err)
	}
}

// TestSetAside checks that bad files are kept, each under a name of its own,
// by Load and by Save.
func TestSetAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profile.json")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	bad := func(n int) string { return fmt.Sprintf("{\"format\": \"%s\", bad %d", profileFormat, n) }
	write(path+".corrupt-1", "mine")
	write(path, bad(2))
	p, w, err := Load(path)
	if err != nil || w == nil || w.SetAside != path+".corrupt-2" || len(p.Timings()) != 0 {
		t.Fatalf("%v, %v", w, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
	measured(p, "go", 3)
	mustSave(t, p, path)
	measured(p, "go", 2)
	write(path, bad(3))
	w, err = p.Save(path)
	if err != nil || w == nil || w.SetAside != path+".corrupt-3" || !strings.Contains(w.String(), "kept as") {
		t.Fatalf("%v, %v", w, err)
	}
	// All that is known was written, not only what was new.
	if got := counts(mustLoad(t, path)); got != "go 5/5" {
		t.Errorf("got %s", got)
	}
	for n, want := range []string{"mine", bad(2), bad(3)} {
		got, err := os.ReadFile(fmt.Sprintf("%s.corrupt-%d", path, n+1))
		if err != nil || string(got) != want {
			t.Errorf("corrupt-%d: %q, %v", n+1, got, err)
		}
	}
}

// TestHugeFile checks that a file far too large is neither read nor lost.
func TestHugeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profile.json")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(1<<30), f.Close()); err != nil { // sparse
		t.Fatal(err)
	}
	_, w, err := Load(path)
	if err != nil || w == nil {
		t.Fatalf("%v, %v", w, err)
	}
	if info, err := os.Stat(w.SetAside); err != nil || info.Size() != 1<<30 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestLeftTemporary checks that what a killed process leaves does no harm.
func TestLeftTemporary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profile.json")
	p := new(Profile)
	measured(p, "go", 3)
	mustSave(t, p, path)
	left := path + ".0123abcd.tmp"
	if err := os.WriteFile(left, []byte(`{"format":"tess`), 0o600); err != nil {
		t.Fatal(err)
	}
	q := mustLoad(t, path)
	measured(q, "go", 1)
	mustSave(t, q, path)
	if got := counts(mustLoad(t, path)); got != "go 4/4" {
		t.Errorf("got %s", got)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("temporary file: %v", err)
	}
}

func FuzzParseProfile(f *testing.F) {
	f.Add([]byte(entry("", "")))
	f.Add([]byte(`{"format":"tessera-profile","version":1,"timings":[],"tile_sizes":[{"op":"gemm","kind":"cpu","arch":"","processor":"","workers":1,"n":100,"nb":10,"rate":1e9}]}`))
	for _, test := range badProfiles {
		if len(test.text) < 1000 {
			f.Add([]byte(test.text))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseProfile(data)
		if err != nil {
			if bad := (*ProfileError)(nil); !errors.As(err, &bad) || c.Timings != nil || c.TileSizes != nil {
				t.Fatalf("%v, %v", c, err)
			}
			return
		}
		// What is accepted can be loaded, saved and accepted again.
		p := new(Profile)
		p.load("x", c)
		text, err := encodeProfile(contents{p.Timings(), p.TileSizes()})
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseProfile(text)
		if err != nil || len(again.Timings) != len(c.Timings) || len(again.TileSizes) != len(c.TileSizes) {
			t.Fatalf("%v of %v, %v\n%s", again, c, err, text)
		}
	})
}
