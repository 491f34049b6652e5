package reliable

import (
	"encoding/binary"
	"hash/crc32"
)

const (
	// version is the first byte of a frame.
	version = 1
	// headerSize is the size of a header: version, flags, six numbers and a checksum.
	headerSize = 2 + 6*8 + 4
	// frameSize is up to what size messages are collected into one frame.
	frameSize = 64 << 10
	// window is how many frames may be on their way. They are the bits of header.mask.
	window = 64
)

// flagPing asks for an answer at once.
const flagPing = 1

// header is what stands before the messages of a frame.
type header struct {
	flags byte
	// from and to are the sessions of both sides. A hello has no to yet.
	from, to uint64
	// seq is the number of the frame; 0 if it has no messages.
	seq uint64
	// ack says that all frames up to it have come, bit i of mask that ack+1+i has, and
	// taken that the messages of all up to it are handled.
	ack, mask, taken uint64
}

// castagnoli is the polynomial that processors have an instruction for.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// put writes a header into the first bytes of a frame whose body has the checksum sum.
func (h *header) put(frame []byte, sum uint32) {
	frame[0], frame[1] = version, h.flags
	for i, x := range [...]uint64{h.from, h.to, h.seq, h.ack, h.mask, h.taken} {
		binary.LittleEndian.PutUint64(frame[2+8*i:], x)
	}
	const end = headerSize - 4
	binary.LittleEndian.PutUint32(frame[end:], crc32.Update(sum, castagnoli, frame[:end]))
}

// parse takes a frame apart. What it returns makes sense in itself; a frame that does not
// is damaged, or of another version.
func parse(frame []byte) (h header, body []byte, ok bool) {
	if len(frame) < headerSize || frame[0] != version {
		return h, nil, false
	}
	const end = headerSize - 4
	body = frame[headerSize:]
	if sum := crc32.Update(crc32.Checksum(body, castagnoli), castagnoli, frame[:end]); binary.LittleEndian.Uint32(frame[end:]) != sum {
		return h, nil, false
	}
	h.flags = frame[1]
	for i, x := range [...]*uint64{&h.from, &h.to, &h.seq, &h.ack, &h.mask, &h.taken} {
		*x = binary.LittleEndian.Uint64(frame[2+8*i:])
	}
	if h.from == 0 || h.taken > h.ack || h.ack-h.taken > window || (h.seq == 0) != (len(body) == 0) {
		return h, nil, false
	}
	for rest := body; len(rest) > 0; {
		if _, rest, ok = message(rest); !ok {
			return h, nil, false
		}
	}
	return h, body, true
}

// message takes the first message from the body of a frame.
func message(body []byte) (m, rest []byte, ok bool) {
	size, n := binary.Uvarint(body)
	if n <= 0 || size > uint64(len(body)-n) {
		return nil, nil, false
	}
	end := n + int(size)
	return body[n:end:end], body[end:], true
}
