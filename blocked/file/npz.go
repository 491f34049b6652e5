package file

import (
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tessera-la/tessera/blocked"
)

const (
	npzExt = ".npz"

	// npzNames is the largest number of array names that an error lists.
	npzNames = 12
)

// readNPZ reads an array of f, a .npz file of size bytes: a zip archive of .npy files, stored or deflated.
// name may be empty if the archive has one array.
//
// readNPZ allocates memory as bytes come out of the archive, whatever the table of contents and the
// array's header announce.
func readNPZ[T blocked.Element](f io.ReaderAt, size int64, name string, o ReadOptions) (*blocked.Matrix[T], error) {
	// A damaged table of contents can name places outside the file. The SectionReader ends there.
	z, err := zip.NewReader(io.NewSectionReader(f, 0, size), size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are not used as paths here
		return nil, contentError(0, err)
	}
	member, err := npzMember(z.File, name)
	if err != nil {
		return nil, err
	}
	a, err := readMember[T](member, size, o)
	if err != nil {
		if fe, ok := errors.AsType[*FormatError](err); ok {
			fe.Reason = fmt.Sprintf("array %s: %s", quoteField([]byte(npzName(member))), fe.Reason)
		}
		return nil, err
	}
	return a, nil
}

// readMember reads the array in a member of an archive of size bytes.
func readMember[T blocked.Element](member *zip.File, size int64, o ReadOptions) (*blocked.Matrix[T], error) {
	const encrypted = 1 // bit of zip.File.Flags
	switch {
	case member.Flags&encrypted != 0:
		return nil, &FormatError{Reason: "is encrypted"}
	case member.Method != zip.Store && member.Method != zip.Deflate:
		return nil, &FormatError{Reason: fmt.Sprintf("is compressed by method %d of zip; known: 0 (stored), 8 (deflated)", member.Method)}
	case member.Method == zip.Store:
		o.MaxBytes = o.limitOr(max(defaultMaxBytes, 2*size))
	}
	r, err := member.Open()
	if err != nil {
		return nil, contentError(0, err)
	}
	defer r.Close()
	br := bufio.NewReaderSize(r, fileBuffer)
	a, err := readNPYStream[T](br, o)
	if err != nil {
		return nil, err
	}
	return a, expectEnd(br) // which also checks the checksum
}

// npzMember returns the file of the array with the given name. As in NumPy, name may have the extension
// .npy or not.
func npzMember(files []*zip.File, name string) (*zip.File, error) {
	var all, found, extended []*zip.File
	for _, m := range files {
		if strings.HasSuffix(m.Name, "/") {
			continue // a directory
		}
		all = append(all, m)
		switch m.Name {
		case name:
			found = append(found, m)
		case name + ".npy":
			extended = append(extended, m)
		}
	}
	if len(found) == 0 {
		found = extended
	}
	if name == "" {
		found = all
	}
	switch {
	case len(all) == 0:
		return nil, &FormatError{Reason: ".npz file without an array"}
	case len(found) == 0:
		return nil, &FormatError{Reason: fmt.Sprintf("no array %s; there are: %s", quoteField([]byte(name)), npzList(all))}
	case len(found) > 1 && name == "":
		return nil, &FormatError{Reason: fmt.Sprintf("%d arrays, one of which has to be named behind a colon, as in a.npz:%.40s; there are: %s",
			len(all), npzName(all[0]), npzList(all))}
	case len(found) > 1:
		return nil, &FormatError{Reason: fmt.Sprintf("%d arrays with the name %s", len(found), quoteField([]byte(name)))}
	}
	return found[0], nil
}

// npzName returns the name of the array in a file of an archive.
func npzName(m *zip.File) string { return strings.TrimSuffix(m.Name, ".npy") }

// npzList returns the names of the first npzNames arrays, and how many more there are.
func npzList(files []*zip.File) string {
	var names []string
	for _, m := range files[:min(len(files), npzNames)] {
		names = append(names, quoteField([]byte(npzName(m))))
	}
	list := strings.Join(names, ", ")
	if more := len(files) - len(names); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
