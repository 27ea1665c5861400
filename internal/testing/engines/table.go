package engines

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// CreateTable creates an on-demand table. A key attribute is written with its
// type, as "PK:S"; the sort key is "" for a table without one.
func (e *Engine) CreateTable(ctx context.Context, name, hash, sort string) error {
	in := &dynamodb.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest}
	for _, k := range []struct {
		attribute string
		role      types.KeyType
	}{{hash, types.KeyTypeHash}, {sort, types.KeyTypeRange}} {
		if k.attribute == "" {
			continue
		}
		attribute, typ, ok := strings.Cut(k.attribute, ":")
		if !ok {
			return fmt.Errorf("key attribute %q: write its type, as PK:S", k.attribute)
		}
		in.KeySchema = append(in.KeySchema,
			types.KeySchemaElement{AttributeName: aws.String(attribute), KeyType: k.role})
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{
			AttributeName: aws.String(attribute), AttributeType: types.ScalarAttributeType(typ),
		})
	}
	if _, err := e.Client().CreateTable(ctx, in); err != nil {
		return fmt.Errorf("create the table %s: %w", name, err)
	}
	return nil
}

// DeleteTable deletes a table.
func (e *Engine) DeleteTable(ctx context.Context, name string) error {
	if _, err := e.Client().DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
		return fmt.Errorf("delete the table %s: %w", name, err)
	}
	return nil
}
