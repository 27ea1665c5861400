package tabledef

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/schema"
)

// needed is a table with an index and a time to live, as a model needs it.
func needed() *Table {
	return &Table{
		Name: "T", Hash: "PK", Range: "SK", TTL: "expires",
		Attributes: []schema.KeyAttribute{{Name: "PK", Type: 'S'}, {Name: "SK", Type: 'S'}, {Name: "mail", Type: 'S'}},
		Indexes: []*schema.Index{{
			Name: "byMail", Hash: []schema.KeyAttribute{{Name: "mail", Type: 'S'}},
			Include: []string{"name"},
		}},
	}
}

// described returns a table as DynamoDB describes it after it was created as needed.
func described(d *Table) *types.TableDescription {
	in := d.Input()
	live := &types.TableDescription{
		TableName: in.TableName, TableStatus: types.TableStatusActive, KeySchema: in.KeySchema,
		AttributeDefinitions: in.AttributeDefinitions,
	}
	for _, x := range in.GlobalSecondaryIndexes {
		live.GlobalSecondaryIndexes = append(live.GlobalSecondaryIndexes, types.GlobalSecondaryIndexDescription{
			IndexName: x.IndexName, KeySchema: x.KeySchema, Projection: x.Projection,
			IndexStatus: types.IndexStatusActive,
		})
	}
	return live
}

func ttl(attribute string) *types.TimeToLiveDescription {
	return &types.TimeToLiveDescription{AttributeName: &attribute, TimeToLiveStatus: types.TimeToLiveStatusEnabled}
}

// A table that was created as the model needs it has no difference. Each other difference is reported
// with a cure, and says whether the model works nevertheless.
func TestCompareReportsEachDifference(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(live *types.TableDescription)
		ttl      *types.TimeToLiveDescription
		want     string // part of the text and cure, "" for no difference
		harmless bool
	}{
		"none":        {func(*types.TableDescription) {}, ttl("expires"), "", false},
		"unknown ttl": {func(*types.TableDescription) {}, nil, "", false},
		"other keys": {
			func(l *types.TableDescription) { l.KeySchema[1].AttributeName = aws.String("mail") }, nil,
			"the table has the keys", false,
		},
		"no sort key": {
			func(l *types.TableDescription) { l.KeySchema = l.KeySchema[:1] }, nil,
			"the table has the keys", false,
		},
		"other key type": {func(l *types.TableDescription) {
			l.AttributeDefinitions[1].AttributeType = types.ScalarAttributeTypeN
		}, nil, "the table has the keys", false},
		"being created": {
			func(l *types.TableDescription) { l.TableStatus = types.TableStatusCreating }, nil,
			"wait until it is ACTIVE", false,
		},
		"no index": {func(l *types.TableDescription) { l.GlobalSecondaryIndexes = nil }, nil, "index", false},
		"other index keys": {func(l *types.TableDescription) {
			l.GlobalSecondaryIndexes[0].KeySchema[0].AttributeName = aws.String("SK")
		}, nil, "keys", false},
		"index lacks name": {func(l *types.TableDescription) {
			l.GlobalSecondaryIndexes[0].Projection.NonKeyAttributes = nil
		}, nil, "name", false},
		"index has more": {func(l *types.TableDescription) {
			p := l.GlobalSecondaryIndexes[0].Projection
			p.NonKeyAttributes = append(p.NonKeyAttributes, "more")
		}, nil, "also projects more", true},
		"index has all": {func(l *types.TableDescription) {
			l.GlobalSecondaryIndexes[0].Projection = &types.Projection{ProjectionType: types.ProjectionTypeAll}
		}, nil, "projects all attributes", true},
		"undeclared index": {func(l *types.TableDescription) {
			x := l.GlobalSecondaryIndexes[0]
			x.IndexName = aws.String("other")
			l.GlobalSecondaryIndexes = append(l.GlobalSecondaryIndexes, x)
		}, nil, "the model does not declare the index", true},
		"ttl is off": {
			func(*types.TableDescription) {},
			&types.TimeToLiveDescription{TimeToLiveStatus: types.TimeToLiveStatusDisabled}, "time to live", false,
		},
		"another ttl": {func(*types.TableDescription) {}, ttl("other"), "time to live", false},
	} {
		live := described(needed())
		c.change(live)
		got := needed().Compare(live, c.ttl)
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s: %+v", name, got)
		case c.want != "" && (len(got) != 1 || !strings.Contains(got[0].Text+": "+got[0].Cure, c.want) ||
			got[0].Harmless != c.harmless || got[0].Table != "T" || got[0].Cure == ""):
			t.Errorf("%s: %+v, want %q", name, got, c.want)
		}
	}
}

// Tables that several models share are joined, with the indexes of all. What contradicts is refused, with the cure.
func TestMergeJoinsModelsOfOneTable(t *testing.T) {
	other := needed()
	other.TTL = ""
	other.Indexes = []*schema.Index{
		{Name: "byMail", Hash: []schema.KeyAttribute{{Name: "mail", Type: 'S'}}, Include: []string{"phone"}},
		{Name: "more", Hash: []schema.KeyAttribute{{Name: "SK", Type: 'S'}}, All: true},
	}
	all, err := Merge([]*Table{needed()}, []*Table{other})
	if err != nil || len(all) != 1 || len(all[0].Indexes) != 2 || all[0].TTL != "expires" ||
		!slices.Equal(all[0].Indexes[0].Include, []string{"name", "phone"}) {
		t.Errorf("%+v, %v", all, err)
	}
	if d := needed(); !slices.Equal(d.Indexes[0].Include, []string{"name"}) {
		t.Error("joining changes what it was given")
	}
	for name, c := range map[string]struct {
		change func(d *Table)
		want   string
	}{
		"keys":     {func(d *Table) { d.Range = "other" }, "write the same in hash= and range= of both"},
		"ttl":      {func(d *Table) { d.TTL = "gone" }, "write the same ttl= in both"},
		"key type": {func(d *Table) { d.Attributes[2].Type = 'N' }, "keys that share an attribute have one type"},
		"index keys": {
			func(d *Table) { d.Indexes[0].Hash = []schema.KeyAttribute{{Name: "SK", Type: 'S'}} },
			"write the same attributes",
		},
	} {
		d := needed()
		c.change(d)
		if _, err := Merge([]*Table{needed()}, []*Table{d}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
