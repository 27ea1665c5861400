package discover

// programText is the program that migrates monoliths in another form. IMPORT is the path of the package of the models.
const programText = `// The program migrates large items to the items of a model, with the functions that convert them:
//
//	go run ./migrate -model NAME plan|run|verify|cutover|rollback|status
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	models "IMPORT"
	"github.com/itemize/itemize/migrate"
)

// options are those of each model.
var options = map[string][]migrate.Option{
MODELS}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	model := flag.String("model", "", "name of the model")
	lock := flag.String("lock", "itemize.lock.json", "lock file of the models")
	source := flag.String("source", SOURCE, "table of the large items")
	endpoint := flag.String("endpoint", "", "URL of DynamoDB (default: that of the region)")
	rate := flag.Float64("rate", 0, "WCU per second (default: no limit)")
	flag.Parse()
	own, ok := options[*model]
	if !ok {
		fmt.Fprintf(os.Stderr, "migrate: no model %q: write -model with one of this program\n", *model)
		os.Exit(2)
	}
	if *rate > 0 {
		own = append(own, migrate.WriteRate(*rate))
	}
	l, err := migrate.ReadLayout(*lock, *model)
	if err == nil {
		var g *migrate.Migration
		if g, err = migrate.Open(ctx, client(*endpoint), l, *source, own...); err == nil {
			err = run(ctx, g, flag.Arg(0))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "migrate:", err)
		os.Exit(1)
	}
}

// run runs one step, and prints its result.
func run(ctx context.Context, g *migrate.Migration, step string) error {
	var result any
	var err error
	switch step {
	case "plan":
		result, err = g.Plan(ctx, migrate.PlanOptions{})
	case "run":
		result, err = g.Run(ctx)
	case "verify":
		result, err = g.Verify(ctx)
	case "cutover":
		result, err = g.Cutover(ctx)
	case "rollback":
		result, err = g.Rollback(ctx)
	case "status":
		result, err = g.Status(ctx)
	default:
		return fmt.Errorf("unknown step %q: write plan, run, verify, cutover, rollback or status", step)
	}
	if err != nil {
		return err
	}
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "\t")
	return e.Encode(result)
}

// client returns a client with the credentials of the environment.
func client(endpoint string) *dynamodb.Client {
	o := dynamodb.Options{Region: os.Getenv("AWS_REGION"), RetryMaxAttempts: 10}
	if endpoint != "" {
		o.BaseEndpoint = &endpoint
		if o.Region == "" {
			o.Region = "us-east-1"
		}
	}
	o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		c := aws.Credentials{
			AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"),
			SessionToken: os.Getenv("AWS_SESSION_TOKEN"),
		}
		if c.AccessKeyID == "" && endpoint != "" {
			c.AccessKeyID, c.SecretAccessKey = "local", "local"
		}
		return c, nil
	})
	return dynamodb.New(o)
}
`

// jsonFunctions read and write documents that are stored as JSON.
const jsonFunctions = `
// decodeJSON reads a JSON object. It refuses an object that encodeJSON would write in another way, so that the way
// back gives the same text.
func decodeJSON(text string) (attributes, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return nil, errors.New("the document is no JSON object")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("text follows the JSON object")
	}
	v, ok := valueOf(m).(*types.AttributeValueMemberM)
	if !ok {
		return nil, errors.New("the document is no JSON object")
	}
	if !storedAlike(v) {
		return nil, errors.New("the document has numbers such as 1.0, which DynamoDB stores in another form")
	}
	again, err := encodeJSON(v.Value)
	if err != nil {
		return nil, err
	}
	if again != text {
		return nil, errors.New("the document is written in another way: its keys are not in order, or it has spaces")
	}
	return v.Value, nil
}

// encodeJSON writes a JSON object without spaces, with its keys in order.
func encodeJSON(m attributes) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(plainOf(&types.AttributeValueMemberM{Value: m}))
	return strings.TrimSuffix(b.String(), "\n"), err
}

var storedNumber = regexp.MustCompile("^(0|-?[1-9][0-9]*|-?(0|[1-9][0-9]*)[.][0-9]*[1-9])$")

// storedAlike reports whether DynamoDB stores all numbers in the form that they have.
func storedAlike(v types.AttributeValue) bool {
	switch v := v.(type) {
	case *types.AttributeValueMemberN:
		return storedNumber.MatchString(v.Value) && len(v.Value) < 38
	case *types.AttributeValueMemberL:
		for _, e := range v.Value {
			if !storedAlike(e) {
				return false
			}
		}
	case *types.AttributeValueMemberM:
		for _, e := range v.Value {
			if !storedAlike(e) {
				return false
			}
		}
	}
	return true
}

func valueOf(v any) types.AttributeValue {
	switch v := v.(type) {
	case string:
		return &types.AttributeValueMemberS{Value: v}
	case json.Number:
		return &types.AttributeValueMemberN{Value: v.String()}
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}
	case []any:
		l := &types.AttributeValueMemberL{}
		for _, e := range v {
			l.Value = append(l.Value, valueOf(e))
		}
		return l
	case map[string]any:
		m := &types.AttributeValueMemberM{Value: attributes{}}
		for name, e := range v {
			m.Value[name] = valueOf(e)
		}
		return m
	}
	return &types.AttributeValueMemberNULL{Value: true}
}

func plainOf(v types.AttributeValue) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return json.Number(v.Value)
	case *types.AttributeValueMemberBOOL:
		return v.Value
	case *types.AttributeValueMemberL:
		all := make([]any, len(v.Value))
		for i, e := range v.Value {
			all[i] = plainOf(e)
		}
		return all
	case *types.AttributeValueMemberM:
		all := map[string]any{}
		for name, e := range v.Value {
			all[name] = plainOf(e)
		}
		return all
	}
	return nil
}
`
