package change

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/save/write"
)

// With ttl,all each item expires with the root item. A patch that creates items reads the root item, and gives them its
// expiry. The specification is internal/save/staging/spec/Expiry.tla.

// inheritedExpiry returns the expiry of the root item as it was read, in the form that other items have.
func (x *Patch) inheritedExpiry() types.AttributeValue { return asInherited(x.expiry) }

// CorrectExpiry returns the requests that give items the expiry of a root item, and the check that it still has it.
func CorrectExpiry(m *model.Model, root *item.Image, items []*write.Request) (writes []*write.Request,
	check *write.Request,
) {
	incarnation := root.Header.Incarnation
	for _, r := range items { // also those whose expiry is over: that of the root item is not
		ch := start(m, write.Update, r.Item, r.Place)
		ch.Unread, ch.Expect = true, write.Expect{Blind: true, Terms: []attr.Condition{func(x *attr.Expression) string {
			return "attribute_exists(" + x.Name(r.Table.Hash) + ") AND " + m.Reserved.OwnedBy(x, incarnation)
		}}}
		if a := m.Reserved.AssignExpiry(ExpiryIn(root)); a.Value != nil {
			ch.Set = []item.Assignment{a}
		} else {
			ch.Remove = []item.Assignment{a}
		}
		writes = append(writes, &ch.Request)
	}
	guard := checkLive(m, root.Place, incarnation)
	guard.Expect.Terms = append(guard.Expect.Terms,
		write.Values([]item.Assignment{m.Reserved.AssignExpiry(root.Header.Expiry)}))
	return writes, &guard.Request
}

// ExpiryIn returns the expiry of a root item as other items have it, nil for none. A zero time is none.
func ExpiryIn(root *item.Image) types.AttributeValue { return asInherited(root.Header.Expiry) }

func asInherited(expiry types.AttributeValue) types.AttributeValue {
	if n, ok := expiry.(*types.AttributeValueMemberN); ok && !attr.Same(n, zeroTime) {
		return n
	}
	return nil
}
