package dropin_test

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/dropin"
	"gonum.org/v1/gonum/blas"
	blasgonum "gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/lapack"
	lapackgonum "gonum.org/v1/gonum/lapack/gonum"
)

var rewrite = flag.Bool("rewrite", false, "write the table of docs/gonum.md anew")

// routines is an implementation.
type routines struct {
	blas.Float64
	l lapack.Float64
}

// flags is what a routine has beside numbers.
type flags struct {
	uplo   blas.Uplo
	trans  blas.Transpose
	transB blas.Transpose
	diag   blas.Diag
	side   blas.Side
	norm   lapack.MatrixNorm
}

// input is the operands of a routine of order n. What is written is C, or A if there is no C.
type input struct {
	flags
	n           int
	a, b, c     []float64
	alpha, beta float64
	tau         []float64 // of reflectors in A
	pivots      []int     // of factors in A
}

// answer is what a routine has written and returned.
type answer struct {
	out []float64
	ok  bool
}

// tried is a routine, with the operands that it reads and the flags that it has.
type tried struct {
	name     string
	operands string
	flags    string // u: uplo, t: trans, T: both, d: diag, s: side, n: norms, o: one norms
	scalars  string
	prepare  func(x *input) // makes factors of A, by gonum's routines
	run      func(r routines, x *input) answer
}

// factors says that the routine factors, or works with factors.
func (r *tried) factors() bool {
	return len(r.name) == 5 && r.name[:2] != "la" && !strings.HasSuffix(r.name, "con") && r.name != "syr2k"
}

// scalar reports whether the routine has α or β.
func (r *tried) scalar(which rune) bool { return strings.ContainsRune(r.scalars, which) }

func all() []tried {
	ref := lapackgonum.Implementation{}
	value := func(v float64) answer { return answer{[]float64{v}, true} }
	wrote := func(v []float64, ok bool) answer { return answer{v, ok} }
	space := func(n int) []float64 { return make([]float64, 8*n+n*n) }
	cholesky := func(x *input) { ref.Dpotrf(x.uplo, x.n, x.a, x.n) }
	lu := func(x *input) { x.pivots = make([]int, x.n); ref.Dgetrf(x.n, x.n, x.a, x.n, x.pivots) }
	qr := func(x *input) {
		x.tau = make([]float64, x.n)
		ref.Dgeqrf(x.n, x.n, x.a, x.n, x.tau, space(x.n), len(space(x.n)))
	}
	lq := func(x *input) {
		x.tau = make([]float64, x.n)
		ref.Dgelqf(x.n, x.n, x.a, x.n, x.tau, space(x.n), len(space(x.n)))
	}
	// A as a band matrix of kd diagonals beside the main one, which dominates.
	kd := func(x *input) int { return x.n / 4 }
	band := func(x *input) {
		for i := range x.n {
			if x.uplo == blas.Upper {
				x.a[i*x.n] += 100
			} else {
				x.a[i*x.n+kd(x)] += 100
			}
		}
	}
	bandCholesky := func(x *input) { band(x); ref.Dpbtrf(x.uplo, x.n, kd(x), x.a, x.n) }
	return []tried{
		{"gemm", "ABC", "T", "αβ", nil, func(r routines, x *input) answer {
			r.Dgemm(x.trans, x.transB, x.n, x.n, x.n, x.alpha, x.a, x.n, x.b, x.n, x.beta, x.c, x.n)
			return wrote(x.c, true)
		}},
		{"syrk", "AC", "ut", "αβ", nil, func(r routines, x *input) answer {
			r.Dsyrk(x.uplo, x.trans, x.n, x.n, x.alpha, x.a, x.n, x.beta, x.c, x.n)
			return wrote(x.c, true)
		}},
		{"syr2k", "ABC", "ut", "αβ", nil, func(r routines, x *input) answer {
			r.Dsyr2k(x.uplo, x.trans, x.n, x.n, x.alpha, x.a, x.n, x.b, x.n, x.beta, x.c, x.n)
			return wrote(x.c, true)
		}},
		{"symm", "ABC", "us", "αβ", nil, func(r routines, x *input) answer {
			r.Dsymm(x.side, x.uplo, x.n, x.n, x.alpha, x.a, x.n, x.b, x.n, x.beta, x.c, x.n)
			return wrote(x.c, true)
		}},
		{"trmm", "AC", "utds", "α", nil, func(r routines, x *input) answer {
			r.Dtrmm(x.side, x.uplo, x.trans, x.diag, x.n, x.n, x.alpha, x.a, x.n, x.c, x.n)
			return wrote(x.c, true)
		}},
		{"trsm", "AC", "utds", "α", nil, func(r routines, x *input) answer {
			r.Dtrsm(x.side, x.uplo, x.trans, x.diag, x.n, x.n, x.alpha, x.a, x.n, x.c, x.n)
			return wrote(x.c, true)
		}},
		{"gemv", "ABC", "t", "αβ", nil, func(r routines, x *input) answer {
			r.Dgemv(x.trans, x.n, x.n, x.alpha, x.a, x.n, x.b, 1, x.beta, x.c, 1)
			return wrote(x.c[:x.n], true)
		}},
		{"trsv", "AC", "utd", "", nil, func(r routines, x *input) answer {
			r.Dtrsv(x.uplo, x.trans, x.diag, x.n, x.a, x.n, x.c, 1)
			return wrote(x.c[:x.n], true)
		}},
		{"lange", "A", "n", "", nil, func(r routines, x *input) answer {
			return value(r.l.Dlange(x.norm, x.n, x.n, x.a, x.n, space(x.n)))
		}},
		{"lansy", "A", "un", "", nil, func(r routines, x *input) answer {
			return value(r.l.Dlansy(x.norm, x.uplo, x.n, x.a, x.n, space(x.n)))
		}},
		{"lantr", "A", "udn", "", nil, func(r routines, x *input) answer {
			return value(r.l.Dlantr(x.norm, x.uplo, x.diag, x.n, x.n, x.a, x.n, space(x.n)))
		}},
		{"potrf", "A", "u", "", nil, func(r routines, x *input) answer {
			ok := r.l.Dpotrf(x.uplo, x.n, x.a, x.n)
			if !ok { // what is left in A is of no use
				return answer{nil, false}
			}
			return wrote(x.a, ok)
		}},
		{"pbtrf", "A", "u", "", band, func(r routines, x *input) answer {
			ok := r.l.Dpbtrf(x.uplo, x.n, kd(x), x.a, x.n)
			if !ok {
				return answer{nil, false}
			}
			return wrote(x.a, ok)
		}},
		{"pbtrs", "AC", "u", "", bandCholesky, func(r routines, x *input) answer {
			r.l.Dpbtrs(x.uplo, x.n, kd(x), x.n, x.a, x.n, x.c, x.n)
			return wrote(x.c, true)
		}},
		{"pstrf", "A", "u", "", nil, func(r routines, x *input) answer {
			_, ok := r.l.Dpstrf(x.uplo, x.n, x.a, x.n, make([]int, x.n), -1, space(x.n))
			if !ok {
				return answer{nil, false}
			}
			return wrote(x.a, ok)
		}},
		{"potrs", "AC", "u", "", cholesky, func(r routines, x *input) answer {
			r.l.Dpotrs(x.uplo, x.n, x.n, x.a, x.n, x.c, x.n)
			return wrote(x.c, true)
		}},
		{"potri", "A", "u", "", cholesky, func(r routines, x *input) answer {
			ok := r.l.Dpotri(x.uplo, x.n, x.a, x.n)
			return wrote(x.a, ok)
		}},
		{"pocon", "A", "u", "", cholesky, func(r routines, x *input) answer {
			return value(r.l.Dpocon(x.uplo, x.n, x.a, x.n, 1, space(x.n), make([]int, x.n)))
		}},
		{"getrf", "A", "", "", nil, func(r routines, x *input) answer {
			ok := r.l.Dgetrf(x.n, x.n, x.a, x.n, make([]int, x.n))
			return wrote(x.a, ok)
		}},
		{"getrs", "AC", "t", "", lu, func(r routines, x *input) answer {
			r.l.Dgetrs(x.trans, x.n, x.n, x.a, x.n, x.pivots, x.c, x.n)
			return wrote(x.c, true)
		}},
		{"getri", "A", "", "", lu, func(r routines, x *input) answer {
			ok := r.l.Dgetri(x.n, x.a, x.n, x.pivots, space(x.n), len(space(x.n)))
			return wrote(x.a, ok)
		}},
		{"gecon", "A", "o", "", lu, func(r routines, x *input) answer {
			return value(r.l.Dgecon(x.norm, x.n, x.a, x.n, 1, space(x.n), make([]int, x.n)))
		}},
		{"geqrf", "A", "", "", nil, func(r routines, x *input) answer {
			r.l.Dgeqrf(x.n, x.n, x.a, x.n, make([]float64, x.n), space(x.n), len(space(x.n)))
			return wrote(x.a, true)
		}},
		{"orgqr", "A", "", "", qr, func(r routines, x *input) answer {
			r.l.Dorgqr(x.n, x.n, x.n, x.a, x.n, x.tau, space(x.n), len(space(x.n)))
			return wrote(x.a, true)
		}},
		{"ormqr", "AC", "ts", "", qr, func(r routines, x *input) answer {
			r.l.Dormqr(x.side, x.trans, x.n, x.n, x.n, x.a, x.n, x.tau, x.c, x.n, space(x.n), len(space(x.n)))
			return wrote(x.c, true)
		}},
		{"gelqf", "A", "", "", nil, func(r routines, x *input) answer {
			r.l.Dgelqf(x.n, x.n, x.a, x.n, make([]float64, x.n), space(x.n), len(space(x.n)))
			return wrote(x.a, true)
		}},
		{"orglq", "A", "", "", lq, func(r routines, x *input) answer {
			r.l.Dorglq(x.n, x.n, x.n, x.a, x.n, x.tau, space(x.n), len(space(x.n)))
			return wrote(x.a, true)
		}},
		{"ormlq", "AC", "ts", "", lq, func(r routines, x *input) answer {
			r.l.Dormlq(x.side, x.trans, x.n, x.n, x.n, x.a, x.n, x.tau, x.c, x.n, space(x.n), len(space(x.n)))
			return wrote(x.c, true)
		}},
		{"gels", "AC", "t", "", nil, func(r routines, x *input) answer {
			ok := r.l.Dgels(x.trans, x.n, x.n, x.n, x.a, x.n, x.c, x.n, space(x.n), len(space(x.n)))
			return wrote(x.c, ok)
		}},
		{"trtri", "A", "ud", "", nil, func(r routines, x *input) answer {
			ok := r.l.Dtrtri(x.uplo, x.diag, x.n, x.a, x.n)
			return wrote(x.a, ok)
		}},
		{"trtrs", "AC", "utd", "", nil, func(r routines, x *input) answer {
			ok := r.l.Dtrtrs(x.uplo, x.trans, x.diag, x.n, x.n, x.a, x.n, x.c, x.n)
			return wrote(x.c, ok)
		}},
		{"trcon", "A", "udo", "", nil, func(r routines, x *input) answer {
			return value(r.l.Dtrcon(x.norm, x.uplo, x.diag, x.n, x.a, x.n, space(x.n), make([]int, x.n)))
		}},
	}
}

// combinations returns the flags that a routine has.
func combinations(has string) (list []flags) {
	list = []flags{{'U', 'N', 'N', 'N', 'L', lapack.MaxColumnSum}}
	each := func(of string, set func(f *flags, k int), n int) {
		if !strings.ContainsAny(has, of) {
			return
		}
		for _, f := range slices.Clone(list) {
			for k := 1; k < n; k++ {
				g := f
				set(&g, k)
				list = append(list, g)
			}
		}
	}
	norms := []lapack.MatrixNorm{lapack.MaxColumnSum, lapack.MaxRowSum, lapack.MaxAbs, lapack.Frobenius}
	each("u", func(f *flags, _ int) { f.uplo = blas.Lower }, 2)
	each("tT", func(f *flags, _ int) { f.trans = blas.Trans }, 2)
	each("T", func(f *flags, _ int) { f.transB = blas.Trans }, 2)
	each("d", func(f *flags, _ int) { f.diag = blas.Unit }, 2)
	each("s", func(f *flags, _ int) { f.side = blas.Right }, 2)
	each("n", func(f *flags, k int) { f.norm = norms[k] }, 4)
	each("o", func(f *flags, k int) { f.norm = norms[k] }, 2)
	return list
}

// class is what is compared: of finite numbers gonum's suites see to the values. What of two numbers
// that are not finite comes of a factorization depends on the order of operations, and is not.
func class(v float64, factors bool) string {
	switch {
	case factors && v-v != 0:
		return "not finite"
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 0):
		return "∞"
	}
	return "finite"
}

// differences runs a routine as gonum's and as ours, on NaN, infinities and zeros, and adds which
// results were of another class: input, then "gonum's → ours".
func differences(r tried, ours []routines, seen map[string]map[string]bool) {
	ref := routines{blasgonum.Implementation{}, lapackgonum.Implementation{}}
	const n = 17
	for _, f := range combinations(r.flags) {
		for _, sparse := range []bool{false, true} {
			rnd := rand.New(rand.NewPCG(5, 6))
			make1 := func(zeros bool) []float64 {
				v := make([]float64, n*n)
				for i := range v {
					if v[i] = 0.5 + rnd.Float64(); zeros && i%n != i/n && (i%n+i/n)%3 != 1 {
						v[i] = 0
					}
				}
				return v
			}
			base := input{flags: f, n: n, a: make1(sparse), b: make1(sparse), c: make1(sparse), alpha: 1, beta: 1}
			for i := range n {
				for j := range i {
					base.a[j*n+i] = base.a[i*n+j]
				}
				base.a[i*n+i] += 2 * n
			}
			if r.prepare != nil {
				r.prepare(&base)
			}
			try := func(what string, change func(x *input)) {
				if sparse {
					what += "; zeros"
				}
				one := func(by routines) (a answer, fault any) {
					defer func() { fault = recover() }()
					x := base
					x.a, x.b, x.c = slices.Clone(base.a), slices.Clone(base.b), slices.Clone(base.c)
					change(&x)
					return r.run(by, &x), nil
				}
				note := func(g, o string) {
					if seen[what] == nil {
						seen[what] = map[string]bool{}
					}
					seen[what][r.name+": "+g+" → "+o] = true
				}
				want, fault := one(ref)
				for _, by := range ours {
					got, wrong := one(by)
					switch {
					case fault != nil || wrong != nil:
						if fault == nil || wrong == nil {
							note(fmt.Sprint("panic ", fault), fmt.Sprint("panic ", wrong))
						}
						continue
					case want.ok != got.ok:
						note(fmt.Sprint(want.ok), fmt.Sprint(got.ok))
						continue
					}
					for i, v := range want.out {
						if g, o := class(v, r.factors()), class(got.out[i], r.factors()); g != o {
							note(g, o)
						}
					}
				}
			}
			nan, inf := math.NaN(), math.Inf(1)
			for _, operand := range r.operands {
				of := func(x *input) []float64 {
					return map[rune][]float64{'A': x.a, 'B': x.b, 'C': x.c}[operand]
				}
				for _, at := range [][2]int{{0, 0}, {2, 1}, {1, 2}, {n - 1, 3}, {3, n - 1}} {
					p, q := at[0]*n+at[1], at[0]*n+(at[1]+1)%n
					try(fmt.Sprintf("NaN in %c", operand), func(x *input) { of(x)[p] = nan })
					try(fmt.Sprintf("∞ in %c", operand), func(x *input) { of(x)[p] = inf })
					try(fmt.Sprintf("NaN and ∞ in %c", operand), func(x *input) { of(x)[p], of(x)[q] = nan, inf })
					if r.scalar('α') {
						try(fmt.Sprintf("α = 0, NaN in %c", operand), func(x *input) { of(x)[p], x.alpha = nan, 0 })
					}
					if r.scalar('β') {
						try(fmt.Sprintf("β = 0, NaN in %c", operand), func(x *input) { of(x)[p], x.beta = nan, 0 })
						try(fmt.Sprintf("α = β = 0, NaN in %c", operand), func(x *input) { of(x)[p], x.alpha, x.beta = nan, 0, 0 })
					}
				}
			}
			if r.scalar('α') {
				try("α = NaN", func(x *input) { x.alpha = nan })
			}
			if r.scalar('β') {
				try("β = NaN", func(x *input) { x.beta = nan })
				try("α = 0, β = NaN", func(x *input) { x.alpha, x.beta = 0, nan })
			}
		}
	}
}

// TestNonFiniteTable: docs/gonum.md lists where results with NaN, infinities and zeros are not gonum's.
func TestNonFiniteTable(t *testing.T) {
	// Nothing here runs beside something else, and a worker without a processor to spare goes to sleep
	// at once between two calls.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	small, err := la.NewEngine(la.Options{Workers: 1, Float: true, Static: true, NB: 8, Direct: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer small.Close()
	whole, err := la.NewEngine(la.Options{Workers: 1, Float: true, Static: true})
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	var ours []routines
	for _, e := range []*la.Engine{whole, small} {
		opt := dropin.Options{Engine: e, Small: -1}
		ours = append(ours, routines{dropin.NewBLAS(opt), dropin.NewLAPACK(opt)})
	}
	seen := map[string]map[string]bool{}
	for _, r := range all() {
		differences(r, ours, seen)
	}
	// Rows: the routines, by input and difference. What zeros, or β = 0, do not change is told once.
	rows := map[string]map[string]bool{}
	for what, list := range seen {
		for d := range list {
			plain := strings.TrimSuffix(what, "; zeros")
			if plain != what && seen[plain][d] || strings.HasPrefix(what, "β = 0, ") && (seen[what[len("β = 0, "):]][d] || seen[plain[len("β = 0, "):]][d]) {
				continue
			}
			name, change, _ := strings.Cut(d, ": ")
			g, o, _ := strings.Cut(change, " → ")
			key := what + " | " + g + " | " + o
			if rows[key] == nil {
				rows[key] = map[string]bool{}
			}
			rows[key]["`"+name+"`"] = true
		}
	}
	var table strings.Builder
	table.WriteString("| input | gonum | drop-in | routines |\n| --- | --- | --- | --- |\n")
	// NaN, ∞ and both are one line where they do the same.
	lines := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		kind, rest, ok := strings.Cut(key, " in ")
		if !ok {
			kind, rest = "", key
		}
		rest += " | " + strings.Join(slices.Sorted(maps.Keys(rows[key])), ", ")
		lines[rest] = append(lines[rest], kind)
	}
	for _, rest := range slices.Sorted(maps.Keys(lines)) {
		kinds := strings.Join(lines[rest], ", ")
		if kinds != "" {
			kinds += " in "
		}
		fmt.Fprintf(&table, "| %s%s |\n", kinds, rest)
	}
	const path, begin, end = "../../docs/gonum.md", "<!-- the table of TestNonFiniteTable -->\n", "<!-- its end -->\n"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), begin)
	old, tail, also := strings.Cut(rest, end)
	if !ok || !also {
		t.Fatalf("%s has no place for the table\n%s", path, table.String())
	}
	if *rewrite {
		if err := os.WriteFile(path, []byte(head+begin+table.String()+end+tail), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if runtime.GOARCH != "amd64" { // there gonum's assembly takes a β that is NaN for 1
		old = strings.Replace(old, "| β = NaN | finite | NaN | `gemv` |\n", "", 1)
	}
	if old != table.String() {
		t.Errorf("%s has another table; go test ./la/dropin -run NonFiniteTable -rewrite writes this:\n%s", path, table.String())
	}
}
