package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tessera-la/tessera/cmd/labench/internal/plotting"
)

// writeWhole writes files that belong together, each of them whole or not at
// all: what write puts into its writers goes into new files beside those named,
// which take their names once all is written. The files that were there before
// stay as they are if anything fails until then.
func writeWhole(paths []string, write func(to []io.Writer) error) error {
	var parts []*os.File
	defer func() {
		for _, f := range parts {
			f.Close()           // again, after success
			os.Remove(f.Name()) // unless it has its name
		}
	}()
	var to []io.Writer
	for _, path := range paths {
		f, err := newPart(path)
		if err != nil {
			return err
		}
		parts, to = append(parts, f), append(to, f)
	}
	if err := write(to); err != nil {
		return err
	}
	for _, f := range parts {
		if err := f.Close(); err != nil {
			return err
		}
	}
	for i, f := range parts {
		if err := os.Rename(f.Name(), paths[i]); err != nil {
			return err
		}
	}
	return nil
}

// newPart creates a file beside path that did not exist, with the permissions
// that a new file has by default: os.CreateTemp makes them private.
func newPart(path string) (*os.File, error) {
	for i := 0; ; i++ {
		f, err := os.OpenFile(fmt.Sprintf("%s.part%d", path, i), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) || i == 1000 {
			return f, err
		}
	}
}

// writeCSV writes a CSV file with a head, if it has a name.
func writeCSV(file string, head []string, rows [][]any) error {
	if file == "" {
		return nil
	}
	return writeWhole([]string{file}, func(to []io.Writer) error {
		w := csv.NewWriter(to[0])
		w.Write(head)
		for _, row := range rows {
			var words []string
			for _, v := range row {
				words = append(words, fmt.Sprint(v))
			}
			w.Write(words)
		}
		w.Flush()
		return w.Error()
	})
}

// picture notes why the file of --plot, if it names one, cannot be drawn, as far as that can be
// seen before.
func (p *problems) picture(path string) (format plotting.Format) {
	if path == "" {
		return 0
	}
	format, err := plotting.FormatOf(path)
	if err != nil {
		p.note(fmt.Errorf("--plot %w", err))
	}
	p.target("plot", path)
	return format
}

// target notes why a flag's file, if it names one, cannot be written, as far as that can be seen
// before.
func (p *problems) target(flag, path string) (bad bool) {
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
		p.note(fmt.Errorf("--%s %s: %s", flag, path, reason))
	}
	return reason != ""
}
