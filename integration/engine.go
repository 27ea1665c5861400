// Package integration runs a DynamoDB engine on this machine, for examples and tests: package
// enginetest has one for all tests of a package.
//
// [Start] takes the first of these that there is:
//
//  1. the endpoint in DYNAMODB_ENDPOINT,
//  2. the engine that ITEMIZE_ENGINE names: dynamodb-local, dynoxide, docker or minidyn,
//  3. DynamoDB Local, if Java 17 or later and Maven are on the PATH,
//  4. dynoxide, if it is on the PATH,
//  5. the image amazon/dynamodb-local, if Docker is running,
//  6. in a clone of this repository minidyn, which needs Go alone. It reports no consumed capacity and
//     lacks parts of
//     DynamoDB: docs/testing.md lists them.
//
// A started engine listens on a free port of the loopback interface, keeps its data in memory, and ends
// with the program. Its files are fetched once, in a pinned version, into the user's cache folder, by
// the package client that knows where they are (mvn, cargo, docker); a line on stderr says so.
package integration

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/testing/engines"
)

// ErrNoEngine says that there is no engine, and how to get one.
var ErrNoEngine = engines.ErrNoEngine

// Engine is a running DynamoDB engine.
type Engine struct {
	// Name is external, or one that ITEMIZE_ENGINE takes.
	Name string
	// Endpoint is its URL.
	Endpoint string

	stop func() // nil of one that was not started here
}

// Start finds or starts an engine, and waits until it answers. Stop it when done. The error is
// ErrNoEngine where there is none. If the engine is minidyn, a line on stderr says that it reports no
// consumed capacity.
func Start(ctx context.Context) (*Engine, error) {
	e, err := engines.Start(ctx)
	if err != nil {
		return nil, err
	}
	return &Engine{e.Name, e.Endpoint, e.Stop}, nil
}

// Stop ends an engine that Start has started, and leaves others alone.
func (e *Engine) Stop() {
	if e != nil && e.stop != nil {
		e.stop()
	}
}

func (e *Engine) running() *engines.Engine { return engines.At(e.Name, e.Endpoint) }

// Client returns a client of the engine. It sends a request up to 10 times.
func (e *Engine) Client(options ...func(*dynamodb.Options)) *dynamodb.Client {
	return e.running().Client(options...)
}

// CreateTable creates an on-demand table. A key attribute is written with its type, as "PK:S"; the sort
// key is "" for a table without one.
func (e *Engine) CreateTable(ctx context.Context, name, hash, sort string) error {
	return e.running().CreateTable(ctx, name, hash, sort)
}

// DeleteTable deletes a table.
func (e *Engine) DeleteTable(ctx context.Context, name string) error {
	return e.running().DeleteTable(ctx, name)
}

// S3 is a running S3 gateway (versitygw) over a folder of its own.
type S3 struct{ gateway *engines.S3 }

// StartS3 starts an S3 gateway, and waits until it answers. Stop it when done, which deletes its objects.
func StartS3(ctx context.Context) (*S3, error) {
	g, err := engines.StartS3(ctx)
	if err != nil {
		return nil, err
	}
	return &S3{g}, nil
}

// Config returns the configuration of a client of the gateway, for s3.NewFromConfig.
func (g *S3) Config() aws.Config { return g.gateway.Config() }

// Stop ends the gateway, and deletes its objects.
func (g *S3) Stop() {
	if g != nil {
		g.gateway.Stop()
	}
}
