package topo

import (
	"io/fs"
	"math"
	"strconv"
	"strings"
)

// unlimited is what version 1 writes for "no limit", less a page or two: the
// largest int64 rounded down to the page size.
const unlimited = math.MaxInt64 &^ (1<<20 - 1)

// reader fills a Machine from the files of its root directory.
type reader struct {
	root fs.FS
	m    *Machine
}

// text returns the content of a file without surrounding white space.
func (r *reader) text(name string) (string, error) {
	b, err := fs.ReadFile(r.root, name)
	return strings.TrimSpace(string(b)), err
}

func (r *reader) number(name string) (int64, error) {
	s, _ := r.text(name) // of a file that is not there it is no number
	return strconv.ParseInt(s, 10, 64)
}

// memoryOf returns the bytes of "key: 1024 kB" in a file of such lines, 0 if there is
// no such line.
func (r *reader) memoryOf(file, key string) int64 {
	value, _, _ := strings.Cut(r.field(file, key), " ")
	return parseSize(value + "K")
}

// field returns the value of "key: value" in a file of such lines.
func (r *reader) field(file, key string) string {
	s, _ := r.text(file)
	for line := range strings.Lines(s) {
		k, v, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// parseSize reads a size as sysfs writes it: "48K", "2M", or bytes.
func parseSize(s string) int64 {
	shift := 0
	for i, unit := range []string{"K", "M", "G"} {
		if number, ok := strings.CutSuffix(s, unit); ok {
			s, shift = number, 10*(i+1)
			break
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return 0
	}
	return n << shift
}
