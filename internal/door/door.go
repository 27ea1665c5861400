// Package door has the key to what packages of itemize export for each other alone: functions that take a [Key] can be
// called by no other code, since only packages of itemize can import this one.
package door

// Key is the parameter of these functions.
type Key struct{}
