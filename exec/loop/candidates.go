package loop

import "slices"

// candidates returns the plans among which Auto chooses for a loop whose items take total seconds
// together. All have chunks of at least grain items, and none shorter than is worth handing out.
func candidates(items int, locations []int, grain int, total float64) (all []Plan) {
	workers := len(locations)
	// Handing out a chunk of 5 µs costs 1 %. But each worker needs some.
	const worth, least = 5e-6, 8
	enough := items / (least * workers)
	if n := worth / total * float64(items); n < float64(enough) {
		enough = int(n)
	}
	grain = max(grain, enough, 1)
	layouts := []Plan{{}, {Layout: PerCore, Shares: true}}
	if slices.Max(locations) != slices.Min(locations) {
		layouts = append(layouts, Plan{Layout: PerSocket, Shares: true})
	}
	for _, p := range layouts {
		for _, s := range Schemes() {
			p.Scheme, p.Grain = s, grain
			if s != SS {
				all = append(all, p)
				continue
			}
			// SS has chunks of one size, the grain: try some numbers of chunks for each worker.
			p.Grain = 0
			for _, chunks := range []int{coarse / 4, coarse, 4 * coarse} {
				if g := max(grain, int(ceil(u(items), u(chunks*workers)))); g != p.Grain {
					p.Grain = g
					all = append(all, p)
				}
			}
		}
	}
	return all
}

// candidatesInParts returns the candidates for items in parts: these are the queues, and a scheme
// runs in each.
func candidatesInParts(all []Plan) []Plan {
	return slices.DeleteFunc(all, func(p Plan) bool { return p.Layout != Central })
}

// unknown is the plan for an unknown loop: a share of the items for each worker, in a number of
// chunks of equal size.
func unknown(n, workers, chunks, grain int) Plan {
	return Plan{Scheme: SS, Layout: PerCore, Shares: true, Grain: max(grain, int(ceil(u(n), u(chunks)*u(workers))))}
}

// coarse is the usual number of chunks for each worker in an unknown loop: enough to balance it to
// a percent or two, few enough to cost next to nothing.
const coarse = 64
