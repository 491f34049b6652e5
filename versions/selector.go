package versions

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// Choice is the version that [Selector.Select] chose for a call. The caller
// must end a Choice that is Timed with [Selector.Record] or
// [Selector.Abandon]; for others it may.
type Choice struct {
	Version *Version
	Index   int     // index of the version in Op.Versions
	Class   int     // size class of the call; -1 where it made no difference
	Work    float64 // work of the call; 0 where it made no difference
	Timed   bool    // the run should be timed and recorded
	Why     Why

	cold   bool // a warm-up: the version's first run in this process, say
	pos    int  // among the candidates of cell
	cell   *cell
	budget *Budget // pays for the time beyond the best version's …
	paid   float64 // … and the run's expected seconds
}

// WarmUp returns c as a warm-up: a run that has paid for something that later runs find done, such
// as memory touched for the first time.
func (c Choice) WarmUp() Choice {
	c.cold = true
	return c
}

// Selector chooses versions. It is safe for concurrent use; once the versions
// of an op are measured, Select neither locks nor allocates.
//
// A Selector keeps every *Op and *Target it was called with; they must be
// few, as an op per operation and a target per worker are, and must not
// change.
type Selector struct {
	config  Config
	explore uint64
	profile *Profile

	ops atomic.Pointer[map[*Op]*opTables]
	mu  sync.Mutex // guards writing to ops and to the opTables; a leaf
}

// opTables are the tables of one op.
type opTables struct {
	targets atomic.Pointer[map[*Target]*table]
}

// table is one op on one target, for Select. Equal targets share its cells.
type table struct {
	key   targetKey
	order []int // eligible versions, in order of preference
	sole  Choice
	done  bool  // sole is the answer for every call
	err   error // the answer where order is empty
	cells *[NumClasses]atomic.Pointer[cell]
}

// NewSelector returns a selector with the configuration c, which it copies. It returns a
// *[ConfigError] that names everything wrong with c.
func NewSelector(c Config) (*Selector, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	c.Only, c.Exclude, c.Fixed = slices.Clone(c.Only), slices.Clone(c.Exclude), slices.Clone(c.Fixed)
	if c.Explore == 0 {
		c.Explore = DefaultExplore
	}
	if c.Profile == nil {
		c.Profile = new(Profile)
	}
	return &Selector{config: c, explore: uint64(c.Explore), profile: c.Profile}, nil
}

// Profile returns the profile that s learns into.
func (s *Selector) Profile() *Profile { return s.profile }

// Validate checks the names in the configuration against the ops there are.
// It returns nil, or one *[UnknownNameError] for each name that no op has,
// joined.
func (s *Selector) Validate(ops []*Op) error { return s.config.checkNames(ops) }

// Check returns nil if some version of op can run on the target, else the
// *[NoVersionError] that Select would return.
func (s *Selector) Check(op *Op, on *Target) error { return s.table(op, on).err }

// Select chooses a version of op for a call on a target. If the configuration
// and the constraints leave none it returns a *[NoVersionError].
//
// Where one version is left, and in mode [Static], the call is not looked at
// and may be nil, unless [Config.Measure] is set.
func (s *Selector) Select(op *Op, call *Call, on *Target) (Choice, error) {
	t := s.table(op, on)
	if t.done {
		return t.sole, t.err
	}
	work := workOf(op, call)
	class := classOf(op, call, work)
	c := t.cells[class].Load()
	if c == nil {
		c = s.cell(op, t, class)
	}

	v, timed, ok := c.kept()
	if !ok || !math.IsInf(v.cost, 1) && v.cost <= s.spare(call, work) {
		v, timed = c.choose(s.explore, s.spare(call, work))
	}
	index := t.order[v.candidate]
	choice := Choice{
		Version: &op.Versions[index],
		Index:   index,
		Class:   class,
		Work:    work,
		Timed:   timed,
		Why:     v.why,
		cold:    timed && !c.records[v.candidate].warm.Load(),
		pos:     v.candidate,
		cell:    c,
	}
	if v.why == Exploring && v.cost > 0 && s.config.Mode != Thorough {
		units := unitsOf(work)
		choice.budget, choice.paid = call.Budget, units*(v.best+v.cost)
		call.Budget.spend(units * v.cost)
	}
	return choice, nil
}

// spare returns the seconds per unit of work that a run of exploring may cost.
func (s *Selector) spare(call *Call, work float64) float64 {
	switch {
	case s.config.Mode == Thorough:
		return math.Inf(1)
	case call == nil:
		return 0
	}
	return max(0, call.Budget.spare()/unitsOf(work))
}

// Expect returns the expected seconds of the call on a target, by the fastest version known: 0 if
// no time is known, +Inf if no version can run there. It chooses nothing.
func (s *Selector) Expect(op *Op, call *Call, on *Target) float64 {
	t := s.table(op, on)
	if t.err != nil {
		return math.Inf(1)
	}
	if t.cells == nil {
		return 0
	}
	work := workOf(op, call)
	return s.cell(op, t, classOf(op, call, work)).least() * unitsOf(work)
}

// Record adds the time of a run. It ignores a choice that is not Timed. A time that is negative or
// not finite counts as [Selector.Abandon]; zero, as from a coarse clock, as a nanosecond.
func (s *Selector) Record(choice Choice, seconds float64) {
	if !choice.Timed {
		return
	}
	const longest = 1e9 // thirty years: no time that a task took
	if !(seconds >= 0 && seconds <= longest) {
		s.Abandon(choice)
		return
	}
	choice.budget.spend(seconds - choice.paid)
	perUnit := math.Max(seconds, 1e-9) / unitsOf(choice.Work)
	choice.cell.end(choice.pos, perUnit, choice.cold, choice.Why == Exploring)
}

// Abandon ends a choice whose run failed or did not take place. Another run then explores the
// version instead, unless five in a row failed.
func (s *Selector) Abandon(choice Choice) {
	if choice.Why == Exploring {
		choice.cell.abandon(choice.pos)
	}
}

// table returns the table of op on a target, and makes it on first use.
func (s *Selector) table(op *Op, on *Target) *table {
	if ops := s.ops.Load(); ops != nil {
		if o := (*ops)[op]; o != nil {
			if t := (*o.targets.Load())[on]; t != nil {
				return t
			}
		}
	}
	return s.makeTable(op, on)
}

func (s *Selector) makeTable(op *Op, on *Target) *table {
	made := s.newTable(op, on)

	s.mu.Lock()
	defer s.mu.Unlock()
	ops := map[*Op]*opTables{}
	if p := s.ops.Load(); p != nil {
		ops = *p
	}
	o := ops[op]
	if o == nil {
		o = new(opTables)
		o.targets.Store(&map[*Target]*table{})
		ops = maps.Clone(ops)
		ops[op] = o
		s.ops.Store(&ops)
	}
	targets := *o.targets.Load()
	if t := targets[on]; t != nil {
		return t
	}
	for _, t := range targets {
		if t.key == made.key && slices.Equal(t.order, made.order) {
			made.cells = t.cells
			break
		}
	}
	targets = maps.Clone(targets)
	targets[on] = made
	o.targets.Store(&targets)
	return made
}

// newTable returns a table of the versions of op that may run on a target.
func (s *Selector) newTable(op *Op, on *Target) *table {
	order, reasons := s.eligible(op, on)
	t := &table{key: keyOf(on), order: order}
	if len(order) == 0 {
		t.done = true
		t.sole = Choice{Index: -1, Class: -1}
		for i, r := range reasons {
			reasons[i] = op.Versions[i].Name + ": " + r
		}
		t.err = &NoVersionError{Op: op.OpName(), Target: t.key.String(), Reasons: reasons}
		return t
	}
	t.sole = Choice{Version: &op.Versions[order[0]], Index: order[0], Class: -1}
	switch allowed, _ := s.config.candidates(op); {
	case s.config.Measure:
		t.cells = new([NumClasses]atomic.Pointer[cell])
		if len(order) > 1 && s.config.Mode == Static {
			t.order = order[:1]
		}
	case len(op.Versions) > 1 && len(allowed) == 1:
		t.done, t.sole.Why = true, s.config.soleReason(op)
	case len(order) == 1:
		t.done, t.sole.Why = true, Sole
	case s.config.Mode == Static:
		t.done, t.sole.Why = true, First
	default:
		t.cells = new([NumClasses]atomic.Pointer[cell])
	}
	return t
}

// eligible returns the versions of op that may run on a target, in order of
// preference, and for each version of op the reason why not, or "".
func (s *Selector) eligible(op *Op, on *Target) (order []int, reasons []string) {
	allowed, reasons := s.config.candidates(op)
	excluded := on.excludes(op)
	for _, i := range allowed {
		if reasons[i] = cmp.Or(excluded, op.Versions[i].Constraints.Unmet(on)); reasons[i] == "" {
			order = append(order, i)
		}
	}
	return order, reasons
}

// cell returns the cell of a class in t, and makes it on first use.
func (s *Selector) cell(op *Op, t *table, class int) *cell {
	if c := t.cells[class].Load(); c != nil {
		return c
	}
	if c := s.newCell(op, t, class); t.cells[class].CompareAndSwap(nil, c) {
		return c
	}
	return t.cells[class].Load()
}

// newCell returns a cell with the profile's knowledge of the versions in t.
func (s *Selector) newCell(op *Op, t *table, class int) *cell {
	names := make([]string, len(t.order))
	for i, index := range t.order {
		names[i] = op.Versions[index].Name
	}
	return s.profile.newCell(bookKey{t.key, clean(op.OpName())}, class, names)
}
