package file

import (
	"archive/zip"
	"bufio"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
)

const (
	npyMagic  = "\x93NUMPY"
	gzipMagic = "\x1f\x8b"
	zipLocal  = "PK\x03\x04"
	zipEmpty  = "PK\x05\x06" // the beginning of an archive without files
	mtxMagic  = "%%MatrixMarket"

	// mtxBanner is the length of the longest line that the Matrix Market format allows, and so of
	// its longest first line.
	mtxBanner = 1024

	// fileBuffer is the size of the read and write buffers. It is large enough that the cost of
	// system calls does not matter, and small enough for a core's cache.
	fileBuffer = 256 << 10
)

// unzipped returns br, or a reader of the decompressed content if br begins as gzip does.
func unzipped(br *bufio.Reader) (*bufio.Reader, error) {
	magic, err := br.Peek(len(gzipMagic))
	if err != nil && err != io.EOF {
		return nil, err
	}
	if string(magic) != gzipMagic {
		return br, nil
	}
	zr, err := gzip.NewReader(br)
	if err != nil {
		return nil, contentError(0, err)
	}
	return bufio.NewReaderSize(zr, fileBuffer), nil
}

// expectEnd returns a *FormatError unless the file ends here, behind the array. Only a read at the
// end makes gzip check its checksum.
func expectEnd(br *bufio.Reader) error {
	_, err := br.ReadByte()
	switch err {
	case io.EOF:
		return nil
	case nil:
		return &FormatError{Reason: "data follows the end of the array"}
	}
	return contentError(0, err)
}

// contentError returns a *FormatError for an error that means that the content is cut short or
// damaged. It returns any other error, such as one of the device, unchanged.
func contentError(line int, err error) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &FormatError{Line: line, Reason: "file is cut short"}
	case corrupt, errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.Is(err, zip.ErrChecksum), errors.Is(err, zip.ErrFormat):
		return &FormatError{Line: line, Reason: "damaged compressed data: " + err.Error()}
	}
	return err
}

// limitOr returns the memory limit of o, or dflt if o sets none.
func (o *ReadOptions) limitOr(dflt int64) int64 {
	if o.MaxBytes > 0 {
		return o.MaxBytes
	}
	return dflt
}
