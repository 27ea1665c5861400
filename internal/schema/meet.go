package schema

import (
	"fmt"

	"github.com/itemize/itemize/internal/key"
)

// Meet says which items of two models some values could make one, "" for none.
func Meet(a, b *Entity) string {
	for _, t := range a.Tables {
		for _, u := range b.Tables {
			if t.Name != u.Name || t.Hash != u.Hash || t.Range != u.Range {
				continue
			}
			pk, meet := key.Overlap(a.PK.Template, b.PK.Template)
			if !meet {
				return ""
			}
			if x, y, sk := meetIn(a, b, t, u); x != nil {
				at := pk.String()
				if sk.Type != 0 {
					at += " " + sk.String()
				}
				return fmt.Sprintf("the keys of %s and %s in the table %s can be equal: %s is %s of the one, and %s of the other", a.Label(), b.Label(), t.Name, at, x.label(), y.label())
			}
		}
	}
	return ""
}

// meetIn returns items of two models in one table whose sort keys can be equal.
func meetIn(a, b *Entity, t, u *Table) (x, y *Item, sk key.Scalar) {
	for _, x := range a.Items {
		for _, y := range b.Items {
			if x.Table != t || y.Table != u {
				continue
			}
			if x.Key == nil || y.Key == nil {
				return x, y, sk
			}
			if w, meet := key.Overlap(x.Key.Template, y.Key.Template); meet {
				return x, y, w
			}
		}
	}
	return nil, nil, sk
}
