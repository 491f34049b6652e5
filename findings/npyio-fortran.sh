#!/usr/bin/env bash
# github.com/sbinet/npyio v0.6.0: read into a slice, an array that numpy stored in Fortran order
# comes in the order of the file, by columns; the header says so, but nothing warns. numpy
# itself gives the same elements whatever the order. Read into a mat.Dense it is right.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >go.mod <<'END'
module finding

go 1.26

require (
	github.com/sbinet/npyio v0.6.0
	gonum.org/v1/gonum v0.17.0
)
END
cat >main.go <<'END'
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/sbinet/npyio/npy"
	"gonum.org/v1/gonum/mat"
)

// file is numpy.save of [[1, 2], [3, 4]], with numpy.asfortranarray or without.
func file(order string, data ...float64) *bytes.Buffer {
	var b bytes.Buffer
	head := fmt.Sprintf("{%cdescr%[1]c: %[1]c<f8%[1]c, %[1]cfortran_order%[1]c: %s, %[1]cshape%[1]c: (2, 2), }", 39, order)
	for (10+len(head))%64 != 63 {
		head += " "
	}
	b.WriteString("\x93NUMPY\x01\x00")
	binary.Write(&b, binary.LittleEndian, uint16(len(head)+1))
	b.WriteString(head + "\n")
	binary.Write(&b, binary.LittleEndian, data)
	return &b
}

func main() {
	for _, f := range []func() *bytes.Buffer{
		func() *bytes.Buffer { return file("False", 1, 2, 3, 4) },
		func() *bytes.Buffer { return file("True", 1, 3, 2, 4) },
	} {
		var slice []float64
		err := npy.Read(f(), &slice)
		var dense mat.Dense
		err2 := npy.Read(f(), &dense)
		fmt.Println("slice", slice, err, "Dense by rows", dense.RawMatrix().Data, err2)
	}
}
END
cat >expected <<'END'
slice [1 2 3 4] <nil> Dense by rows [1 2 3 4] <nil>
slice [1 3 2 4] <nil> Dense by rows [1 2 3 4] <nil>
END
GOFLAGS=-mod=mod GOWORK=off go run . | tee output
diff expected output >/dev/null || { echo "changed: this is what it was:"; cat expected; exit 1; }
