package file

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// mtxHeader is the banner and the size line of a Matrix Market file.
type mtxHeader struct {
	coordinate bool
	field      mtxField
	symmetry   mtxSymmetry
	m, n, nnz  int64 // rows, columns and, in coordinate format, entries
}

// mtxField is the type of the values.
type mtxField uint8

const (
	mtxReal mtxField = iota
	mtxInteger
	mtxUnsigned
	mtxPattern
)

// mtxSymmetry is the symmetry that the banner states.
type mtxSymmetry uint8

const (
	mtxGeneral mtxSymmetry = iota
	mtxSymmetric
	mtxSkew
)

// readMtxHeader reads the banner and the size line.
func readMtxHeader(s *mtxScanner) (*mtxHeader, error) {
	h := new(mtxHeader)
	line, err := s.next()
	if err == io.EOF {
		return nil, &FormatError{Line: 1, Reason: "file is empty"}
	}
	if err != nil {
		return nil, s.fail(err)
	}
	if reason := h.banner(s, line); reason != "" {
		return nil, &FormatError{Line: s.line, Reason: reason}
	}
	line, err = s.content()
	if err == io.EOF {
		return nil, s.errorf("file ends before its size line")
	}
	if err != nil {
		return nil, s.fail(err)
	}
	if reason := h.size(line); reason != "" {
		return nil, &FormatError{Line: s.line, Reason: reason}
	}
	return h, nil
}

// fail returns the error that the caller of the package gets for err, an error of s.
func (s *mtxScanner) fail(err error) error {
	if err == errLineTooLong {
		return &FormatError{Line: s.line, Reason: err.Error()}
	}
	return contentError(s.line+1, err)
}

// bannerWords returns the words of the first line of a Matrix Market file, in lower case, and the ways in
// which the line deviates from the format. It returns no words if the line is no banner.
func bannerWords(line []byte) (words, deviations []string) {
	text, marked := bytes.CutPrefix(line[:min(len(line), mtxBanner)], []byte("\ufeff"))
	if marked {
		deviations = append(deviations, "a byte order mark stands before the banner, where nothing belongs")
	}
	if len(text) > 0 && isBlank(text[0]) {
		deviations = append(deviations, "blanks stand before the banner")
	}
	words = strings.Fields(strings.ToLower(string(text)))
	if len(words) == 0 || words[0] != strings.ToLower(mtxMagic) {
		return nil, nil
	}
	return words, deviations
}

// isMatrixMarket reports whether a file that begins with head is a Matrix Market file, well formed or
// not.
func isMatrixMarket(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	words, _ := bannerWords(line)
	return words != nil
}

// banner stores the first line in h. It returns what is wrong with the line, "" if nothing is.
func (h *mtxHeader) banner(s *mtxScanner, line []byte) string {
	words, deviations := bannerWords(line)
	if words == nil {
		if what := foreign(line); what != "" {
			return "no Matrix Market file: it is " + what
		}
		return "no Matrix Market file: it does not begin with " + mtxMagic
	}
	if len(words) != 5 || len(line) > mtxBanner {
		if bytes.IndexByte(bytes.TrimRight(line, "\r"), '\r') >= 0 {
			return "the lines end in carriage returns alone"
		}
		return "banner does not read: " + mtxMagic + " matrix <format> <field> <symmetry>"
	}
	for _, d := range deviations {
		s.deviates(d)
	}
	if words[1] != "matrix" {
		return fmt.Sprintf("object %q is not supported; known: matrix", words[1])
	}
	switch words[2] {
	case "array":
	case "coordinate":
		h.coordinate = true
	default:
		return fmt.Sprintf("unknown format %q; known: array, coordinate", words[2])
	}
	switch words[3] {
	case "real", "double":
	case "integer":
		h.field = mtxInteger
	case "unsigned-integer": // SciPy writes it
		h.field = mtxUnsigned
	case "pattern":
		h.field = mtxPattern
	case "complex":
		return "field \"complex\": complex elements are not supported"
	default:
		return fmt.Sprintf("unknown field %q; known: real, double, integer, unsigned-integer, pattern", words[3])
	}
	switch words[4] {
	case "general":
	case "symmetric":
		h.symmetry = mtxSymmetric
	case "skew-symmetric":
		h.symmetry = mtxSkew
	case "hermitian":
		h.symmetry = mtxSymmetric
		s.deviates("a matrix without complex elements is called hermitian, and read as symmetric")
	default:
		return fmt.Sprintf("unknown symmetry %q; known: general, symmetric, skew-symmetric, hermitian", words[4])
	}
	if h.field == mtxPattern && (!h.coordinate || h.symmetry == mtxSkew) {
		return "field \"pattern\" goes only with format coordinate and symmetry general or symmetric"
	}
	return ""
}

// size stores the size line in h. It returns what is wrong with the line, "" if nothing is.
func (h *mtxHeader) size(line []byte) string {
	want := []*int64{&h.m, &h.n}
	names := "rows columns"
	if h.coordinate {
		want, names = append(want, &h.nnz), names+" entries"
	}
	p := 0
	for _, v := range want {
		var f []byte
		f, p = field(line, p)
		if len(f) == 0 {
			return "size line does not read: " + names
		}
		var err error
		if *v, err = parseCount(f); err != nil {
			return fmt.Sprintf("size %s is %v", quoteField(f), err)
		}
	}
	if f, _ := field(line, p); len(f) > 0 {
		return "size line does not read: " + names
	}
	if h.symmetry != mtxGeneral && h.m != h.n {
		return fmt.Sprintf("symmetric matrix of %d×%d is not square", h.m, h.n)
	}
	return ""
}

// quoteField returns f in quotes for a message. It cuts f after 40 bytes.
func quoteField(f []byte) string {
	if len(f) > 40 {
		return fmt.Sprintf("%q…", bytes.ToValidUTF8(f[:40], []byte("?")))
	}
	return fmt.Sprintf("%q", f)
}
