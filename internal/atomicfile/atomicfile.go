package atomicfile

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// A file that is being written has the name of the other one, 8 hexadecimal digits, and a suffix.
const (
	suffix = ".tmp"
	// maxBase is how many bytes of the other's name go into it: a name has 255 at most.
	maxBase = 230
)

// stem returns what the name of a file that is being written begins with.
func stem(base string) string { return base[:min(len(base), maxBase)] + "." }

// Unfinished returns the files beside path that a process has begun to write, in place of path, and has
// not ended yet. Only the caller can know that this process has died.
func Unfinished(path string) (paths []string) {
	dir, base := filepath.Split(path)
	entries, _ := os.ReadDir(filepath.Clean(dir)) // without a list there is nothing to be done
	for _, e := range entries {
		middle, begins := strings.CutPrefix(e.Name(), stem(base))
		middle, ends := strings.CutSuffix(middle, suffix)
		if _, err := hex.DecodeString(middle); begins && ends && err == nil && len(middle) == 8 {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

// File is a file being written that is to replace another: [Commit] renames it.
type File struct {
	*os.File
	path  string // of the other
	ended bool   // it was renamed or discarded
}

// Create begins a new content of the file path. A file that is there keeps its permissions, a new one
// gets those of perm that the process's umask leaves it. A symbolic link is followed. Commit ends it,
// or Discard.
func Create(path string, perm fs.FileMode) (*File, error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	old, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case !old.Mode().IsRegular():
		return nil, &fs.PathError{Op: "replace", Path: path, Err: errors.New("it is no regular file")}
	}
	dir, base := filepath.Split(path)
	for try := 0; ; try++ {
		name := filepath.Join(dir, fmt.Sprintf("%s%08x%s", stem(base), rand.Uint32(), suffix))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if errors.Is(err, fs.ErrExist) && try < 100 {
			continue
		}
		if err != nil {
			return nil, err
		}
		x := &File{File: f, path: path}
		if old != nil && old.Mode().Perm() != perm {
			if err := f.Chmod(old.Mode().Perm()); err != nil {
				x.Discard()
				return nil, err
			}
		}
		return x, nil
	}
}

// Discard drops a new content, unless it was committed.
func (f *File) Discard() {
	if !f.ended {
		f.ended = true
		f.Close()
		os.Remove(f.Name())
	}
}

// Commit gives files their new contents, once all of these are on the device. After an error those
// that do not have theirs hold what they held before, and no new content is left behind.
func Commit(files ...*File) error {
	defer func() {
		for _, f := range files {
			f.Discard()
		}
	}()
	for _, f := range files {
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := os.Rename(f.Name(), f.path); err != nil {
			return err
		}
		f.ended = true
	}
	for _, f := range files {
		syncFolder(filepath.Dir(f.path))
	}
	return nil
}

// syncFolder flushes a folder. Some systems cannot, and then names get to the device later. That is no
// error: the new content is in place.
func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		d.Sync()
		d.Close()
	}
}

// Write gives the file path the content that write makes, or leaves it as it is and returns the error.
// The permissions are those of [Create].
func Write(path string, perm fs.FileMode, write func(*os.File) error) error {
	f, err := Create(path, perm)
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := write(f.File); err != nil {
		return err
	}
	return Commit(f)
}
