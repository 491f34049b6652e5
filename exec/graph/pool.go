package graph

// take returns the list of tasks of one Release, or nil.
func (p *Pool) take() *Task {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.lists)
	if n == 0 {
		return nil
	}
	t := p.lists[n-1]
	p.lists[n-1] = nil
	p.lists = p.lists[:n-1]
	return t
}

// put keeps a list of tasks to which nothing refers any more.
func (p *Pool) put(list *Task) {
	if list != nil {
		p.mu.Lock()
		p.lists = append(p.lists, list)
		p.mu.Unlock()
	}
}

// Release gives the memory of the tasks that have ended to g.Pool, if there
// is one. It follows the rules of [Graph.Add]; more tasks may be added
// afterwards.
func (g *Graph) Release() {
	if g.Pool == nil {
		return
	}
	g.Pool.put(g.free)
	g.free = nil
	g.Pool.put(g.ended.Swap(nil))
}
