package engines

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/aws"
)

const gatewayVersion = "1.8.0"

// S3 is a running S3 gateway (versitygw) over a folder of its own.
type S3 struct {
	// Endpoint is its URL.
	Endpoint string

	process *process
	folder  string
}

// StartS3 starts an S3 gateway, and waits until it answers. Stop it when done, which deletes its objects.
func StartS3(ctx context.Context) (*S3, error) {
	path, err := gateway(ctx)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "itemize-s3-")
	if err != nil {
		return nil, err
	}
	for range 3 { // a port that is free can be taken before the gateway has it
		var g *S3
		if g, err = launchS3(ctx, path, folder); err == nil {
			return g, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("start versitygw: %w", err), os.RemoveAll(folder))
}

// gateway returns the program on the PATH, or the one in the cache.
func gateway(ctx context.Context) (string, error) {
	if path, err := exec.LookPath("versitygw"); err == nil {
		return path, nil
	}
	dir, err := fetch("versitygw-"+gatewayVersion, "versitygw "+gatewayVersion+" (built with go, a minute)",
		func(dir string) error {
			cmd := exec.CommandContext(ctx, "go", "install", "github.com/versity/versitygw/cmd/versitygw@v"+
				gatewayVersion)
			cmd.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=")
			return newClient("building versitygw " + gatewayVersion).run(cmd)
		})
	return filepath.Join(dir, "versitygw"), err
}

func launchS3(ctx context.Context, path, folder string) (*S3, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, "--port", fmt.Sprintf("127.0.0.1:%d", port), "-q", "posix", folder)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY=itemize", "ROOT_SECRET_KEY=itemize")
	p, err := run(cmd)
	if err != nil {
		return nil, err
	}
	g := &S3{Endpoint: fmt.Sprintf("http://127.0.0.1:%d", port), process: p, folder: folder}
	if err := g.ready(ctx); err != nil {
		p.stop()
		return nil, fmt.Errorf("%w; its output: %s", err, p.output())
	}
	return g, nil
}

// Config returns the configuration of a client of the gateway: pass it to s3.NewFromConfig.
func (g *S3) Config() aws.Config {
	return aws.Config{
		BaseEndpoint: &g.Endpoint, Region: "us-east-1",
		Credentials: aws.CredentialsProviderFunc(anyCredentials),
	}
}

// CreateBucket creates a bucket.
func (g *S3) CreateBucket(name string) error {
	return os.Mkdir(filepath.Join(g.folder, name), 0o755)
}

func (g *S3) ready(ctx context.Context) error {
	return g.process.ready(ctx, g.Endpoint, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, g.Endpoint, nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		return answer.Body.Close()
	})
}

// Stop ends the gateway, and deletes its objects.
func (g *S3) Stop() {
	if g != nil && g.process != nil {
		g.process.stop()
		_ = os.RemoveAll(g.folder)
	}
}
