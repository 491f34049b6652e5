package sim

// addBusy adds by, which may be negative, to the number of busy workers.
func (c *crew) addBusy(by int) {
	c.measure()
	c.busy += by
}

// measure adds the time since the last change.
func (c *crew) measure() {
	if c.dead {
		return
	}
	m := &c.meter
	passed, driver, full := c.s.now-m.at, c.clock.workedBy(c.s.now), c.s.throttled()
	if passed > 0 {
		idle := len(c.workers) - c.busy
		starving := min(idle, m.waiting)
		c.tally.Starving += float64(starving) * passed
		rest := float64(idle-starving) * passed
		window := min((full-m.full)/passed, 1)
		part := min((driver-m.driver)/passed, 1-window)
		c.tally.Throttled += rest * window
		c.tally.Driver += rest * part
		c.tally.Idle += rest * (1 - window - part)
	}
	m.at, m.driver, m.full = c.s.now, driver, full
}
