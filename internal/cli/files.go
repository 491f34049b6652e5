package cli

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"github.com/tessera-la/tessera/internal/atomicfile"
)

// WriteWhole writes several files atomically. write fills temporary files; once all of them are on the device,
// they are renamed to paths. If anything fails before, the old files stay as they are.
func WriteWhole(paths []string, write func(to []io.Writer) error) error {
	var parts []*atomicfile.File
	defer func() {
		for _, f := range parts {
			f.Discard() // no effect once the file is renamed
		}
	}()
	var to []io.Writer
	for _, path := range paths {
		f, err := atomicfile.Create(path, 0o666)
		if err != nil {
			return err
		}
		parts, to = append(parts, f), append(to, f)
	}
	if err := write(to); err != nil {
		return err
	}
	return atomicfile.Commit(parts...)
}

// WriteCSV writes a CSV file with a header line; it does nothing if file is "". Numbers are written so that
// they can be read back exactly; NaN and infinities, which are unknown values, are empty.
func WriteCSV(file string, head []string, rows [][]any) error {
	if file == "" {
		return nil
	}
	return WriteWhole([]string{file}, func(to []io.Writer) error {
		w := csv.NewWriter(to[0])
		w.Write(head)
		for _, row := range rows {
			var words []string
			for _, v := range row {
				if x, ok := v.(float64); ok && x-x != 0 {
					v = ""
				}
				words = append(words, fmt.Sprint(v))
			}
			w.Write(words)
		}
		w.Flush()
		return w.Error()
	})
}

// Target notes why the file that a flag names cannot be written, if its directory is missing or path is not a file.
// It reports whether it noted anything. An empty flag stands for an argument, an empty path for no file.
func (p *Problems) Target(flag, path string) (bad bool) {
	reason := ""
	if path == "" {
		return false
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		reason = "there is no such directory"
	} else if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		reason = "there is something of that name that is not a file"
	}
	if reason != "" {
		if flag != "" {
			path = Dashed(flag) + " " + path
		}
		p.Note(fmt.Errorf("%s: %s", path, reason))
	}
	return reason != ""
}

// Apart notes the flags in writes whose file another flag, of writes or reads, or an argument names as well: what is
// written last would replace what was to be kept. A command need not have all these flags.
func (p *Problems) Apart(fl *pflag.FlagSet, args []string, writes, reads []string) {
	type named struct{ what, path string }
	var others []named
	for _, path := range args {
		others = append(others, named{"the argument", path})
	}
	for i, flag := range append(reads[:len(reads):len(reads)], writes...) {
		f := fl.Lookup(flag)
		if f == nil || f.Value.String() == "" {
			continue
		}
		path := f.Value.String()
		if at := strings.Index(strings.ToLower(path), ".npz:"); at >= 0 { // an array of a file
			path = path[:at+len(".npz")]
		}
		for _, o := range others {
			if i >= len(reads) && sameFile(o.path, path) {
				p.Note(fmt.Errorf("%s %s: %s names the same file", Dashed(flag), path, o.what))
			}
		}
		others = append(others, named{Dashed(flag), path})
	}
}

// sameFile reports whether two paths name one file, which need not exist.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	if errX == nil && errY == nil {
		return os.SameFile(x, y)
	}
	a, errX = filepath.Abs(a)
	b, errY = filepath.Abs(b)
	return errX == nil && errY == nil && a == b
}
