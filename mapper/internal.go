package mapper

import (
	"fmt"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/large/compression"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/expr"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/save/operation"
	"github.com/itemize/itemize/query"
)

// no is the model where none is known: the memory of a node or a patch does not depend on its types.
type no = struct{}

func init() {
	door.Mapper.StoreObjects = func(o extern.Objects, buckets func(declared string) string) any {
		return optionFunc(func(s *settings) { s.large.objects, s.large.buckets = o, buckets })
	}
	door.Mapper.Compress = func(c compression.Codec) any {
		return optionFunc(func(s *settings) { s.large.codecs = append(s.large.codecs, c) })
	}
	door.Mapper.RootInTransaction = func() any {
		return writeFunc(func(o *operation.Options) { o.RootInTransaction = true })
	}
	door.Mapper.Detach = func(e any) { e.(interface{ detach() }).detach() }
	door.Mapper.Incarnation = func(e any) []byte { return e.(interface{ incarnation() []byte }).incarnation() }
	door.Mapper.OnPage = func(f func()) any { return scanFunc(func(s *scanSettings) { s.page = f }) }
	door.Mapper.Throttled = throttled
	door.Mapper.Public = func(m any, err error) error { return engineOf(m).public(err) }
	door.Mapper.Engine = func(m any) door.Engine { return engineOf(m) }
	door.Mapper.EngineOf = func(c any, e *schema.Entity, o any) (door.Engine, *model.Model, error) {
		g, err := newEngine(c.(Client), e, nil, settingsOf(o.([]Option)))
		if err != nil {
			return nil, nil, err
		}
		return g, g.model, nil
	}
	door.Mapper.Model = func(m any) *model.Model { return engineOf(m).model }
	door.Mapper.Item = func(to, node unsafe.Pointer, of expr.Target) {
		*(*ItemNode[no, no])(to) = ItemNode[no, no]{*(*query.Node[no])(node), of}
	}
	door.Mapper.Patch = func(to, node unsafe.Pointer, changes [][]expr.Change) {
		item := expr.Change{Item: expr.OfField}
		of := patchOfFields(specOf[no]((*query.Node[no])(node)), item, changes)
		*(*ItemPatch[no, no])(to) = ItemPatch[no, no]{Patch[no]{of}, item}
	}
	door.Mapper.Change = func(to, node unsafe.Pointer, c expr.Change) {
		*(*Patch[no])(to) = *newPatch((*query.Node[no])(node), c)
	}
}

func (e *Entity[T]) detach() { e.state.notStored = true }

func (e *Entity[T]) incarnation() []byte {
	is, _ := e.state.Snapshot.Incarnation()
	b, _ := is.(*types.AttributeValueMemberB)
	if b == nil {
		return nil
	}
	return b.Value
}

// engineOf returns the engine of a *Mapper, nil for none.
func engineOf(m any) *engine {
	if e, ok := m.(interface{ theEngine() *engine }); ok {
		return e.theEngine()
	}
	return nil
}

func (m *Mapper[T]) theEngine() *engine {
	if m == nil {
		return nil
	}
	return m.engine
}

// get returns the engine. Calls of a mapper that New did not make end here.
func (m *Mapper[T]) get() *engine {
	if m == nil || m.engine == nil {
		panic(fmt.Sprintf("mapper: the %T is nil or empty: make it with mapper.New", m))
	}
	return m.engine
}
