package generated

import (
	"context"
	"testing"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

func TestAttackPartsLoadedByLookup(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Must(mapper.New[Contact](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:S", "SK:S")),
		mapper.AssumeVerified()))(t)
	for name, key := range map[string]*ContactKey{"key": ContactByID("1"), "lookup": ContactByEmail("a")} {
		kit.Must(m.Save(ctx, m.New(Contact{ID: "1", Email: "a", Note: "n", Calls: []ContactCall{{At: 1}}})))(t)
		e := kit.Must(m.Load(ctx, key.Note()))(t)
		e.Value.Note = "x"
		if _, err := m.Save(ctx, e); err != nil {
			t.Errorf("%s: save: %v", name, err)
		}
		if _, err := m.Delete(ctx, e); err != nil {
			t.Errorf("%s: delete: %v", name, err)
		}
		kit.Must(m.DeleteByKey(ctx, ContactByID("1")))(t)
	}
}
