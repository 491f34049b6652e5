package sim

// addBusy adds by, which may be negative, to the number of busy workers.
func (c *crew) addBusy(by int) {
	c.measure()
	c.busy += by
}

// measure adds the idle time of workers since its last call to the reasons for it. One worker was Starving
// for each task that waits for operands. The time of the others is Throttled while the window was full,
// Driver while the driver worked, and else Idle. It is called before a change of busy, meter.waiting or dead.
func (c *crew) measure() {
	if c.dead {
		return
	}
	m := &c.meter
	passed, driver, full := c.world.now-m.at, c.clock.workedBy(c.world.now), c.world.throttled()
	if passed > 0 {
		idle := len(c.workers) - c.busy
		starving := min(idle, m.waiting)
		c.tally.Starving += float64(starving) * passed
		rest := float64(idle-starving) * passed
		throttled := min((full-m.full)/passed, 1)
		driven := min((driver-m.driver)/passed, 1-throttled)
		c.tally.Throttled += rest * throttled
		c.tally.Driver += rest * driven
		c.tally.Idle += rest * (1 - throttled - driven)
	}
	m.at, m.driver, m.full = c.world.now, driver, full
}
