package change

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
)

// NotLoaded says that a field was changed whose items were not loaded.
type NotLoaded struct {
	Field string
	// At is the item outside of the selection, Needs what else has to be loaded; one of
	// them is set.
	At    item.Place
	Needs string
	// Element reports that it is an element.
	Element bool
}

func (e *NotLoaded) Error() string { return fmt.Sprintf("%s was changed, but not loaded", e.Field) }

// KeyChanged says that a field that keys name was changed.
type KeyChanged struct{ Field, Old, New string }

func (e *KeyChanged) Error() string {
	return fmt.Sprintf("%s was changed from %s to %s, but keys name it", e.Field, e.Old, e.New)
}

// TooLarge says that an item would be over the limit.
type TooLarge struct {
	Field string
	At    item.Place
	Size  int
	// Local is the size of the item's entries in local indexes, if the item is over the limit because
	// of them.
	Local int
	// Heaviest are the attributes that weigh most, the heaviest first.
	Heaviest []Weight
}

// Weight is an attribute's size in bytes.
type Weight struct {
	Name  string
	Bytes int
}

func (e *TooLarge) Error() string { return e.Field + ": too large: " + attr.Bytes(e.Size) }

// check refuses an item over the limit.
func (ch *Change) check() error {
	if ch.NewSize <= cost.MaxItem {
		return nil
	}
	return ch.tooLarge(0)
}

// checkLocal returns an error for an item that is over the limit with its entries in local indexes
// (Developer Guide, "Quotas", items, item size for tables with local secondary indexes).
func (ch *Change) checkLocal() error {
	local := 0
	for _, e := range ch.Item.Entries {
		for i := range ch.Entries {
			if x := &ch.Entries[i]; e.Index.Local && x.Index == ch.Table.Name+"/"+e.Index.Name {
				local += x.New
			}
		}
	}
	if local == 0 || ch.NewSize+local <= cost.MaxItem {
		return nil
	}
	return ch.tooLarge(local)
}

func (ch *Change) tooLarge(local int) error {
	e := &TooLarge{Field: ch.Field, At: ch.Place, Size: ch.NewSize, Local: local}
	add := func(name string, n int) {
		if n > 0 {
			e.Heaviest = append(e.Heaviest, Weight{name, n})
		}
	}
	written := map[string]bool{}
	for _, a := range ch.Set {
		written[a.Name] = true
		add(a.Name, attr.AttributeSize(a.Name, a.Value))
	}
	if ch.Stored != nil {
		for i, n := range ch.Stored.Sizes {
			if name := ch.Item.Attributes[i].Name; !written[name] {
				add(name, int(n))
			}
		}
		for name, v := range ch.Stored.Unknown {
			add(name, attr.AttributeSize(name, v))
		}
	}
	slices.SortFunc(e.Heaviest, func(a, b Weight) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	e.Heaviest = e.Heaviest[:min(len(e.Heaviest), 3)]
	return e
}
