// Package integration runs a DynamoDB engine on this machine, for examples and tests. Package
// enginetest shares one between the tests of a package.
//
// [Start] uses the first of these that exists:
//
//  1. the endpoint in DYNAMODB_ENDPOINT,
//  2. the engine in ITEMIZE_ENGINE: dynamodb-local, dynoxide, docker or minidyn,
//  3. DynamoDB Local, if Java 17 or later and Maven are on the PATH,
//  4. dynoxide, if it is on the PATH,
//  5. the image amazon/dynamodb-local, if Docker is running,
//  6. minidyn, in a clone of this repository. It needs only Go, and lacks parts of DynamoDB
//     (docs/testing.md).
//
// The engine listens on a free port of the loopback interface, keeps its data in memory, and ends with
// the program. mvn, cargo or docker fetch its files once, in a pinned version, into the user's cache
// folder; a line on stderr says so.
package integration

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/testing/engines"
)

// ErrNoEngine says that the machine has no engine, and how to get one.
var ErrNoEngine = engines.ErrNoEngine

// Engine is a running DynamoDB engine.
type Engine struct {
	// Name is "external", or a value of ITEMIZE_ENGINE.
	Name string
	// Endpoint is its URL.
	Endpoint string

	stop func() // nil if the engine was not started here
}

// Start finds or starts an engine, and waits until it answers. Call Stop at the end. If there is no
// engine, the error is ErrNoEngine. If the engine is minidyn, a line on stderr says so.
func Start(ctx context.Context) (*Engine, error) {
	e, err := engines.Start(ctx)
	if err != nil {
		return nil, err
	}
	return &Engine{e.Name, e.Endpoint, e.Stop}, nil
}

// Stop ends an engine that Start has started. It leaves others running.
func (e *Engine) Stop() {
	if e != nil && e.stop != nil {
		e.stop()
	}
}

func (e *Engine) running() *engines.Engine { return engines.At(e.Name, e.Endpoint) }

// Client returns a client of the engine. It sends a request up to 10 times. Its access key and secret key are
// "itemize", and its Region is us-east-1: DynamoDB Local has a database for each access key and Region.
func (e *Engine) Client(options ...func(*dynamodb.Options)) *dynamodb.Client {
	return e.running().Client(options...)
}

// CreateTable creates a table with on-demand capacity. Key attributes have their type, such as "PK:S".
// sort is "" for a table without a sort key.
func (e *Engine) CreateTable(ctx context.Context, name, hash, sort string) error {
	return e.running().CreateTable(ctx, name, hash, sort)
}

// DeleteTable deletes a table.
func (e *Engine) DeleteTable(ctx context.Context, name string) error {
	return e.running().DeleteTable(ctx, name)
}

// S3 is a running S3 gateway (versitygw) with a folder of its own.
type S3 struct{ gateway *engines.S3 }

// StartS3 starts an S3 gateway, and waits until it answers. Call Stop at the end, which deletes its
// objects.
func StartS3(ctx context.Context) (*S3, error) {
	g, err := engines.StartS3(ctx)
	if err != nil {
		return nil, err
	}
	return &S3{g}, nil
}

// Config returns the client configuration of the gateway, for s3.NewFromConfig.
func (g *S3) Config() aws.Config { return g.gateway.Config() }

// Stop ends the gateway, and deletes its objects.
func (g *S3) Stop() {
	if g != nil {
		g.gateway.Stop()
	}
}
