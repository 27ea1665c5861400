// Package a has an item.
// The item is gone.
package a

import "errors"

type a struct {
	b int `json:"b"` // is told
}

var err = errors.New("the valeu is missing")

// g returns nothing.
func f() {
	_ = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	// One two three four five six seven eight nine ten one two three four five six seven eight nine ten one two
	// three four five six seven eight nine ten one.
}
