package main

import (
	"context"
	"errors"
	"flag"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// remote is where DynamoDB is.
type remote struct{ endpoint, region string }

func (r *remote) flags(f *flag.FlagSet) {
	f.StringVar(&r.endpoint, "endpoint", "", "`URL` of DynamoDB; that of the region without it")
	f.StringVar(&r.region, "region", os.Getenv("AWS_REGION"), "region; the credentials are those of the environment")
}

// client is a client that sends each request so often at most, with the environment's credentials.
func (r *remote) client(attempts int) (*dynamodb.Client, error) {
	o := dynamodb.Options{Region: r.region, RetryMaxAttempts: attempts}
	if r.endpoint != "" {
		o.BaseEndpoint = &r.endpoint
		if o.Region == "" {
			o.Region = "us-east-1"
		}
	}
	if o.Region == "" {
		return nil, errors.New("no region: give -region, AWS_REGION, or -endpoint")
	}
	id, secret := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	if id == "" || secret == "" {
		if r.endpoint == "" {
			return nil, errors.New("no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (aws configure export-credentials --format env prints them)")
		}
		id, secret = "local", "local"
	}
	o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: id, SecretAccessKey: secret, SessionToken: os.Getenv("AWS_SESSION_TOKEN")}, nil
	})
	return dynamodb.New(o), nil
}
