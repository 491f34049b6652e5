#!/usr/bin/env bash
# Go 1.26 for arm64: the assembler has the fused multiply-add of vectors (VFMLA), but neither
# their sum (VFADD) nor product (VFMUL), nor FMLA by element, which every matrix kernel for
# NEON is built on. They have to be written as WORD with the encoding. For amd64 it has them all.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
go version
printf 'module finding\n\ngo 1.26\n' >go.mod
printf 'package finding\n\nfunc f()\n' >f.go
status=0
for want in 'yes VFMLA V0.D2, V1.D2, V2.D2' 'no VFADD V0.D2, V1.D2, V2.D2' 'no VFMUL V0.D2, V1.D2, V2.D2' 'no VFMLA V0.D[0], V1.D2, V2.D2'; do
	printf 'TEXT ·f(SB), 4, $0-0\n\t%s\n\tRET\n' "${want#* }" >f_arm64.s
	if GOFLAGS= GOWORK=off GOARCH=arm64 CGO_ENABLED=0 go build . 2>/dev/null; then has=yes; else has=no; fi
	echo "${want#* }: $has"
	[[ $has == "${want%% *}" ]] || { echo "changed: it was ${want%% *}"; status=1; }
done
exit $status
