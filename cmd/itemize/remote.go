package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/itemize/itemize/migrate"
	"github.com/itemize/itemize/s3store"
)

// remote has the endpoints of DynamoDB and S3.
type remote struct{ endpoint, region, s3 string }

func (r *remote) flags(f *flags) {
	f.StringVar(&r.endpoint, "endpoint", cmp.Or(os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"), os.Getenv("AWS_ENDPOINT_URL")),
		"`URL` of DynamoDB (default: that of the region)")
	f.StringVar(&r.region, "region", os.Getenv("AWS_REGION"),
		"AWS `region` (default: AWS_REGION); credentials come from the environment")
}

// client returns a client with the credentials of the environment, which sends each request at most
// this often.
func (r *remote) client(attempts int) (*dynamodb.Client, error) {
	o := dynamodb.Options{RetryMaxAttempts: attempts}
	if r.endpoint != "" {
		if !strings.HasPrefix(r.endpoint, "http://") && !strings.HasPrefix(r.endpoint, "https://") {
			return nil, usagef("-endpoint %s: write http:// or https:// in front of it", r.endpoint)
		}
		o.BaseEndpoint = &r.endpoint
	}
	var err error
	o.Region, o.Credentials, err = r.access(r.endpoint != "")
	return dynamodb.New(o), err
}

// bucket returns a client of S3.
func (r *remote) bucket() (*s3.Client, error) {
	o := s3.Options{RetryMaxAttempts: 10}
	if r.s3 != "" {
		o.BaseEndpoint, o.UsePathStyle = &r.s3, true
	}
	var err error
	o.Region, o.Credentials, err = r.access(r.s3 != "")
	return s3.New(o), err
}

// access returns the Region, and the credentials of the environment. With an endpoint, both may have
// any value.
func (r *remote) access(explicit bool) (string, aws.CredentialsProvider, error) {
	region := r.region
	if explicit && region == "" {
		region = "us-east-1"
	}
	if region == "" {
		return "", nil, errors.New("no region: write -region, AWS_REGION, or -endpoint")
	}
	id, secret := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	if id == "" || secret == "" {
		if !explicit {
			return "", nil, errors.New("no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (aws " +
				"configure export-credentials --format env prints them)")
		}
		id, secret = "local", "local"
	}
	return region, aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: id, SecretAccessKey: secret, SessionToken: os.Getenv("AWS_SESSION_TOKEN")},
			nil
	}), nil
}

// files returns the files of a folder, or of s3://BUCKET/PREFIX.
func (c *command) files(r *remote, at string) (migrate.Files, error) {
	where, isBucket := strings.CutPrefix(at, "s3://")
	if !isBucket {
		return migrate.Folder(c.path(at)), nil
	}
	name, prefix, _ := strings.Cut(where, "/")
	if name == "" {
		return nil, fmt.Errorf("%s: write s3://BUCKET/PREFIX", at)
	}
	client, err := r.bucket()
	if err != nil {
		return nil, err
	}
	return s3store.Folder(client, name, prefix), nil
}
