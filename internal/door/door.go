// Package door has the key to what packages of itemize export for each other alone: functions that take a [Key] can be
// called by no other code, since nobody else can import this package.
package door

// Key is what these functions take.
type Key struct{}
