//go:build cuda && linux

#include "symbols.h"

/*
 * NAME jumps to where tessera_at_NAME points. The names are hidden, so that
 * libraries which are loaded later do not see them in place of libcuda's own.
 */
	.macro trampoline name
	.data
	.balign 8
	.globl tessera_at_\name
	.hidden tessera_at_\name
tessera_at_\name:
	.quad tessera_missing
	.text
	.balign 16
	.globl \name
	.hidden \name
	.type \name, %function
\name:
#if defined(__x86_64__)
	jmp *tessera_at_\name(%rip)
#elif defined(__aarch64__)
	adrp x16, tessera_at_\name
	ldr x16, [x16, :lo12:tessera_at_\name]
	br x16
#else
#error "the tag cuda is for amd64 and arm64"
#endif
	.size \name, . - \name
	.endm

#define X(name) trampoline name ;
TESSERA_DRIVER(X)

	.section .note.GNU-stack,"",%progbits
