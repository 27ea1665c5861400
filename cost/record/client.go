package record

import (
	"bytes"
	"context"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Client makes a client of the SDK record its requests: it is an option of dynamodb.New and dynamodb.NewFromConfig,
// and of libraries that pass such options on.
func (r *Recorder) Client(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, r.install)
}

func (r *Recorder) install(stack *middleware.Stack) error {
	if _, ok := stack.Deserialize.Get(deserialize{}.ID()); r.hasModels.Load() && !ok {
		if err := stack.Deserialize.Add(deserialize{}, middleware.After); err != nil {
			return err
		}
	}
	if _, ok := stack.Initialize.Get(r.id); ok { // the option was used twice
		return nil
	}
	return stack.Initialize.Add((*initialize)(r), middleware.After)
}

// initialize sees the input and the output of a request, once for all its attempts.
type initialize Recorder

func (m *initialize) ID() string { return m.id }

func (m *initialize) HandleInitialize(ctx context.Context, in middleware.InitializeInput,
	next middleware.InitializeHandler,
) (out middleware.InitializeOutput, md middleware.Metadata, err error) {
	r := (*Recorder)(m)
	c := r.callOf(ctx)
	if c != nil && c.mapped != nil {
		if !c.mapped.drawn {
			return next.HandleInitialize(ctx, in)
		}
		b := new(body)
		out, md, err = next.HandleInitialize(context.WithValue(ctx, bodyKey{}, b), in)
		if err == nil {
			c.mapped.read(in.Parameters, out.Result, b)
		}
		return out, md, err
	}
	out, md, err = next.HandleInitialize(ctx, in)
	if err == nil {
		r.request(c, in.Parameters, out.Result)
	}
	return out, md, err
}

// body is the text of an answer. A mapper reads answers from the wire, so that the outputs of the SDK have no items.
type body struct{ bytes.Buffer }

type bodyKey struct{}

// deserialize is the middleware that keeps the answers of recorded calls of mappers.
type deserialize struct{}

func (deserialize) ID() string { return "itemize/record body" }

func (deserialize) HandleDeserialize(ctx context.Context, in middleware.DeserializeInput,
	next middleware.DeserializeHandler,
) (out middleware.DeserializeOutput, md middleware.Metadata, err error) {
	out, md, err = next.HandleDeserialize(ctx, in)
	b, ok := ctx.Value(bodyKey{}).(*body)
	if !ok || err != nil {
		return out, md, err
	}
	if resp, ok := out.RawResponse.(*smithyhttp.Response); ok && resp.StatusCode == 200 {
		b.Reset() // of an attempt before
		resp.Body = &tee{resp.Body, b}
	}
	return out, md, err
}

// tee copies the bytes that are read of an answer.
type tee struct {
	io.ReadCloser
	to *body
}

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.to.Write(p[:n])
	return n, err
}
