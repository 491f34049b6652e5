package cli

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"

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
