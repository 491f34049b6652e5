package atomicfile

import (
	"io"
	"os"
	"path/filepath"
)

// Lend gives the file path a second name in the same folder, under which others can read it even after
// path is gone. remove deletes that name. The name is path followed by end, in which a random number
// replaces the *. Where link, which is [os.Link], fails because no file can have two names, the content
// is copied.
func Lend(path, end string, link func(from, to string) error) (name string, remove func(), err error) {
	to, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+end)
	if err != nil {
		return "", nil, err
	}
	name, remove = to.Name(), func() { os.Remove(to.Name()) }
	to.Close()
	remove() // link needs a name that is free
	if link(path, name) == nil {
		return name, remove, nil
	}
	from, err := os.Open(path)
	if err != nil {
		return "", nil, err
	}
	defer from.Close()
	err = Write(name, 0o666, func(to *os.File) error { _, err := io.Copy(to, from); return err })
	return name, remove, err
}
