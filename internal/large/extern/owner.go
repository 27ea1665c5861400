package extern

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
)

// Owner identifies the item that an external value belongs to, by the real name of its table, its key
// and its attribute. It also has the record that named the value when it was written.
type Owner struct {
	Table     string
	PK, SK    key.Scalar
	Attribute string
	// Records is the real name of the table of the record, whose key is the others.
	Records   string
	Partition key.Scalar
	Record    key.Scalar
	// Root and Place are those of Homes.
	Root, Place string
}

func (h *Locations) owner(v *Value, record item.Place) *Owner {
	return &Owner{
		v.Parent.Table.Name, v.Parent.PK, v.Parent.SK, v.Attribute, record.Table.Name, record.PK, record.SK,
		h.Root, h.Place,
	}
}

// The entries of an owner, in addition to those of a record's value.
const recordsName, partitionName, recordName, modelName, placeName = "records", "partition", "record", "root", "place"

// attribute returns the owner as a part holds it.
func (o *Owner) attribute() types.AttributeValue {
	m := item.Attributes{
		tableName: text(o.Table), pkName: attr.ValueOf(o.PK), attributeName: text(o.Attribute),
		recordsName: text(o.Records), partitionName: attr.ValueOf(o.Partition), recordName: attr.ValueOf(o.Record),
		modelName: text(o.Root), placeName: text(o.Place),
	}
	if o.SK.Type != 0 {
		m[skName] = attr.ValueOf(o.SK)
	}
	return &types.AttributeValueMemberM{Value: m}
}

// OwnerOf reads the owner in the attributes of a part. ok is false if there is none.
func OwnerOf(part item.Attributes) (o *Owner, ok bool) { return ownerOf(part[ofName]) }

// ownerOf reads the owner in a part. ok is false if there is none.
func ownerOf(av types.AttributeValue) (o *Owner, ok bool) {
	m, ok := av.(*types.AttributeValueMemberM)
	if !ok {
		return nil, false
	}
	in := reading{m: m.Value}
	o = &Owner{
		Table: in.text(tableName), Attribute: in.text(attributeName), Records: in.text(recordsName),
		Root: in.text(modelName), Place: in.text(placeName),
	}
	for name, to := range map[string]*key.Scalar{
		pkName: &o.PK, skName: &o.SK, partitionName: &o.Partition,
		recordName: &o.Record,
	} {
		if m.Value[name] == nil && name == skName {
			continue
		}
		if *to, ok = attr.ScalarOf(m.Value[name]); !ok {
			return nil, false
		}
	}
	return o, !in.bad
}

// The metadata of objects: keys are any text or bytes, and metadata only ASCII, so that all are base64url.
const metadataPrefix = "itemize-"

// maxMetadata is how many bytes of user-defined metadata an object may have (S3 User Guide, "Working with object
// metadata": 2 KB of a PUT request's header).
const maxMetadata = 2000

// texts returns what the metadata of an object holds, by its names.
func (o *Owner) texts() map[string]string {
	m := map[string]string{
		tableName: o.Table, pkName: string(o.PK.Type) + o.PK.Text, attributeName: o.Attribute,
		recordsName: o.Records, partitionName: string(o.Partition.Type) +
			o.Partition.Text, recordName: string(o.Record.Type) + o.Record.Text,
		modelName: o.Root, placeName: o.Place,
	}
	if o.SK.Type != 0 {
		m[skName] = string(o.SK.Type) + o.SK.Text
	}
	return m
}

// metadata returns the owner as an object holds it: the item by a hash of its key where that is longer than S3 takes.
func (o *Owner) metadata() map[string]string {
	m, n := map[string]string{}, 0
	for name, s := range o.texts() {
		m[metadataPrefix+name] = base64.RawURLEncoding.EncodeToString([]byte(s))
		n += len(metadataPrefix) + len(name) + len(m[metadataPrefix+name])
	}
	if n > maxMetadata {
		delete(m, metadataPrefix+skName)
		m[metadataPrefix+pkName] = "~" + hashOf(strings.Join([]string{o.PK.Plain(), o.SK.Plain()}, "#"))
		m[metadataPrefix+attributeName] = "~" + hashOf(o.Attribute)
	}
	return m
}

// ownerIn reads the owner in an object's metadata: without the item if that is a hash. ok is false if
// there is none.
func ownerIn(metadata map[string]string) (o *Owner, ok bool) {
	o = &Owner{}
	scalars := map[string]*key.Scalar{pkName: &o.PK, skName: &o.SK, partitionName: &o.Partition, recordName: &o.Record}
	own := map[string]*string{
		tableName: &o.Table, attributeName: &o.Attribute, recordsName: &o.Records,
		modelName: &o.Root, placeName: &o.Place,
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(scalars)), slices.Collect(maps.Keys(own))) {
		value, there := metadata[metadataPrefix+name]
		if strings.HasPrefix(value, "~") || !there && name == skName {
			continue
		}
		b, err := base64.RawURLEncoding.DecodeString(value)
		switch to := scalars[name]; {
		case err != nil || !there:
			return nil, false
		case to == nil:
			*own[name] = string(b)
		case len(b) == 0:
			return nil, false
		default:
			*to = key.Scalar{Type: b[0], Text: string(b[1:])}
		}
	}
	return o, true
}
