package loop

// NewPartsDispenser is [NewDispenser] for items in parts, each of which is a queue: see
// [Options].Parts. It panics with [ErrScheme] also if the plan has a Layout or Shares, and
// with [ErrItems] if a part has less than no items.
func NewPartsDispenser(parts []Part, locations []int, p Plan) *Dispenser {
	switch {
	case len(locations) == 0:
		panic(ErrShape)
	case p.problems() != nil || p.automatic() || p.Layout != Central || p.Shares:
		panic(ErrScheme)
	}
	d := &Dispenser{plan: p, takers: make([]taker, len(locations)), queues: make([]queue, max(1, len(parts)))}
	at := make(map[int][]int32) // queues by location
	base := 0
	var last *sequence
	for i := range d.queues {
		q := &d.queues[i]
		q.location = locations[0]
		share := Shape{Workers: len(locations), Grain: p.Grain}
		if i < len(parts) {
			q.location, share.Items = parts[i].Location, parts[i].Items
		}
		if share.Items < 0 {
			panic(ErrItems)
		}
		q.base = base
		base += share.Items
		last = d.share(q, share, last)
		at[q.location] = append(at[q.location], int32(i))
	}
	// The workers of a location begin at parts as far apart as possible, because they go on with
	// those that follow.
	workers, rank := map[int]int{}, map[int]int{}
	for _, l := range locations {
		workers[l]++
	}
	for w, l := range locations {
		if near := at[l]; near != nil {
			d.takers[w].own = near[rank[l]*len(near)/workers[l]]
		} else {
			d.takers[w].own = int32(portion(len(d.queues), w, len(locations)))
		}
		rank[l]++
	}
	return d
}
