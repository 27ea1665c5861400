package field

import (
	"unsafe"

	"github.com/itemize/itemize/internal/model/expr"
)

// Change is a change of a record of the type R, for a patch.
type Change[R any] = ChangeOf[*R]

// ChangeOf is the type of a [Change], with the type of a pointer to the record: P is *R.
type ChangeOf[P any] struct{ is []expr.Change }

// no is a record where none is known: the memory of a change, a condition and a handle does not depend on their types.
type no = *struct{}

// changesOf returns n adjacent changes without their types.
func changesOf(first unsafe.Pointer, n int) [][]expr.Change {
	all := make([][]expr.Change, n)
	for i, c := range unsafe.Slice((*ChangeOf[no])(first), n) {
		all[i] = c.is
	}
	return all
}
