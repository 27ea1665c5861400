// Package door has the key to functions that only packages of itemize may call. Such a function has a
// parameter of type [Key], and only packages of itemize can import this package.
package door

// Key is the parameter of these functions.
type Key struct{}
