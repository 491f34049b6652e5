package la_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
)

// TestDistributedFiles: nodes read their tiles of a file, factor, and write the factor, each
// its tiles, and the driver has none of the matrix; also if one is lost between. The file is
// that of one machine.
func TestDistributedFiles(t *testing.T) {
	const n, nb = 90, 16
	ctx, dir := context.Background(), t.TempDir()
	in := filepath.Join(dir, "a.npy")
	a := blocked.New[float64](blocked.Full, n, n, nb)
	for i := range n {
		for j := range n {
			a.Set(i, j, 1/float64(1+i+j))
		}
		a.Set(i, i, n)
	}
	if err := file.Write(in, a, &file.WriteOptions{Fortran: true}); err != nil {
		t.Fatal(err)
	}
	factor := func(rt exec.Runtime, out string, step func()) {
		t.Helper()
		e, err := la.NewEngine(la.Options{Runtime: rt, NB: nb})
		if err != nil {
			t.Fatal(err)
		}
		from, err := file.OpenArray(in)
		if err != nil {
			t.Fatal(err)
		}
		a, err := blocked.Distributed[float64](rt, blocked.SymUpper, n, n, nb)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		if err := engine.Run(ctx, e, func(p *blocked.Program[float64]) error { return file.ReadTiles(p, a, from) }); err != nil {
			t.Fatal(err)
		}
		step()
		if err := la.NewCholesky[float64](e).Factorize(a, la.WithContext(ctx), la.InPlace()); err != nil {
			t.Fatal(err)
		}
		if err := file.WriteTiles(out, a, nil, func(submit func(p *blocked.Program[float64]) error) error { return engine.Run(ctx, e, submit) }); err != nil {
			t.Fatal(err)
		}
		if a.IsDistributed() && a.Tile(0, 0).Data != nil {
			t.Error("a tile has come to the driver")
		}
	}
	one, err := exec.NewLocal(exec.Options{Workers: 2, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	ref := filepath.Join(dir, "one.npy")
	factor(one, ref, func() {})
	want, err := os.ReadFile(ref)
	if err != nil {
		t.Fatal(err)
	}
	for _, lose := range []bool{false, true} {
		d, kill := nodes(t, 3, lose)
		out := filepath.Join(dir, fmt.Sprintf("%t.npy", lose))
		factor(d, out, func() {
			if lose {
				kill[1]()
			}
		})
		if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, want) {
			t.Errorf("lose=%t: the file differs from that of one machine, %v", lose, err)
		}
		for _, u := range d.Usage() {
			if u.Node == "driver" && len(u.Ran) > 0 {
				t.Errorf("the driver has executed %v", u.Ran)
			}
		}
	}
}

// TestDistributedFilesErrors: the error names the node that cannot read its part and the
// file, by type.
func TestDistributedFilesErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npy")
	a := blocked.New[float64](blocked.Full, 20, 20, 8)
	a.Set(11, 11, 1e300)
	if err := file.Write(path, a, nil); err != nil {
		t.Fatal(err)
	}
	from, err := file.OpenArray(path)
	if err != nil {
		t.Fatal(err)
	}
	d, _ := nodes(t, 2, false)
	e, err := la.NewEngine(la.Options{Runtime: d, NB: 8})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	b, err := blocked.Distributed[float32](d, blocked.Full, 20, 20, 8)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	read := func() error {
		return engine.Run(ctx, e, func(p *blocked.Program[float32]) error { return file.ReadTiles(p, b, from) })
	}
	var task *exec.TaskError
	var format *file.FormatError
	if err := read(); !errors.As(err, &task) || task.Node == "" || !errors.As(err, &format) || format.File != path {
		t.Errorf("1e300 as float32: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	var access *file.AccessError
	if err := read(); !errors.As(err, &task) || task.Node == "" || !errors.As(err, &access) || access.File != path || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
