package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"

	"github.com/itemize/itemize/large/s3store"
	"github.com/itemize/itemize/migrate"
)

// remote has the endpoints of DynamoDB and S3, and what the SDK finds credentials and the Region with.
type remote struct {
	endpoint, region, profile, s3 string
	// found is the Region that the SDK found.
	found string
}

func (r *remote) flags(f *flags) {
	f.StringVar(&r.endpoint, "endpoint", cmp.Or(os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"), os.Getenv("AWS_ENDPOINT_URL")),
		"`URL` of DynamoDB (default: that of the region)")
	f.StringVar(&r.region, "region", os.Getenv("AWS_REGION"),
		"AWS `region` (default: AWS_REGION, or that of the profile)")
	f.StringVar(&r.profile, "profile", "", "`name` of a profile with credentials (default: as the AWS SDK)")
}

// client returns a client that sends each request at most this often.
func (c *command) client(r *remote, attempts int) (*dynamodb.Client, error) {
	if r.endpoint != "" && !strings.HasPrefix(r.endpoint, "http://") && !strings.HasPrefix(r.endpoint, "https://") {
		return nil, usagef("-endpoint %s: write http:// or https:// in front of it", r.endpoint)
	}
	cfg, err := c.access(r)
	if err != nil {
		return nil, err
	}
	p := c.patience()
	return dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		o.Retryer, o.HTTPClient, o.Logger = p.retryer(attempts), p, logging.Nop{}
		o.APIOptions = append(o.APIOptions, withCall)
		if r.endpoint != "" {
			o.BaseEndpoint = &r.endpoint
		}
	}), nil
}

// bucket returns a client of S3.
func (c *command) bucket(r *remote) (*s3.Client, error) {
	cfg, err := c.access(r)
	if err != nil {
		return nil, err
	}
	p := c.patience()
	p.streams, p.cure = true, bucketCure
	return s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.Retryer, o.HTTPClient, o.Logger = p.retryer(usualAttempts), p, logging.Nop{}
		o.APIOptions = append(o.APIOptions, withCall)
		if r.s3 != "" {
			o.BaseEndpoint, o.UsePathStyle = &r.s3, true
		}
	}), nil
}

// localKey and localRegion are those of package integration. DynamoDB Local has one database for each key and Region.
const localKey, localRegion = "itemize", "us-east-1"

// local reports whether an endpoint is that of a local engine, for which Region and credentials may be missing.
func (r *remote) local() bool {
	ofAWS := func(url string) bool {
		return strings.Contains(url, "amazonaws.com") || strings.Contains(url, ".api.aws")
	}
	return r.endpoint+r.s3 != "" && !ofAWS(r.endpoint) && !ofAWS(r.s3)
}

// access returns the Region and the credentials that the SDK finds. With a local engine, those of package integration
// replace missing ones.
func (c *command) access(r *remote) (aws.Config, error) {
	options := []func(*config.LoadOptions) error{config.WithSharedConfigProfile(r.profile)}
	if r.region != "" {
		options = append(options, config.WithRegion(r.region))
	}
	c.local = r.local()
	if c.local { // it is on no machine of AWS, whose role would be waited for
		options = append(options, config.WithEC2IMDSClientEnableState(imds.ClientDisabled))
	}
	cfg, err := config.LoadDefaultConfig(c.ctx, options...)
	if err != nil {
		return cfg, fmt.Errorf("the configuration of the AWS SDK: %w", err)
	}
	if cfg.Region == "" && c.local {
		cfg.Region = localRegion
	}
	if cfg.Region == "" {
		return cfg, errors.New("no region: write -region, AWS_REGION, a -profile that has one, or the -endpoint of a " +
			"local engine")
	}
	r.found = cfg.Region
	if _, err = cfg.Credentials.Retrieve(c.ctx); err == nil {
		return cfg, nil
	}
	if c.local && r.profile == "" && os.Getenv("AWS_PROFILE") == "" {
		cfg.Credentials = credentials.NewStaticCredentialsProvider(localKey, localKey, "")
		return cfg, nil
	}
	return cfg, fmt.Errorf("no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write a -profile that "+
		"has them (for SSO, log in with the AWS command line first): %w", err)
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
	client, err := c.bucket(r)
	if err != nil {
		return nil, err
	}
	return s3store.Folder(client, name, prefix), nil
}
