package abssum

// element is the types of elements.
type element interface{ float32 | float64 }
