package mpi

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/tessera-la/tessera/transport"
)

// kind is the kind of a frame.
type kind byte

const (
	kindHello   kind = iota // the sender takes part
	kindBeat                // the sender is there; like all frames it reports handled messages
	kindMessage             // a message
	kindWant                // a request for a value
	kindPart                // bytes of a value, and how many follow outside of frames
	kindAbsent              // the value is not there
	kindFailed              // the value cannot be encoded; the text says why
	kindBye                 // the sender leaves, and waits for kindGone
	kindGone                // the answer to kindBye: nothing more will be sent
	kinds
)

// frame is the unit that nodes exchange as messages with the tag frameTag.
//
//	byte  0     1     2        4        8        16     24  28   32  40
//	      kind  last  version  CRC-32C  handled  bytes  id  sum  n   payload
//
// Numbers are little-endian. The checksum covers all bytes except its own.
type frame struct {
	kind kind
	last bool // kindPart: nothing of the value follows but n bytes

	// Number of the receiver's messages that the sender has handled, and their bytes.
	handled, bytes uint64

	id      uint32 // of the fetch: kindWant to kindFailed
	sum     uint32 // kindPart and last: the CRC-32C of the value
	n       uint64 // kindPart: bytes that follow with the tag id; kindWant: ns to wait
	payload []byte // the message; kindWant: the Ref; kindPart: bytes before the n; kindFailed: why
}

const (
	frameVersion = 1
	headBytes    = 40
	refBytes     = 24

	// frameTag is the tag of frames, and tags from 1 to fetches those of values. So a node has at
	// most that many fetches under way, including abandoned ones.
	frameTag = 0
	fetches  = 4096
)

// castagnoli is the CRC polynomial for which processors have an instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode returns the bytes of a frame.
func (f *frame) encode() []byte {
	b := make([]byte, headBytes, headBytes+len(f.payload))
	b[0] = byte(f.kind)
	if f.last {
		b[1] = 1
	}
	binary.LittleEndian.PutUint16(b[2:], frameVersion)
	binary.LittleEndian.PutUint64(b[8:], f.handled)
	binary.LittleEndian.PutUint64(b[16:], f.bytes)
	binary.LittleEndian.PutUint32(b[24:], f.id)
	binary.LittleEndian.PutUint32(b[28:], f.sum)
	binary.LittleEndian.PutUint64(b[32:], f.n)
	b = append(b, f.payload...)
	binary.LittleEndian.PutUint32(b[4:], check(b))
	return b
}

// check returns the checksum of a frame.
func check(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[:4], castagnoli), castagnoli, b[8:])
}

// parse reads a frame, whose payload is part of b. The error says what is wrong.
func parse(b []byte) (f frame, err error) {
	switch {
	case len(b) < headBytes:
		return f, fmt.Errorf("a frame of %d bytes", len(b))
	case binary.LittleEndian.Uint32(b[4:]) != check(b):
		return f, fmt.Errorf("a frame with a wrong checksum")
	case binary.LittleEndian.Uint16(b[2:]) != frameVersion:
		return f, fmt.Errorf("a frame of version %d, want %d: is it the same build on all ranks?",
			binary.LittleEndian.Uint16(b[2:]), frameVersion)
	case kind(b[0]) >= kinds || b[1] > 1:
		return f, fmt.Errorf("a frame of kind %d", b[0])
	}
	f = frame{
		kind: kind(b[0]), last: b[1] == 1, handled: binary.LittleEndian.Uint64(b[8:]),
		bytes: binary.LittleEndian.Uint64(b[16:]),
		id:    binary.LittleEndian.Uint32(b[24:]), sum: binary.LittleEndian.Uint32(b[28:]),
		n: binary.LittleEndian.Uint64(b[32:]), payload: b[headBytes:],
	}
	if f.kind == kindWant && len(f.payload) != refBytes {
		return f, fmt.Errorf("a name of %d bytes, want %d", len(f.payload), refBytes)
	}
	if f.kind >= kindWant && f.kind <= kindFailed && (f.id < 1 || f.id > fetches) {
		return f, fmt.Errorf("fetch %d, of %d at most", f.id, fetches)
	}
	if f.n > 1<<62 {
		return f, fmt.Errorf("%d bytes to follow", f.n)
	}
	return f, nil
}

// encodeRef returns a Ref as the payload of a frame.
func encodeRef(r transport.Ref) []byte {
	b := make([]byte, refBytes)
	binary.LittleEndian.PutUint64(b, r.Job)
	binary.LittleEndian.PutUint32(b[8:], r.Matrix)
	binary.LittleEndian.PutUint32(b[12:], uint32(r.I))
	binary.LittleEndian.PutUint32(b[16:], uint32(r.J))
	binary.LittleEndian.PutUint32(b[20:], r.Version)
	return b
}

// decodeRef is the inverse of encodeRef.
func decodeRef(b []byte) transport.Ref {
	return transport.Ref{
		Job: binary.LittleEndian.Uint64(b), Matrix: binary.LittleEndian.Uint32(b[8:]),
		I: int32(binary.LittleEndian.Uint32(b[12:])), J: int32(binary.LittleEndian.Uint32(b[16:])),
		Version: binary.LittleEndian.Uint32(b[20:]),
	}
}
