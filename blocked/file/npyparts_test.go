package file_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
)

// partly runs tasks on two workers, each of the matrix's tiles its own.
func partly[T blocked.Element](t *testing.T) func(submit func(p *blocked.Program[T]) error) error {
	t.Helper()
	rt, err := exec.NewLocal(exec.Options{Workers: 2, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	return func(submit func(p *blocked.Program[T]) error) error {
		job := rt.NewJob(context.Background())
		return errors.Join(submit(blocked.NewProgram(job, kernels.For[T](op.NewTable()))), job.Wait())
	}
}

// TestParts: tasks that read and write their tiles do what Read and Write do.
func TestParts(t *testing.T) {
	t.Run("float32", testParts[float32])
	t.Run("float64", testParts[float64])
}

func testParts[T blocked.Element](t *testing.T) {
	run, dir := partly[T](t), t.TempDir()
	kinds := []blocked.Kind{blocked.Full, blocked.SymLower, blocked.SymUpper, blocked.TriLower, blocked.TriUpper}
	for _, shape := range [][3]int{{13, 13, 5}, {20, 7, 4}, {3, 11, 4}, {1, 9, 4}, {9, 1, 4}, {40, 40, 20}, {0, 3, 2}, {6, 6, 8}} {
		m, n, nb := shape[0], shape[1], shape[2]
		for _, kind := range kinds {
			if kind != blocked.Full && m != n {
				continue
			}
			for _, fortran := range []bool{false, true} {
				name := fmt.Sprintf("%v %d×%d in %d, Fortran %t", kind, m, n, nb, fortran)
				a := blocked.New[T](kind, m, n, nb)
				if err := run(func(p *blocked.Program[T]) error { return p.Plrnt(a, 1, 0) }); err != nil {
					t.Fatal(err)
				}
				opt := &file.WriteOptions{Fortran: fortran}
				var want bytes.Buffer
				if err := file.WriteNPY(&want, a, opt); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(dir, "a.npy")
				if err := file.WriteTiles(path, a, opt, run); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want.Bytes()) {
					t.Fatalf("%s: what is written differs from WriteNPY's: %v", name, err)
				}
				from, err := file.OpenArray(path)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				b := blocked.New[T](kind, m, n, nb)
				if err := run(func(p *blocked.Program[T]) error { return file.ReadTiles(p, b, from) }); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for i := range m {
					for j := range n {
						if a.At(i, j) != b.At(i, j) {
							t.Fatalf("%s: (%d, %d) is %v, want %v", name, i, j, b.At(i, j), a.At(i, j))
						}
					}
				}
			}
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v are left, %v", entries, err)
	}
}

// TestPartsTypes: what NumPy writes, of any type and byte order, as Read reads it.
func TestPartsTypes(t *testing.T) {
	run := partly[float32](t)
	for _, descr := range []string{">f4", "<f8", ">f8", "<i2", ">i4", "|u1", "|b1"} {
		for _, order := range []string{"False", "True"} {
			head := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (9, 7), }", descr, order)
			content := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), 0)
			content = append(content, head...)
			size := int(descr[2] - '0')
			for k := range 63 * size {
				content = append(content, byte(k*37%60))
			}
			path := filepath.Join(t.TempDir(), "a.npy")
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			from, err := file.OpenArray(path)
			if err != nil {
				t.Fatal(err)
			}
			want, wantErr := file.Read[float32](path, &file.ReadOptions{NB: 4})
			a := blocked.New[float32](blocked.Full, 9, 7, 4)
			err = run(func(p *blocked.Program[float32]) error { return file.ReadTiles(p, a, from) })
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("%s: %v, Read has %v", descr, err, wantErr)
			}
			for k := 0; k < 63 && err == nil; k++ {
				if got, want := a.At(k/7, k%7), want.At(k/7, k%7); math.Float32bits(got) != math.Float32bits(want) {
					t.Fatalf("%s, %s: element %d is %v, want %v", descr, order, k, got, want)
				}
			}
		}
	}
}

// TestPartsRefused: what cannot be read or written in parts has a typed error, and what path
// held stays.
func TestPartsRefused(t *testing.T) {
	run, dir := partly[float64](t), t.TempDir()
	path := filepath.Join(dir, "a.npy")
	a := blocked.New[float64](blocked.Full, 6, 6, 3)
	a.Set(4, 4, 1e300)
	var format *file.FormatError
	var access *file.AccessError
	if err := file.WriteTiles(filepath.Join(dir, "a.mtx"), a, nil, run); !errors.As(err, &format) {
		t.Errorf("a.mtx: %v", err)
	}
	if err := file.WriteTiles(filepath.Join(dir, "no", "a.npy"), a, nil, run); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	if err := file.WriteTiles(path, a, nil, run); err != nil {
		t.Fatal(err)
	}
	held, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	// A task does not find the file, or finds another one.
	spoilt := func(spoil func(tmp string) error) error {
		return file.WriteTiles(path, blocked.New[float64](blocked.Full, 6, 6, 3), nil, func(submit func(p *blocked.Program[float64]) error) error {
			all, err := filepath.Glob(filepath.Join(dir, "a.npy.*.tmp"))
			if err != nil || len(all) != 1 {
				t.Fatal(all, err)
			}
			return errors.Join(spoil(all[0]), run(submit))
		})
	}
	if err := spoilt(os.Remove); !errors.As(err, &access) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed: %v", err)
	}
	if err := spoilt(func(tmp string) error { return os.Truncate(tmp, 200) }); !errors.As(err, &access) {
		t.Errorf("cut short: %v", err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, held) {
		t.Errorf("what was there is gone: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v are left, %v", entries, err)
	}

	from, err := file.OpenArray(path)
	if err != nil {
		t.Fatal(err)
	}
	single := partly[float32](t)
	if err := single(func(p *blocked.Program[float32]) error {
		return file.ReadTiles(p, blocked.New[float32](blocked.Full, 6, 6, 3), from)
	}); !errors.As(err, &format) || format.File != path {
		t.Errorf("1e300 as float32: %v", err)
	}
	for name, change := range map[string]func() error{
		"another shape": func() error {
			return file.Write(path, blocked.New[float64](blocked.Full, 6, 7, 3), nil)
		},
		"another order": func() error {
			return file.Write(path, blocked.New[float64](blocked.Full, 6, 6, 3), &file.WriteOptions{Fortran: true})
		},
		"no array":  func() error { return os.WriteFile(path, []byte("text"), 0o600) },
		"no file":   func() error { return os.Remove(path) },
		"directory": func() error { return os.Mkdir(path, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			os.Remove(path)
			os.WriteFile(path, nil, 0o600)
			if err := change(); err != nil && name != "directory" {
				t.Fatal(err)
			}
			err := run(func(p *blocked.Program[float64]) error { return file.ReadTiles(p, a, from) })
			if !errors.As(err, &access) || access.File != path || access.Missing != (name == "no file") {
				t.Error(err)
			}
			if _, err := file.OpenArray(path); err == nil && name != "another shape" && name != "another order" {
				t.Error("OpenArray takes it")
			}
		})
	}
}
