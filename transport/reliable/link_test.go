package reliable

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"
	"time"
)

// frameOf returns a frame with messages.
func frameOf(h header, messages ...string) []byte {
	b := make([]byte, headerSize)
	for _, m := range messages {
		b = append(binary.AppendUvarint(b, uint64(len(m))), m...)
	}
	h.put(b, crc32.Checksum(b[headerSize:], castagnoli))
	return b
}

// TestParse: what was put is parsed, and a frame with any bit changed, or any end cut off,
// is not.
func TestParse(t *testing.T) {
	want := header{flags: 1, from: 2, to: 3, seq: 4, ack: 5, mask: 6, taken: 4}
	b := frameOf(want, "hello", "", "you")
	h, body, ok := parse(b)
	if !ok || h != want {
		t.Fatalf("%v %+v", ok, h)
	}
	var got []string
	for len(body) > 0 {
		var m []byte
		m, body, _ = message(body)
		got = append(got, string(m))
	}
	if len(got) != 3 || got[0] != "hello" || got[2] != "you" {
		t.Errorf("messages %q", got)
	}
	for i := range 8 * len(b) {
		c := bytes.Clone(b)
		c[i/8] ^= 1 << (i % 8)
		if _, _, ok := parse(c); ok {
			t.Errorf("bit %d changed", i)
		}
	}
	for i := range b {
		if _, _, ok := parse(b[:i]); ok {
			t.Errorf("cut to %d bytes", i)
		}
	}
}

// FuzzParse: no frame breaks the parser, and what it takes makes sense.
func FuzzParse(f *testing.F) {
	f.Add(frameOf(header{from: 1, seq: 1}, "x"))
	f.Add(frameOf(header{from: 1, to: 2, ack: 9, taken: 3}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= headerSize { // so that the fuzzer gets beyond the checksum
			const end = headerSize - 4
			binary.LittleEndian.PutUint32(b[end:], crc32.Update(crc32.Checksum(b[headerSize:], castagnoli), castagnoli, b[:end]))
		}
		_, body, ok := parse(b)
		for ok && len(body) > 0 {
			if _, body, ok = message(body); !ok {
				t.Fatal("a message that parse has let pass")
			}
		}
	})
}

// FuzzLink: whatever frames come, a link does not break, holds no more than its window,
// and delivers what has the next number only.
func FuzzLink(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		now := time.Unix(0, 0)
		l := newLink(1, 2, time.Second, now)
		delivered := uint64(0)
		for ; len(b) >= 5; b = b[5:] {
			now = now.Add(time.Duration(b[0]) * time.Millisecond)
			if b[1]&1 != 0 {
				l.push(b[:b[2]%5])
			}
			if b[1]&2 != 0 {
				for range 3 {
					l.poll(now)
				}
			}
			h := header{flags: b[1] >> 2 & 1, from: 2, to: 1, seq: uint64(b[2]), ack: uint64(b[3]), mask: uint64(b[4]) << (b[4] & 63), taken: uint64(b[3] - b[4]%64)}
			if h.taken > h.ack {
				continue // parse refuses it
			}
			var body []byte
			if h.seq != 0 {
				body = []byte{0}
			}
			l.take(h, body, now)
			for len(l.inbox) > 0 && b[1]&8 != 0 {
				l.inbox = l.inbox[1:]
				delivered++
				l.handled(now)
			}
			if l.got != l.done+uint64(len(l.inbox)) || l.done != delivered || len(l.inbox) > window || l.mask&1 != 0 {
				t.Fatalf("got %d, done %d, delivered %d, %d wait", l.got, l.done, delivered, len(l.inbox))
			}
			if l.acked < l.taken || l.next <= l.acked || l.next > l.taken+uint64(len(l.frames))+1 || l.next > l.taken+window+1 || l.held < 0 {
				t.Fatalf("taken %d, acked %d, next %d, %d frames, %d bytes", l.taken, l.acked, l.next, len(l.frames), l.held)
			}
		}
	})
}
