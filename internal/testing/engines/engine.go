// Package engines finds or starts DynamoDB engines and an S3 gateway: package integration says how it looks for them.
package engines

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// The names of the engines, as ITEMIZE_ENGINE takes them.
const (
	Local    = "dynamodb-local"
	Dynoxide = "dynoxide"
	Docker   = "docker"
	// Minidyn is the embedded engine, in pure Go.
	Minidyn = "minidyn"
	// External is an engine that another program has started.
	External = "external"
)

// Engine is a running DynamoDB engine.
type Engine struct {
	// Name is one of the constants above.
	Name string
	// Endpoint is its URL.
	Endpoint string

	process *process
	traits  func() (Traits, error)
}

// ErrNoEngine says that no engine was found, and how to get one.
var ErrNoEngine = errors.New("no DynamoDB engine: install Java 17 or later and Maven (DynamoDB Local is then " +
	"fetched), " +
	"or start Docker, or set ITEMIZE_ENGINE=dynoxide (needs cargo) or DYNAMODB_ENDPOINT")

// Start finds or starts an engine, and waits until it answers. Stop it when
// done. The error is ErrNoEngine where there is none. If the engine is minidyn, a line
// on stderr says so.
func Start(ctx context.Context) (*Engine, error) {
	e, err := StartFull(ctx)
	if errors.Is(err, ErrNoEngine) && embeddedAvailable(ctx) == nil {
		e, err = StartNamed(ctx, Minidyn)
	}
	if err == nil && e.Name == Minidyn {
		fmt.Fprintln(os.Stderr, "itemize: running on minidyn, an engine in pure Go, which has less than DynamoDB")
	}
	return e, err
}

// StartFull is [Start] for tests of DynamoDB's own behavior: it takes minidyn only if ITEMIZE_ENGINE
// names it.
func StartFull(ctx context.Context) (*Engine, error) {
	if endpoint := os.Getenv("DYNAMODB_ENDPOINT"); endpoint != "" {
		if u, err := url.Parse(endpoint); err != nil || u.Host == "" {
			return nil, fmt.Errorf("itemize: DYNAMODB_ENDPOINT is %q, and no URL: write it with its scheme, as in "+
				"http://localhost:8000", endpoint)
		}
		e := At(External, endpoint)
		return e, e.ready(ctx)
	}
	if name := os.Getenv("ITEMIZE_ENGINE"); name != "" {
		return StartNamed(ctx, name)
	}
	for _, l := range launchers {
		if l.name != Minidyn && l.available(ctx) == nil {
			return start(ctx, l)
		}
	}
	return nil, ErrNoEngine
}

// At returns an engine that runs already, at a URL.
func At(name, endpoint string) *Engine {
	e := &Engine{Name: name, Endpoint: endpoint}
	e.traits = sync.OnceValues(e.probe)
	return e
}

// StartNamed starts the engine with that name.
func StartNamed(ctx context.Context, name string) (*Engine, error) {
	for _, l := range launchers {
		if l.name != name {
			continue
		}
		if err := l.available(ctx); err != nil && !l.builds {
			return nil, fmt.Errorf("engine %s: %w", name, err)
		}
		return start(ctx, l)
	}
	return nil, fmt.Errorf("unknown engine %q in ITEMIZE_ENGINE: write %s, %s, %s or %s", name, Local, Dynoxide, Docker,
		Minidyn)
}

// start launches an engine. A port that is free can be taken before the engine
// has it, so a start that fails is tried again.
func start(ctx context.Context, l launcher) (*Engine, error) {
	var err error
	for range 3 {
		var e *Engine
		if e, err = launch(ctx, l); err == nil {
			return e, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("start %s: %w", l.name, err)
}

func launch(ctx context.Context, l launcher) (*Engine, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	cmd, err := l.command(ctx, port)
	if err != nil {
		return nil, err
	}
	p, err := run(cmd)
	if err != nil {
		return nil, err
	}
	e := At(l.name, fmt.Sprintf("http://127.0.0.1:%d", port))
	e.process = p
	if err := e.ready(ctx); err != nil {
		p.stop()
		return nil, fmt.Errorf("%w; its output: %s", err, p.output())
	}
	return e, nil
}

// ready waits until the engine answers.
func (e *Engine) ready(ctx context.Context) error {
	client := e.Client(func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
	return e.process.ready(ctx, e.Endpoint, func(ctx context.Context) error {
		_, err := client.ListTables(ctx, &dynamodb.ListTablesInput{Limit: aws.Int32(1)})
		return err
	})
}

// Stop ends an engine that Start has started, and leaves others alone.
func (e *Engine) Stop() {
	if e != nil && e.process != nil {
		e.process.stop()
	}
}

// attempts is how often a client of an engine sends a request. DynamoDB Local answers about 3% of UpdateTable
// requests with InternalFailure while other tables are created and deleted. Sometimes it does so several times in
// a row, and then the SDK's default is too low.
const attempts = 10

// Client returns a client of the engine.
func (e *Engine) Client(options ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(e.Endpoint),
		Region:       "us-east-1",
		Retryer:      retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts = attempts }),
		Credentials:  aws.CredentialsProviderFunc(anyCredentials),
	}, append(slices.Clip(options), func(o *dynamodb.Options) { o.HTTPClient = Plain(o.HTTPClient) })...)
}

// anyCredentials returns credentials for local engines, which accept any.
func anyCredentials(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "itemize", SecretAccessKey: "itemize", Source: "itemize"}, nil
}
