package model

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/selection"
)

// Identified is an item that a caller has, from a stream, a scan or an export, and its kind in the model.
type Identified struct {
	item.Image
	// Of is the entity of an item of the model.
	Of selection.Selection
	// State is described at mapper.Decoded.
	State string
}

// OfModel reports whether it is an item of the model.
func (d *Identified) OfModel() bool { return d.State != "unknown" && d.State != "guard" }

// Incarnation returns the incarnation of the item, nil for none.
func (d *Identified) Incarnation() []byte {
	if b, ok := d.Header.Incarnation.(*types.AttributeValueMemberB); ok {
		return b.Value
	}
	return nil
}

// Identify finds the kind of an item. If table is "", it uses the table that the key fits.
func (m *Model) Identify(a item.Attributes, table string) (*Identified, error) {
	var found *Identified
	fits := ""
	tables := m.Tables
	if table != "" {
		tables = nil
		if t := m.TableNamed(table); t != nil {
			tables = []*item.Table{t}
		}
	}
	for _, t := range tables {
		img, err := m.Image(t, a)
		if err != nil {
			if table != "" {
				return nil, err
			}
			continue
		}
		d := &Identified{Image: img, State: "unknown"}
		if IsGuard(img.PK) {
			d.State = "guard"
			return d, nil
		}
		if identity, ok := m.Whose(&img); ok {
			if at, err := m.Schema.Partition(identity); err == nil && table == "" {
				d.Table = m.Table(t.Index, at.Period)
			}
			d.Of, d.State = selection.Entity(m.Schema, identity), m.StateOf(&img)
		}
		switch {
		case found == nil || found.State == "unknown":
			found = d
		case d.State != "unknown":
			return nil, m.Errorf("the item %s can belong to the table %s or to %s: name the table with "+
				"mapper.InTable",
				img.Place, fits, t.Name)
		}
		if d.State != "unknown" {
			fits = t.Name
		}
	}
	switch {
	case found != nil:
		return found, nil
	case table != "":
		return nil, m.Errorf("the model has no table %q: it has %s", table, tableList(m.Tables))
	}
	return nil, m.Errorf("the item's key matches no table of the model: %s", tableList(m.Tables))
}

// StateOf returns the state of an item of the model, as far as the item alone shows it.
func (m *Model) StateOf(img *item.Image) string {
	switch st := img.Header.ReadStage(); {
	case m.IsRoot(img.Kind) && !img.Header.Live() && st.State == item.Deleting:
		return "deleting"
	case m.IsRoot(img.Kind) && !img.Header.Live(), !m.IsRoot(img.Kind) && img.Header.Stage != nil &&
		img.Header.Incarnation != nil:
		return "staged"
	case img.Expired:
		return "expired"
	}
	return "live"
}

// tableList lists tables with their keys.
func tableList(tables []*item.Table) string {
	text := ""
	for i, t := range tables {
		if i > 0 {
			text += ", "
		}
		text += t.Name + " (" + t.Hash
		if t.Range != "" {
			text += ", " + t.Range
		}
		text += ")"
	}
	return text
}
