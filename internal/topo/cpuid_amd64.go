//go:build linux && !noasm

package topo

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// This file asks the processor itself, and only for what is wanted: a hypervisor takes 20 µs for each answer. The package
// of the portable twin asks for fifty before main starts, which is most of what an import of Tessera would cost.

// cpuid executes CPUID for a part of a leaf.
func cpuid(leaf, part uint32) (eax, ebx, ecx, edx uint32)

// xgetbv returns which registers the operating system saves: the lower half of XCR0.
func xgetbv() (saved uint32)

// Registers of XCR0.
const (
	ymm = 1<<1 | 1<<2
	zmm = ymm | 1<<5 | 1<<6 | 1<<7
	amx = 1<<17 | 1<<18
)

// registers are EAX, EBX, ECX and EDX.
type registers [4]uint32

// Leaves that are asked for once.
var (
	leaf0  = ask(0, 0, nil, 0)
	leaf1  = ask(1, 0, leaf0, 1)
	leaf7  = ask(7, 0, leaf0, 7)
	leaf71 = ask(7, 1, leaf7, 1)
	ext0   = ask(0x80000000, 0, nil, 0)
	ext1   = ask(0x80000001, 0, ext0, 0x80000001)
)

// ask returns a function that returns what CPUID says, or zeros if the processor lacks the part of the leaf: if EAX of
// another leaf, last, is below least.
func ask(leaf, part uint32, last func() registers, least uint32) func() registers {
	return sync.OnceValue(func() (r registers) {
		if last == nil || last()[0] >= least {
			r[0], r[1], r[2], r[3] = cpuid(leaf, part)
		}
		return r
	})
}

// extensions lists features of a register that work where the operating system saves certain registers: bits and names.
var extensions = []struct {
	leaf     func() registers
	register int
	saved    uint32
	names    string
}{
	{leaf1, 3, 0, "0 x87 8 cmpxchg8 11 sysee 15 cmov 23 mmx 24 fxsr 25 fxsropt 25 sse 26 sse2"},
	{leaf1, 2, 0, "0 sse3 1 clmul 9 ssse3 13 cx16 19 sse4 20 sse42 22 movbe 23 popcnt 25 aesni 26 xsave 27 osxsave 29 f16c 30 rdrand 31 hypervisor"},
	{leaf1, 2, ymm, "12 fma3 28 avx"},
	{leaf7, 1, 0, "3 bmi1 4 hle 8 bmi2 9 erms 11 rtm 18 rdseed 19 adx 29 sha"},
	{leaf7, 1, ymm, "5 avx2"},
	{leaf7, 1, zmm, "16 avx512f 17 avx512dq 21 avx512ifma 26 avx512pf 27 avx512er 28 avx512cd 30 avx512bw 31 avx512vl"},
	{leaf7, 2, 0, "5 waitpkg 8 gfni 9 vaes 10 vpclmulqdq 25 cldemote 27 movdiri 28 movdir64b 29 enqcmd"},
	{leaf7, 2, zmm, "1 avx512vbmi 6 avx512vbmi2 11 avx512vnni 12 avx512bitalg 14 avx512vpopcntdq"},
	{leaf7, 3, 0, "4 fsrm 14 serialize 15 hybrid_cpu 16 tsxldtrk"},
	{leaf7, 3, zmm, "8 avx512vp2intersect 23 avx512fp16"},
	{leaf7, 3, amx, "22 amxbf16 24 amxtile 25 amxint8"},
	{leaf71, 0, 0, "1 sm3_x86 2 sm4_x86 7 cmpccxadd 10 movsb_zl 11 stosb_short 12 cmpsb_scadbs_short"},
	{leaf71, 0, ymm, "4 avxvnni 23 avxifma"},
	{leaf71, 0, zmm, "5 avx512bf16"},
	{leaf71, 0, amx, "21 amxfp16"},
	{leaf71, 3, 0, "14 prefetchi 21 apx_f"},
	{leaf71, 3, ymm, "4 avxvnniint8 5 avxneconvert 10 avxvnniint16"},
	{leaf71, 3, zmm, "19 avx10"},
	{leaf71, 3, amx, "6 amxtranspose 7 amxtf32 8 amxcomplex"},
	{ext1, 2, 0, "0 lahf 5 lzcnt 6 sse4a 22 topext"},
	{ext1, 2, ymm, "11 xop 16 fma4"},
	{ext1, 3, 0, "11 syscall 22 mmxext 27 rdtscp 30 amd3dnowext 31 amd3dnow"},
}

// text returns the letters in words.
func text(words ...uint32) string {
	var b []byte
	for _, r := range words {
		b = binary.LittleEndian.AppendUint32(b, r)
	}
	return string(b)
}

// features returns the names of the extensions that the processor and the operating system offer, in no order: those
// among wanted, or all if that is empty.
func features(wanted ...string) (names []string) {
	var saved uint32
	if leaf1()[2]>>27&1 == 1 {
		saved = xgetbv()
	}
	for _, e := range extensions {
		bits := strings.Fields(e.names)
		for i := 0; i < len(bits); i += 2 {
			if saved&e.saved != e.saved || len(wanted) > 0 && !slices.Contains(wanted, bits[i+1]) {
				continue
			}
			if bit, _ := strconv.Atoi(bits[i]); e.leaf()[e.register]>>bit&1 == 1 {
				names = append(names, bits[i+1])
			}
		}
	}
	return names
}

// describe sets the brand, vendor, family and model of id, and the vendor string of the hypervisor.
func describe(id *Identity) {
	vendor, signature := leaf0(), leaf1()[0]
	id.Vendor = text(vendor[1], vendor[3], vendor[2])
	id.Family, id.Model = int(signature>>8&0xf), int(signature>>4&0xf)
	if id.Family == 6 || id.Family == 15 {
		id.Model += int(signature >> 12 & 0xf0)
	}
	if id.Family == 15 {
		id.Family += int(signature >> 20 & 0xff)
	}
	if ext0()[0] >= 0x80000004 {
		for leaf := uint32(0x80000002); leaf <= 0x80000004; leaf++ {
			a, b, c, d := cpuid(leaf, 0)
			id.Brand += text(a, b, c, d)
		}
		id.Brand = strings.TrimRight(id.Brand, "\x00")
	}
	if leaf1()[2]>>31 == 1 {
		_, b, c, d := cpuid(0x40000000, 0)
		id.Hypervisor = text(b, c, d)
	}
}

// cpuidCaches returns the caches by CPUID, for machines that do not list them
// in files.
func cpuidCaches() []Cache { return slices.Clone(asked()) }

// asked is what cpuidCaches returns copies of.
var asked = sync.OnceValue(func() (caches []Cache) {
	vendor := leaf0()
	amd := slices.Contains([]string{"AuthenticAMD", "HygonGenuine"}, text(vendor[1], vendor[3], vendor[2]))
	leaf := uint32(4)
	switch {
	case amd && ext1()[2]>>22&1 == 1: // topext
		leaf = 0x8000001d
	case amd && ext0()[0] >= 0x80000006:
		_, _, l1d, l1i := cpuid(0x80000005, 0)
		_, _, l2, _ := cpuid(0x80000006, 0)
		for _, c := range []Cache{
			{Level: 1, Type: "Data", Size: int64(l1d>>24) << 10, Line: int(l1d & 0xff)},
			{Level: 1, Type: "Instruction", Size: int64(l1i>>24) << 10, Line: int(l1i & 0xff)},
			{Level: 2, Type: "Unified", Size: int64(l2>>16) << 10, Line: int(l2 & 0xff)},
		} {
			if c.Size > 0 {
				caches = append(caches, c)
			}
		}
		return caches
	case amd || leaf0()[0] < leaf:
		return nil
	}
	const parts = 8 // more than there are: a hypervisor may repeat one forever
	for part := range uint32(parts) {
		about, ways, sets, _ := cpuid(leaf, part)
		c, ok := cacheOf(about, ways, sets)
		if !ok {
			break
		}
		caches = append(caches, c)
	}
	return caches
})

// cacheOf returns the cache that a part of leaf 4 tells about in EAX, EBX and ECX, and false if there is no further one.
func cacheOf(about, ways, sets uint32) (Cache, bool) {
	kind := about & 31
	if kind < 1 || kind > 3 {
		return Cache{}, false
	}
	line := int64(ways&0xfff) + 1
	return Cache{
		Level: int(about >> 5 & 7), Type: [...]string{"Data", "Instruction", "Unified"}[kind-1], Line: int(line),
		Size: line * (int64(ways>>12&0x3ff) + 1) * (int64(ways>>22) + 1) * (int64(sets) + 1),
	}, true
}
