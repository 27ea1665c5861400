package wire

import (
	"context"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithyendpoints "github.com/aws/smithy-go/endpoints"
)

// endpoints remembers the endpoints that the SDK's default resolver returns. For the same parameters it returns the
// same endpoint, but evaluates its rules for each request. The resolvers of programs are not remembered.
type endpoints struct {
	dynamodb.EndpointResolverV2
	remembered atomic.Pointer[[]endpoint]
}

// endpoint is a resolved endpoint, with the parameters that it was resolved for.
type endpoint struct {
	dynamodb.EndpointParameters
	smithyendpoints.Endpoint
}

// maxEndpoints is more than a client has tables, mostly: the tables of a request are parameters.
const maxEndpoints = 64

// parameters is how many parameters sameEndpoint compares. An SDK that has more is left alone.
const parameters = 9

var defaultResolver = reflect.TypeOf(dynamodb.NewDefaultEndpointResolverV2())

// endpointsOf returns the endpoints of a client; nil for a client whose endpoints are not remembered.
func endpointsOf(o *dynamodb.Options) *endpoints {
	if reflect.TypeOf(o.EndpointResolverV2) != defaultResolver ||
		reflect.TypeFor[dynamodb.EndpointParameters]().NumField() != parameters {
		return nil
	}
	return &endpoints{EndpointResolverV2: o.EndpointResolverV2}
}

// option has a call use the remembered endpoints.
func (e *endpoints) option(o *dynamodb.Options) {
	if e != nil && o.EndpointResolverV2 == e.EndpointResolverV2 {
		o.EndpointResolverV2 = e
	}
}

// ResolveEndpoint is described at dynamodb.EndpointResolverV2.
func (e *endpoints) ResolveEndpoint(ctx context.Context, p dynamodb.EndpointParameters) (smithyendpoints.Endpoint,
	error,
) {
	var remembered []endpoint
	if k := e.remembered.Load(); k != nil {
		remembered = *k
	}
	for i := range remembered {
		if sameEndpoint(&remembered[i].EndpointParameters, &p) {
			return remembered[i].Endpoint, nil
		}
	}
	resolved, err := e.EndpointResolverV2.ResolveEndpoint(ctx, p)
	if err == nil {
		if len(remembered) == maxEndpoints {
			remembered = nil
		}
		p.ResourceArn, p.ResourceArnList = clone(p.ResourceArn), slices.Clone(p.ResourceArnList) // those of an input
		now := append(slices.Clip(remembered), endpoint{p, resolved})
		e.remembered.Store(&now) // another one that is lost is resolved again
	}
	return resolved, err
}

func sameEndpoint(a, b *dynamodb.EndpointParameters) bool {
	return same(a.Region, b.Region) && same(a.UseDualStack, b.UseDualStack) && same(a.UseFIPS, b.UseFIPS) &&
		same(a.Endpoint, b.Endpoint) && same(a.AccountId, b.AccountId) &&
		same(a.AccountIdEndpointMode, b.AccountIdEndpointMode) && same(a.ResourceArn, b.ResourceArn) &&
		same(a.IsSearchOperation, b.IsSearchOperation) &&
		(a.ResourceArnList == nil) == (b.ResourceArnList == nil) && slices.Equal(a.ResourceArnList, b.ResourceArnList)
}

func same[V comparable](a, b *V) bool { return a == b || a != nil && b != nil && *a == *b }

func clone[V any](p *V) *V {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
