package file

import "bytes"

// foreign describes a file that begins with head and that no reader of this package accepts. It
// returns "" for a format that it does not know.
func foreign(head []byte) string {
	for _, f := range []struct{ magic, what string }{
		{"\xff\xfe", "text in UTF-16, or no text at all"},
		{"\xfe\xff", "text in UTF-16, or no text at all"},
		{gzipMagic, "compressed with gzip twice"},
		{"BZh", "compressed with bzip2"},
		{"\xfd7zXZ\x00", "compressed with xz"},
		{"\x28\xb5\x2f\xfd", "compressed with Zstandard"},
		{"\x89HDF\r\n\x1a\n", "an HDF5 file"},
		{"MATLAB 5.0 MAT-file", "a MATLAB file"},
		{zipLocal, "a zip archive"},
		{npyMagic, "a .npy file"},
	} {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return f.what
		}
	}
	switch {
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return "a tar archive: unpack it first"
	case len(head) > 1 && head[0] == 0x80 && 2 <= head[1] && head[1] <= 5:
		return "a pickle of Python"
	}
	return ""
}
