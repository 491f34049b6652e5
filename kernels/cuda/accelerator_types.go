package cuda

type transfer struct{}
type running struct{}
