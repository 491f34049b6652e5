package dispatch

// queue is a binary heap of the tasks of a worker, by priority.
type queue struct{ tasks []costed }

// costed is a task with its cost on the worker that it is queued for.
type costed struct {
	prioritised
	cost float64
}

// push adds x.
func (h *queue) push(x costed) {
	h.tasks = append(h.tasks, x)
	h.up(len(h.tasks) - 1)
}

// up moves task i up to where it belongs.
func (h *queue) up(i int) {
	for i > 0 {
		up := (i - 1) / 2
		if !h.tasks[i].before(&h.tasks[up].prioritised) {
			return
		}
		h.tasks[i], h.tasks[up] = h.tasks[up], h.tasks[i]
		i = up
	}
}

// remove takes task i out, in O(log n): the last one takes its place and moves up or down.
func (h *queue) remove(i int) costed {
	n := len(h.tasks) - 1
	t := h.tasks[i]
	h.tasks[i] = h.tasks[n]
	h.tasks[n] = costed{}
	h.tasks = h.tasks[:n]
	if i == n {
		return t
	}
	h.up(i)
	for {
		c := 2*i + 1
		if c >= n {
			return t
		}
		if c+1 < n && h.tasks[c+1].before(&h.tasks[c].prioritised) {
			c++
		}
		if !h.tasks[c].before(&h.tasks[i].prioritised) {
			return t
		}
		h.tasks[i], h.tasks[c] = h.tasks[c], h.tasks[i]
		i = c
	}
}
