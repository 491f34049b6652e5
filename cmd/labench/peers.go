package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/peers"
	"github.com/tessera-la/tessera/internal/peak"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
)

// peersFlags is the command line of labench peers.
type peersFlags struct {
	sizes, ops, types string
	versions, profile string
	workers           int
	repeat, warmup    int
	turn, settle      time.Duration
	seed              uint64
	require           []string
	json, anyway      bool
}

// newPeersCommand returns the command labench peers.
func newPeersCommand(a *app) *cobra.Command {
	var f peersFlags
	cmd := &cobra.Command{
		Use:   "peers",
		Short: "Compare with the BLAS library's own threads",
		Long: `Compare the tile algorithms, with the BLAS library's kernels on one thread in
each worker, with the same library's own multi-threaded routines: in one
process, on the same matrices, by turns. Needs a build with -tags openblas or
-tags mkl. Of the operations, solve is gesv, solve-spd posv, and lstsq gels.

Ours is the call as users make it: la.Gemm on row-major memory, Cholesky's
Factorize with its check of the input and its copy into tiles, the tile size
automatic. The library gets its best case: column-major without transposition,
in place, on memory that has been touched; putting the input back is not timed,
and of potrf's two triangles the faster one counts. Every turn's last result is
checked.

A ratio is ours/theirs in GFLOP/s: above 1, ours is faster.`,
		Example: `  env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE \
    go run -tags openblas ./cmd/labench peers
  labench peers --sizes 1024:8192:x2 --ops cholesky --type f64,f32
  labench peers --require cholesky:1024:1.3 --require gemm:4096:0.95`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, _ := cpu.BLASLibrary()
			return f.run(cmd.Context(), a, &peersMachine{library: info, lookupEnv: os.LookupEnv, compare64: peers.Compare[float64],
				compare32: peers.Compare[float32], peak: measurePeak})
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.sizes, "sizes", "512,1024,2048,4096", "orders of the matrices: numbers, ranges first:last:step,\nand rectangles as 65536x512")
	fl.StringVar(&f.ops, "ops", "gemm,cholesky,lu,qr", "all, or some of "+words(peers.Ops()))
	fl.StringVar(&f.types, "type", "f64", "f64, f32, or all")
	fl.StringVar(&f.versions, "versions", "", "versions that our side may run (default all, the fastest is chosen)")
	intFlag(cmd, &f.workers, "workers", "", 0, "our workers, and the library's threads (default one per core)")
	intFlag(cmd, &f.repeat, "repeat", "", 7, "turns of each side")
	intFlag(cmd, &f.warmup, "warmup", "", 2, "turns of each side before, not timed")
	durationFlag(cmd, &f.turn, "turn", 30*time.Millisecond, "repeat short calls in a turn for this long")
	durationFlag(cmd, &f.settle, "settle", 60*time.Millisecond, "pause before each turn, for the other side's threads to stop spinning")
	seedFlag(cmd, &f.seed, "seed of the matrices")
	fl.StringArrayVar(&f.require, "require", nil, "fail if the ratio of the best times is lower: op:n:ratio\nor op:mxn:ratio; repeatable")
	fl.StringVar(&f.profile, "profile", "", "file of what is known of the versions' speed, or none\n(default tessera/profile.json in the user's cache)")
	boolFlag(cmd, &f.json, "json", false, "print one JSON object for each comparison")
	boolFlag(cmd, &f.anyway, "anyway", false, "run although the environment keeps OpenBLAS from its best kernels")
	return cmd
}

// peersMachine is what labench peers runs on; a test has another one.
type peersMachine struct {
	library   cpu.BLASInfo // empty if there is none
	lookupEnv func(name string) (value string, ok bool)
	compare64 func(context.Context, peers.Config, peers.Op, peers.Size) (peers.Result, error)
	compare32 func(context.Context, peers.Config, peers.Op, peers.Size) (peers.Result, error)
	peak      func(ctx context.Context, typ string, workers int) (peak.Rate, error)
}

// measurePeak returns the FMA peak of a type, on one core and on as many as
// there are workers.
func measurePeak(ctx context.Context, typ string, workers int) (peak.Rate, error) {
	return peakOf(ctx, typ, peak.Options{Cores: workers})
}

func peakOf(ctx context.Context, typ string, o peak.Options) (peak.Rate, error) {
	if typ == "f32" {
		return peak.FMA[float32](ctx, o)
	}
	return peak.FMA[float64](ctx, o)
}

// typeName is an element type on the command line.
type typeName string

func (t typeName) String() string { return string(t) }

func typeNames() []typeName { return []typeName{"f64", "f32"} }

func parseType(s string) (typeName, error) {
	if t := typeName(s); slices.Contains(typeNames(), t) {
		return t, nil
	}
	return "", errors.New("unknown type")
}

func parsePeersOp(s string) (peers.Op, error) {
	for _, o := range peers.Ops() {
		if o.String() == s {
			return o, nil
		}
	}
	return 0, errors.New("unknown operation")
}

// requirement is a ratio that must be reached.
type requirement struct {
	op    peers.Op
	size  peers.Size
	ratio float64
}

func (r requirement) String() string { return fmt.Sprintf("%v:%v:%g", r.op, r.size, r.ratio) }

// parseRequirement reads op:n:ratio. The error is a *listError.
func parseRequirement(s string) (requirement, error) {
	bad := &listError{"require", s, "op:n:ratio with op one of " + words(peers.Ops()) + ", n a size that runs, and a ratio above 0, as in cholesky:1024:1.3"}
	parts := strings.Split(s, ":")
	if len(parts) != 3 {
		return requirement{}, bad
	}
	op, err := parsePeersOp(parts[0])
	size, ok := parseSize(parts[1])
	ratio, err2 := strconv.ParseFloat(parts[2], 64)
	if err != nil || err2 != nil || !ok || !(ratio > 0 && ratio < 1e6) {
		return requirement{}, bad
	}
	return requirement{op, size, ratio}, nil
}

// parseSize reads "1024" or "65536x512".
func parseSize(s string) (size peers.Size, ok bool) {
	rows, cols, rectangle := strings.Cut(s, "x")
	m, ok := positive(rows)
	if !rectangle || !ok {
		return peers.Square(m), ok
	}
	n, ok := positive(cols)
	return peers.Size{M: m, N: n}, ok
}

// parseSizes reads a list as parseInts does, in which there may be rectangles.
func parseSizes(flag, list string) (sizes []peers.Size, err error) {
	for element := range strings.SplitSeq(list, ",") {
		element = strings.TrimSpace(element)
		if size, ok := parseSize(element); ok {
			sizes = append(sizes, size)
			continue
		}
		orders, err := parseInts(flag, element, nil)
		if err != nil {
			var bad *listError
			if errors.As(err, &bad) {
				bad.Allowed += ", or a rectangle as 65536x512"
			}
			return nil, err
		}
		for _, n := range orders {
			sizes = append(sizes, peers.Square(n))
		}
	}
	if len(sizes) > maxElements {
		return nil, &listError{flag, list, fmt.Sprintf("at most %d values", maxElements)}
	}
	return uniq(sizes), nil
}

// uniq drops repetitions.
func uniq[T comparable](list []T) (out []T) {
	for _, v := range list {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// peersPlan is the command line, understood.
type peersPlan struct {
	sizes   []peers.Size
	ops     []peers.Op
	types   []typeName
	require []requirement
	config  peers.Config
}

func (f *peersFlags) plan() (*peersPlan, error) {
	var p peersPlan
	var errs []error
	check := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	var err error
	p.sizes, err = parseSizes("sizes", f.sizes)
	check(err)
	p.ops, err = parseWords("ops", f.ops, peers.Ops(), parsePeersOp)
	check(err)
	p.types, err = parseWords("type", f.types, typeNames(), parseType)
	check(err)
	only, err := versions.ParseNames(f.versions)
	check(err)
	for _, s := range f.require {
		r, err := parseRequirement(s)
		if err == nil && len(errs) == 0 && !(slices.Contains(p.sizes, r.size) && slices.Contains(p.ops, r.op) && r.op.Takes(r.size)) {
			err = fmt.Errorf("--require %s: neither --sizes %s nor --ops %s would tell", s, f.sizes, f.ops)
		}
		check(err)
		p.require = append(p.require, r)
	}
	check(checkTurns(f.workers, f.repeat, f.warmup, f.turn, f.settle))
	p.config = peers.Config{Workers: cmp.Or(f.workers, topo.Detect().Workers()), Repeat: f.repeat, Warmup: f.warmup,
		Turn: f.turn, Settle: f.settle, Seed: f.seed, Only: only}
	return &p, joinLine(errs)
}

// checkTurns reports everything that is wrong with how sides take turns.
func checkTurns(workers, repeat, warmup int, turn, settle time.Duration) error {
	var errs []error
	for _, v := range []struct {
		flag     string
		value    int
		min, max int
	}{{"workers", workers, 0, 1 << 16}, {"repeat", repeat, 1, 1 << 20}, {"warmup", warmup, 0, 1 << 20}} {
		if v.value < v.min || v.value > v.max {
			errs = append(errs, &listError{v.flag, strconv.Itoa(v.value), fmt.Sprintf("%d to %d", v.min, v.max)})
		}
	}
	for _, v := range []struct {
		flag  string
		value time.Duration
	}{{"turn", turn}, {"settle", settle}} {
		if v.value < 0 || v.value > time.Minute {
			errs = append(errs, &listError{v.flag, v.value.String(), "0s to 1m"})
		}
	}
	return joinLine(errs)
}

// shortfalls returns the requirements that r does not meet.
func (p *peersPlan) shortfalls(r peers.Result) []error {
	var errs []error
	for _, q := range p.require {
		if q.op.String() == r.Op && q.size == r.Size() && !(r.RatioBest >= q.ratio) {
			errs = append(errs, &shortfallError{r, q})
		}
	}
	return errs
}

// shortfallError reports a requirement that is not met.
type shortfallError struct {
	result   peers.Result
	required requirement
}

func (e *shortfallError) Error() string {
	return fmt.Sprintf("%s %s n=%v: the ratio is %.3f, and --require wants at least %g",
		e.result.Op, e.result.Type, e.result.Size(), e.result.RatioBest, e.required.ratio)
}

// strawMan returns what in the environment makes OpenBLAS slower than it is on
// this machine.
func strawMan(lookupEnv func(string) (string, bool)) []string {
	var set []string
	for _, name := range []string{"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"} {
		if v, ok := lookupEnv(name); ok {
			set = append(set, name+"="+v)
		}
	}
	return set
}

// refuseStrawMan returns an error if the environment makes OpenBLAS slower than
// it is, or warns if that is wanted anyway.
func (a *app) refuseStrawMan(lookupEnv func(string) (string, bool), anyway bool, command string) error {
	set := strawMan(lookupEnv)
	switch {
	case set == nil:
		return nil
	case anyway:
		a.warn(strings.Join(set, " and ") + " may keep OpenBLAS from the kernels it would choose by itself")
		return nil
	}
	return fmt.Errorf("the environment has %s, which OpenBLAS reads when the process starts, and which keeps it from its own "+
		"choice of kernels for this processor: the comparison would be with a straw man. Run env -u OPENBLAS_CORETYPE "+
		"-u OPENBLAS_L2_SIZE labench %s, or insist with --anyway", strings.Join(set, " and "), command)
}

// run compares and reports. Whatever is wrong in the end comes after the
// results.
func (f *peersFlags) run(ctx context.Context, a *app, m *peersMachine) error {
	p, err := f.plan()
	if err != nil {
		return usage(err)
	}
	if m.library.Name == "" {
		return fmt.Errorf("there is no BLAS library to compare with: %s, and without tag mkl; take one of them, as in "+
			"go run -tags openblas ./cmd/labench peers", cpu.WhyNoBLAS("openblas"))
	}
	if m.library.Name == "openblas" {
		if err := a.refuseStrawMan(m.lookupEnv, f.anyway, "peers"); err != nil {
			return err
		}
	}
	profile, err := a.openProfile(f.profile)
	if err != nil {
		return err
	}
	p.config.Profile = profile.Profile
	a.warnCrowded(p.config.Workers)
	var report peersReport = peersTable{a.out}
	if f.json {
		report = peersJSON{a.out}
	}
	rates := make(map[typeName]peak.Rate)
	for _, t := range p.types {
		if rates[t], err = m.peak(ctx, string(t), p.config.Workers); err != nil {
			return err
		}
	}
	if err := report.begin(m.library, p, rates); err != nil {
		return err
	}
	line := newStatus(a.err)
	defer line.clear()
	var problems []error
	for _, t := range p.types {
		compare := m.compare64
		if t == "f32" {
			compare = m.compare32
		}
		for _, op := range p.ops {
			for _, size := range p.sizes {
				if !op.Takes(size) {
					continue // lists are for all operations
				}
				line.set("%v %v n=%v …", op, t, size)
				r, err := compare(ctx, p.config, op, size)
				line.clear()
				if err != nil {
					return joinLine(append(problems, fmt.Errorf("%v %v n=%v: %w", op, t, size, err)))
				}
				r.PeakGFLOPS = rates[t].All
				if err := report.row(r); err != nil {
					return err
				}
				if !r.Passed {
					problems = append(problems, fmt.Errorf("%v %v n=%v: wrong result: residual %.3g of ours, %.3g of %s's",
						op, t, size, r.Ours.Residual, r.Peer.Residual, m.library.Name))
				}
				problems = append(problems, p.shortfalls(r)...)
			}
		}
	}
	profile.save(a)
	return joinLine(problems)
}
