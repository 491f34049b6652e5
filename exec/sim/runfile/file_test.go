package runfile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/sim"
)

const valid = `{"format":"tessera run","version":1,"title":"a","machine":"b","commit":"c","sched":"steal","workers":2,"seconds":1.5,"program":{
"ops":["gemm/f64"],"data":[{"name":"A","i":0,"j":1,"bytes":8},{"i":0,"j":0,"bytes":0,"renamed":true}],
"jobs":[[{"op":0,"priority":3,"data":[0,1],"modes":[1,3],"version":"go","worker":1,"took":0.5,"began":0.25}]]}}
`

// TestParse: what is wrong with a file is said, with its name.
func TestParse(t *testing.T) {
	r, err := Parse("x", []byte(valid))
	if err != nil || r.Workers != 2 || r.Program.Jobs[0][0].Took != 0.5 || !r.Program.Data[1].Renamed {
		t.Errorf("%+v, %v", r, err)
	}
	for _, c := range []struct{ from, to, want string }{
		{"tessera run", "another", "it is no recorded run"},
		{`"version":1`, `"version":2`, "version 2 of the format, and version 1 is known"},
		{`"title"`, `"tilte"`, "tilte"},
		{`"a"`, `"a`, "byte "},
		{`"workers":2`, `"workers":0`, "0 workers, want 1 to"},
		{`"workers":2`, `"workers":1`, "worker 1 of 1"},
		{`"seconds":1.5`, `"seconds":-1`, "-1 s"},
		{`"steal"`, `"stael"`, "stael"},
		{`"program":{`, `"program":null,"program":{"ops":3,`, "byte "},
		{`"op":0`, `"op":1`, "op 1 of 1"},
		{`[0,1]`, `[0,2]`, "datum 2 of 2"},
		{`[0,1]`, `[-1,1]`, "datum -1 of 2"},
		{`[0,1]`, `[0,0]`, "datum 0 twice"},
		{`[1,3]`, `[1]`, "2 operands with 1 modes"},
		{`[1,3]`, `[1,4]`, "mode 4"},
		{`[1,3]`, `[1,259]`, "mode 259"},
		{`"took":0.5`, `"took":-0.5`, "-0.5 s"},
		{`"began":0.25`, `"began":1e300`, "1e+300"},
		{`"bytes":8`, `"bytes":-8`, "-8 bytes"},
		{`[[{`, `[],[[{`, "byte "},
	} {
		_, err := Parse("x", []byte(strings.Replace(valid, c.from, c.to, 1)))
		if e := (*FileError)(nil); !errors.As(err, &e) || e.File != "x" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.to, err, c.want)
		}
	}
	if _, err := Parse("x", []byte(valid[:strings.Index(valid, `"program"`)-1]+"}")); err == nil || !strings.Contains(err.Error(), "no program") {
		t.Errorf("no program: %v", err)
	}
	if _, err := Read(filepath.Join(t.TempDir(), "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestWrite: a run that is written is the one that is read.
func TestWrite(t *testing.T) {
	r := &Run{Title: "t", Machine: "m", Commit: "c", Sched: "eft", Workers: 3, Seconds: 2.25, Program: &sim.Program{
		Ops:  []string{"potrf/f64", "trsm/f64"},
		Data: []graph.ProgramDatum{{Name: "A", Key: graph.Key{Matrix: 2, I: 3, J: 4}, Owner: 5, Bytes: 6}, {Renamed: true}},
		Jobs: [][]sim.ProgramTask{
			{{Op: 1, Priority: -4, Data: []int{1, 0}, Modes: []int{7, 11}, Version: "avx2", Worker: 2, Took: 1.0 / 3, Began: 0.1, Submitted: -0.2, Ready: 1e-9}},
			{{Data: []int{}, Modes: []int{}}},
		}}}
	name := filepath.Join(t.TempDir(), "run.json")
	var b bytes.Buffer
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(name); err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("%v\n%+v\n%+v\n%s", err, got, r, b.Bytes())
	}
}

// FuzzParse: no file makes Parse panic; what it takes it takes again when it is written; and a
// program that it takes can be replayed.
func FuzzParse(f *testing.F) {
	f.Add([]byte(valid))
	f.Add([]byte(strings.Replace(valid, "[1,3]", "[7,11]", 1)))
	f.Add([]byte(strings.Replace(valid, `"version":1`, `"version":2`, 1)))
	f.Add([]byte(`{"format":"tessera run","version":1,"program":{"jobs":[[]]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse("x", data)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := Write(&b, r); err != nil {
			t.Fatal(err)
		}
		if _, err := Parse("y", b.Bytes()); err != nil {
			t.Fatalf("%v\n%s", err, b.Bytes())
		}
		r.Program.Measured()
		if _, _, err := r.Program.Replay(t.Context(), sim.Options{Machine: r.Program.Machine(min(r.Workers, 8))}, 1); err != nil {
			t.Fatalf("%v\n%s", err, b.Bytes())
		}
	})
}
