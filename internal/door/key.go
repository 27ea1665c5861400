package door

// Key is a parameter of methods that only packages of itemize call, because only they can import this package.
type Key struct{}
