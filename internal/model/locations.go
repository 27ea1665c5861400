package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// Storage says where external values are stored.
type Storage struct {
	// Records names the table of the records, "" for the model's own.
	Records string
	// HasObjects reports whether there is a client of S3.
	HasObjects bool
	// Bucket returns the real name of a bucket, and Rename that of a table. They are nil if the names are real.
	Bucket, Rename func(declared string) string
	// Region returns where the tables are. It is called for models with external values.
	Region func() string
}

// IsTableName reports whether DynamoDB accepts a name, or an ARN.
func IsTableName(name string) bool {
	if strings.HasPrefix(name, "arn:") {
		return true
	}
	return len(name) >= 3 && len(name) <= 255 && !strings.ContainsFunc(name, schema.NotInTableName)
}

// externals returns the attributes whose values may be external.
func externals(e *schema.Entity) (all []*schema.Attribute) {
	for _, it := range e.Items {
		for _, a := range it.Attributes {
			if a.Large.External() {
				all = append(all, a)
			}
		}
	}
	return all
}

// Locations returns where the external values of the model are stored. It is nil if the model has none.
func (m *Model) Locations(s Storage) (*extern.Locations, error) {
	e := m.Schema
	all := externals(e)
	if len(all) == 0 {
		return nil, nil
	}
	h := &extern.Locations{
		Parts: map[string]*item.Table{}, Buckets: map[string]string{}, Delim: e.Delim,
		Root:  rootOf(m),
		Place: s.Region(),
	}
	h.Fits = func(t *item.Table, pk, sk key.Scalar) bool {
		x := e.Tables[t.Index]
		return pk.Type == x.HashType && sk.Type == x.RangeType
	}
	refuse := func(a *schema.Attribute, text, cure string) error {
		return m.FieldErrorf(a.Value.Name, "%s: %s", text, cure)
	}
	switch why := cannotHold(e); {
	case s.Records != "" && why != "" &&
		slices.ContainsFunc(m.Tables, func(t *item.Table) bool { return t.Name == s.Records }):
		return nil, refuse(all[0], "the records of its external values cannot be in the table "+s.Records+
			", which is the model's own",
			"pass mapper.LargeRecords a table with keys PK and SK for records only")
	case s.Records != "":
		h.Records = &item.Table{Name: s.Records, Hash: "PK", Range: "SK", Index: -1}
	case why == "":
		h.Records = m.Tables[0]
	default:
		return nil, refuse(all[0],
			"its external values need a table of records, which cannot be the table "+m.Tables[0].Name+
				", "+why, "name a table with keys PK and SK: mapper.LargeRecords(\"NAME\")")
	}
	for _, a := range all {
		l := a.Large
		switch {
		case l.Bucket != "" && !s.HasObjects:
			return nil, refuse(a, "its values may be objects in S3, but the mapper has no S3 client",
				"pass New the option s3store.Objects(client)")
		case l.Bucket != "":
			h.Buckets[l.Bucket] = l.Bucket
			if s.Bucket != nil {
				h.Buckets[l.Bucket] = s.Bucket(l.Bucket)
			}
			if !isBucketName(h.Buckets[l.Bucket]) {
				return nil, refuse(a, fmt.Sprintf("%q is not a valid name of a bucket", h.Buckets[l.Bucket]),
					"S3 takes 3 to 63 lower-case letters, digits, '-' and '.' (s3store.Buckets sets the real names)")
			}
		case l.Parts != "":
			name := l.Parts
			if s.Rename != nil {
				name = s.Rename(name)
			}
			if !IsTableName(name) {
				return nil, refuse(a, fmt.Sprintf("%q is not a valid name of a table", name),
					"DynamoDB takes 3 to 255 letters, digits, '_', '-' and '.'")
			}
			if name == h.Records.Name ||
				slices.ContainsFunc(m.Tables, func(t *item.Table) bool { return t.Name == name }) {
				return nil,
					refuse(a, "table= with chunk is the table of the parts, with PK alone as its key, but "+
						name+" is the model's, or that of the records",
						"leave table= out to store parts in the table of the records, or name another")
			}
			h.Parts[l.Parts] = &item.Table{Name: name, Hash: "PK", Index: -1}
		}
	}
	return h, nil
}

// isBucketName reports whether S3 takes a name, or an access point by its ARN (S3 User Guide, "General
// purpose bucket naming rules").
func isBucketName(s string) bool {
	if strings.HasPrefix(s, "arn:") {
		return true
	}
	return len(s) >= 3 && len(s) <= 63 && strings.IndexFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.'
	}) < 0
}

// rootOf identifies a model by the real name of the table of its root items and the literal text of their keys.
func rootOf(m *Model) string {
	literal := func(t *key.Template) string {
		var b strings.Builder
		for _, p := range t.Parts {
			if b.WriteString(p.Text); p.Text == "" {
				b.WriteString("{}")
			}
		}
		return b.String()
	}
	root := m.Root()
	text := m.Tables[root.Table.Index].Name + " " + literal(m.Schema.PK.Template)
	if root.Key != nil {
		text += " " + literal(root.Key.Template)
	}
	return text
}

// cannotHold says why the table of a model cannot hold records and parts next to its items, "" if it can.
func cannotHold(e *schema.Entity) string {
	t := e.PK.Template
	last := t.Parts[len(t.Parts)-1].Format
	switch {
	case e.Tables[0].Range == "" || e.Tables[0].RangeType != 'S':
		return "which has no sort key of text"
	case t.Type != 'S' || !slices.ContainsFunc(t.Parts, func(p key.Part) bool { return p.Format.Kind == key.Literal }):
		return "whose partition key is a value alone, which could equal the key of a record"
	case last.Kind == key.Raw:
		return "whose partition key ends with a raw value, which could equal the key of a part"
	}
	return ""
}
