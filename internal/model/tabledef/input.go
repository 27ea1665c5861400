package tabledef

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/schema"
)

// Input returns the request that creates the table, with on-demand capacity. Its time to live is set by
// another request after the table exists.
func (d *Table) Input() *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{TableName: aws.String(d.Name), BillingMode: types.BillingModePayPerRequest}
	if d.Stream {
		in.StreamSpecification = &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages,
		}
	}
	for _, a := range d.Attributes {
		in.AttributeDefinitions = append(in.AttributeDefinitions,
			types.AttributeDefinition{
				AttributeName: aws.String(a.Name),
				AttributeType: types.ScalarAttributeType(a.Type),
			})
	}
	in.KeySchema = keySchema([]string{d.Hash}, ranges(d.Range))
	for _, x := range d.Indexes {
		keys, projection := keySchema(names(x.Hash), names(x.Range)), projectionOf(x)
		if x.Local {
			in.LocalSecondaryIndexes = append(in.LocalSecondaryIndexes,
				types.LocalSecondaryIndex{IndexName: aws.String(x.Name), KeySchema: keys, Projection: projection})
		} else {
			in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes,
				types.GlobalSecondaryIndex{IndexName: aws.String(x.Name), KeySchema: keys, Projection: projection})
		}
	}
	return in
}

// TTLInput returns the request that sets the table's time to live, nil where it has none.
func (d *Table) TTLInput() *dynamodb.UpdateTimeToLiveInput {
	if d.TTL == "" {
		return nil
	}
	return &dynamodb.UpdateTimeToLiveInput{
		TableName: aws.String(d.Name),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String(d.TTL),
			Enabled:       aws.Bool(true),
		},
	}
}

func ranges(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

func names(all []schema.KeyAttribute) []string {
	out := make([]string, len(all))
	for i, a := range all {
		out[i] = a.Name
	}
	return out
}

func keySchema(hash, sort []string) []types.KeySchemaElement {
	var out []types.KeySchemaElement
	for _, name := range hash {
		out = append(out, types.KeySchemaElement{AttributeName: aws.String(name), KeyType: types.KeyTypeHash})
	}
	for _, name := range sort {
		out = append(out, types.KeySchemaElement{AttributeName: aws.String(name), KeyType: types.KeyTypeRange})
	}
	return out
}

func projectionOf(x *schema.Index) *types.Projection {
	switch {
	case x.All:
		return &types.Projection{ProjectionType: types.ProjectionTypeAll}
	case x.KeysOnly():
		return &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}
	}
	return &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: x.Include}
}
