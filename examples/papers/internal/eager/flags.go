package eager

import "flag"

var (
	flags = flag.NewFlagSet("eager", flag.ContinueOnError)

	app     = flags.String("app", "", "domain, records or stream (default all)")
	unit    = flags.Duration("unit", 0, "what a task also waits, at least")
	turns   = flags.Int("turns", 1, "how often each way is gone; the best time counts")
	local   = flags.Bool("local", false, "agents are connected within the process, and not by HTTP")
	workers = flags.Int("workers", 8, "workers of each agent")

	generators = flags.Int("generators", 2, "domain: generators if more nodes are to do the same")
	subdomains = flags.Int("subdomains", 200, "domain: subdomains of each generator")
	side       = flags.Int("side", 12, "domain: points along a side of the smallest subdomain")

	parts = flags.Int("parts", 8, "records: tasks for each record")

	file = flags.Int("file", 16, "stream: parts of the file, of which nodes together can keep a few")
)
