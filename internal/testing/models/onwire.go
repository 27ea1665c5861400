package models

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	smithy "github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/itemize/itemize/internal/request/wire"
)

// onWire returns an item as it comes in an answer to GetItem, where it has at least one attribute.
func onWire(t testing.TB, share bool, attributes map[string]types.AttributeValue) wire.Item {
	t.Helper()
	ctx := context.Background()
	client := dynamodb.New(dynamodb.Options{})
	call := wire.For(client, share).Call(wire.GetItem, false)
	o := client.Options()
	schema := smithy.NewOperationSchema(schemas.GetItem, schemas.GetItemOutput, schemas.GetItemOutput)
	r := smithyhttp.NewStackRequest().(*smithyhttp.Request)
	if err := o.Protocol.SerializeRequest(ctx, schema, &dynamodb.GetItemOutput{Item: attributes}, r); err != nil {
		t.Fatal(err)
	}
	for _, f := range call.Options() {
		f(&o)
	}
	resp := &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(r.GetStream())}}
	if err := o.Protocol.DeserializeResponse(ctx, schema, dynamodb.TypeRegistry, resp,
		&dynamodb.GetItemOutput{}); err != nil {
		t.Fatal(err)
	}
	p := call.Page()
	if p == nil || len(p.Items) != 1 {
		t.Fatalf("it was left to the SDK: %v", attributes)
	}
	return p.Items[0]
}
