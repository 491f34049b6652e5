package loop

// Options configures a loop. The zero value is useful.
type Options struct {
	// Plan determines how the items are handed out. Auto, the default, needs a Site to learn.
	Plan
	// Site is the loop's place in the program, where Auto keeps what it learns: one Site for
	// each loop in the source, kept as long as the loop is called. Nil learns nothing: then
	// Auto stands for a share of the items for each worker, in 64 chunks of equal size.
	Site *Site
	// Parts locates the items: the first part has the first items, and so on; together they have
	// all items. Each part is a queue in which the scheme runs. The workers at its location share
	// the parts there, and one that finds none left steals by Plan.Victim. Layout and Shares must
	// be unset. Auto chooses the scheme and the grain, and without a Site is [FAC2]. A
	// parts.Partitions has parts.
	Parts []Part
	// Priority is the graph.Spec.Priority of the loop's tasks.
	Priority int64
	// Stats, if not nil, is overwritten with the loop's statistics at its end. Spans adds the times
	// of all chunks, at the cost of reading the clock twice for each.
	Stats *Stats
	Spans bool
	// Deterministic makes a reduction compute the same bits for any number of workers and any plan:
	// see [Reduce]. Other loops ignore it.
	Deterministic bool
}

// validate returns an *OptionsError with every problem of options for n items, or nil.
func (o *Options) validate(n int) error {
	bad := o.problems()
	if o.Parts != nil {
		sum := 0
		for i, p := range o.Parts {
			if p.Items < 0 || p.Items > n-sum {
				bad.Add("Parts[%d].Items is %d, of %d items that are left", i, p.Items, n-sum)
				continue
			}
			sum += p.Items
		}
		bad.Check(sum == n, "Parts has %d items of %d", sum, n)
	}
	bad.Check(!o.Spans || o.Stats != nil, "Spans is set, and Stats is not")
	bad.Check(o.Parts == nil || o.Layout == Central && !o.Shares && !o.Deterministic,
		"Parts is set, and so is Layout, Shares or Deterministic")
	if bad != nil {
		return &OptionsError{Problems: bad}
	}
	return nil
}
