// Command clinic reads and writes the items of the model Clinic without the library.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// exit is an error with an exit status.
type exit struct {
	status int
	text   string
}

func (e exit) Error() string { return e.text }

var (
	errExists  = exit{3, "the entity exists"}
	errMissing = exit{3, "the entity does not exist"}
	errFaster  = exit{4, "another writer was faster"}
	errLarge   = exit{5, "Scan has more than 1 KB"}

	ctx   = context.Background()
	db    *dynamodb.Client
	table *string
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "clinic:", err)
		e := exit{status: 1}
		errors.As(err, &e)
		os.Exit(e.status)
	}
}

func run(args []string) error {
	counts := map[string]int{"read": 3, "insert": 2, "rename": 4, "visit": 3, "delete": 3}
	endpoint := os.Getenv("ENDPOINT")
	if len(args) == 0 || counts[args[0]] != len(args) || endpoint == "" {
		return errors.New("usage: ENDPOINT=URL clinic read|visit|delete TABLE ID, insert TABLE, rename TABLE ID NAME")
	}
	credentials := func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{
			AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"),
		}, nil
	}
	db = dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: &endpoint, Credentials: aws.CredentialsProviderFunc(credentials),
	})
	table = &args[1]
	if err := checkFormat(); err != nil {
		return err
	}
	if args[0] == "insert" {
		var c Clinic
		if err := input(&c); err != nil {
			return err
		}
		return insert(c)
	}
	pk, err := partitionKey(args[2])
	if err != nil {
		return err
	}
	switch args[0] {
	case "read":
		c, err := read(pk, args[2])
		if err != nil {
			return err
		}
		out := json.NewEncoder(os.Stdout)
		out.SetEscapeHTML(false)
		return out.Encode(c)
	case "rename":
		return rename(pk, args[3])
	case "visit":
		var v Visit
		if err := input(&v); err != nil {
			return err
		}
		return again(func() error { return addVisit(pk, v) })
	}
	return again(func() error { return remove(pk) })
}

func input(v any) error {
	if err := json.NewDecoder(os.Stdin).Decode(v); err != nil {
		return fmt.Errorf("read the input: %w", err)
	}
	return nil
}
