package mapper_test

import (
	"testing"
	"unsafe"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// Functions of internal/door read and set values of types with type parameters without these: their memory must not
// depend on them.
func TestMemoryDoesNotDependOnTypeParameters(t *testing.T) {
	type no struct{}
	type large [64]string
	for name, sizes := range map[string][2]uintptr{
		"query.Node":  {unsafe.Sizeof(query.Node[no]{}), unsafe.Sizeof(query.Node[large]{})},
		"query.Key":   {unsafe.Sizeof(query.Key[no]{}), unsafe.Sizeof(query.Key[large]{})},
		"query.Items": {unsafe.Sizeof(query.Items[no]{}), unsafe.Sizeof(query.Items[large]{})},
		"query.Query": {unsafe.Sizeof(query.Query[no, no]{}), unsafe.Sizeof(query.Query[large, large]{})},
		"query.Elements": {
			unsafe.Sizeof(query.Elements[no, no]{}), unsafe.Sizeof(query.Elements[large, large]{}),
		},
		"field.ChangeOf": {unsafe.Sizeof(field.ChangeOf[no]{}), unsafe.Sizeof(field.ChangeOf[*large]{})},
		"field.ConditionOf": {
			unsafe.Sizeof(field.ConditionOf[no]{}), unsafe.Sizeof(field.ConditionOf[*large]{}),
		},
		"mapper.Patch":    {unsafe.Sizeof(mapper.Patch[no]{}), unsafe.Sizeof(mapper.Patch[large]{})},
		"mapper.ItemNode": {unsafe.Sizeof(mapper.ItemNode[no, *no]{}), unsafe.Sizeof(mapper.ItemNode[large, *large]{})},
		"mapper.ItemPatch": {
			unsafe.Sizeof(mapper.ItemPatch[no, *no]{}), unsafe.Sizeof(mapper.ItemPatch[large, *large]{}),
		},
	} {
		if sizes[0] != sizes[1] {
			t.Errorf("%s has %d bytes of an empty type, and %d of a large one", name, sizes[0], sizes[1])
		}
	}
}
