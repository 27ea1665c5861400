package wire

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithyendpoints "github.com/aws/smithy-go/endpoints"
)

// counting counts the calls of a resolver.
type counting struct {
	dynamodb.EndpointResolverV2
	calls int
}

func (c *counting) ResolveEndpoint(ctx context.Context, p dynamodb.EndpointParameters) (smithyendpoints.Endpoint,
	error,
) {
	c.calls++
	return c.EndpointResolverV2.ResolveEndpoint(ctx, p)
}

// An endpoint is resolved once for the same parameters, and again if one of them differs. The parameters that are
// compared are all that there are.
func TestEndpointsAreRemembered(t *testing.T) {
	c := &counting{EndpointResolverV2: dynamodb.NewDefaultEndpointResolverV2()}
	e, ctx := &endpoints{EndpointResolverV2: c}, context.Background()
	base := dynamodb.EndpointParameters{Region: aws.String("eu-west-1"), UseDualStack: new(bool), UseFIPS: new(bool)}
	for range 3 {
		got, err := e.ResolveEndpoint(ctx, base)
		want, wantErr := c.EndpointResolverV2.ResolveEndpoint(ctx, base)
		if err != nil || wantErr != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v %v, want %v %v", got, err, want, wantErr)
		}
	}
	if c.calls != 1 {
		t.Errorf("%d calls", c.calls)
	}
	typ := reflect.TypeFor[dynamodb.EndpointParameters]()
	if n := typ.NumField(); n != parameters {
		t.Fatalf("the SDK has %d parameters: compare them in sameEndpoint", n)
	}
	for i := range typ.NumField() {
		p := base
		switch f := reflect.ValueOf(&p).Elem().Field(i); f.Interface().(type) {
		case *string:
			f.Set(reflect.ValueOf(aws.String("https://localhost")))
		case *bool:
			f.Set(reflect.ValueOf(aws.Bool(true)))
		default:
			f.Set(reflect.ValueOf([]string{"arn:aws:dynamodb:eu-west-1:123456789012:table/t"}))
		}
		if sameEndpoint(&base, &p) || sameEndpoint(&p, &base) || !sameEndpoint(&p, &p) {
			t.Errorf("%s is not compared", typ.Field(i).Name)
		}
	}
	for i := range maxEndpoints + 1 { // more are forgotten, and resolved again
		p := base
		p.Endpoint = aws.String(fmt.Sprint("http://localhost:", 1000+i))
		if _, err := e.ResolveEndpoint(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(*e.remembered.Load()); n > maxEndpoints {
		t.Errorf("%d are remembered", n)
	}
}

// The endpoints of a program's own resolver are not remembered.
func TestOwnResolverIsAsked(t *testing.T) {
	own := &counting{EndpointResolverV2: dynamodb.NewDefaultEndpointResolverV2()}
	c := dynamodb.New(clientOf(answer{status: 200, body: twoItems}).Options(), func(o *dynamodb.Options) {
		o.EndpointResolverV2 = own
	})
	codec := For(c, false)
	for range 3 {
		_, err := c.Query(context.Background(), &dynamodb.QueryInput{TableName: aws.String("t")},
			codec.Call(Query, true).Options()...)
		if err != nil {
			t.Fatal(err)
		}
	}
	if own.calls != 3 {
		t.Errorf("%d calls", own.calls)
	}
	plain := clientOf(answer{status: 200, body: twoItems})
	for range 3 {
		_, err := plain.Query(context.Background(), &dynamodb.QueryInput{TableName: aws.String("t")},
			For(plain, false).Call(Query, true).Options()...)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Copied strings stay as they are when the page's memory is used for another one. So do those of a copied item.
func TestShortStringsAreCopies(t *testing.T) {
	read := func(text string) (*Page, []string) {
		p := newPage(false, true)
		p.body = append(p.body[:0], text...)
		if _, ok := Query.read(p, nil); !ok {
			t.Fatal(text)
		}
		var all []string
		for _, it := range p.Items {
			for i := range it.Shape.Names {
				all = append(all, it.Value(i).String())
			}
		}
		return p, all
	}
	p, kept := read(`{"Items":[{"a":{"S":"one"},"b":{"S":"two"}},{"a":{"S":"three"},"b":{"S":""}}]}`)
	item := p.Items[0].Copy()
	p.Release()
	for range 50 {
		other, _ := read(`{"Items":[{"a":{"S":"xxx"},"b":{"S":"yyy"}},{"a":{"S":"zzzzz"},"b":{"S":"v"}}]}`)
		other.Release()
	}
	want := []string{"one", "two", "three", ""}
	if !reflect.DeepEqual(kept, want) {
		t.Errorf("%q", kept)
	}
	if got := len(item); got != 2 {
		t.Errorf("%v", item)
	}
}
