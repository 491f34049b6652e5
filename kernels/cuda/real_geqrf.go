//go:build cuda && linux

package cuda

// GeqrfWork implements [Stream].
func (s *realStream) GeqrfWork(typ Type, m, n int, a Matrix) (int64, error) {
	h, op, err := s.routine(typ, "cusolverDnSgeqrf_bufferSize", "cusolverDnDgeqrf_bufferSize", m, n, a.Ld)
	if err != nil || m == 0 || n == 0 {
		return 0, err
	}
	elements, err := h.GeqrfWork(typ == F64, m, n, a.nvidia())
	return int64(elements) * typ.Size(), s.failedCall(op, err)
}

// Geqrf implements [Stream].
func (s *realStream) Geqrf(typ Type, m, n int, a Matrix, tau, work, info Ptr) error {
	h, op, err := s.routine(typ, "cusolverDnSgeqrf", "cusolverDnDgeqrf", m, n, a.Ld)
	if err != nil {
		return err
	}
	if m == 0 || n == 0 {
		return s.Fill(info, 0, 4)
	}
	elements, err := h.GeqrfWork(typ == F64, m, n, a.nvidia())
	if err != nil {
		return s.failedCall(op+"_bufferSize", err)
	}
	return s.failedCall(op, h.Geqrf(typ == F64, m, n, a.nvidia(), uintptr(tau), uintptr(work), elements, uintptr(info)))
}
