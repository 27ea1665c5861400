package wire

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithy "github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Request builds the HTTP request of one call, and reads the answer to a write. The zero Request is
// unused.
type Request struct {
	maker
	answer [128]byte
	read   atomic.Bool
	text   [480]byte
}

// maker makes the HTTP request of one call.
type maker struct {
	smithyhttp.ClientProtocol
	headerSets *headerSets
	body       bytes.Reader
	// values are the headers', and room is memory for a short body.
	values [4]string
	room   []byte
	used   atomic.Bool
}

// Make gives a call to r, where the codec may: that is for one call, also if a middleware sends it twice at one time.
func (c *Codec) Make(r *Request, o *dynamodb.Options) {
	if c != nil && isSupportedProtocol(o.Protocol) {
		r.ClientProtocol, r.headerSets, r.room = o.Protocol, &c.headerSets, r.text[:0]
		o.Protocol = r
		c.endpoints.option(o)
	}
}

// DeserializeResponse is described at smithyhttp.ClientProtocol.
func (r *Request) DeserializeResponse(ctx context.Context, schema *smithy.OperationSchema, types *smithy.TypeRegistry,
	resp *smithyhttp.Response, out smithy.Deserializable,
) error {
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		return r.ClientProtocol.DeserializeResponse(ctx, schema, types, resp, out)
	}
	var room []byte
	if !r.read.Swap(true) {
		room = r.answer[:0]
	}
	b, err := readAll(resp, room)
	if err == nil && decodeResponse(b, out) {
		return nil
	}
	defer rewind(resp, b, err)()
	return r.ClientProtocol.DeserializeResponse(ctx, schema, types, resp, out)
}

// rewind gives an answer a body that was read before, up to an error. undo restores the original body,
// which the code that opened it closes.
func rewind(resp *smithyhttp.Response, b []byte, err error) (undo func()) {
	was := resp.Body
	resp.Body = reading(b)
	if err != nil {
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(b), failing{err}))
	}
	return func() { resp.Body = was }
}

// Option is Make of a new request: for calls of which nothing else is asked.
func (c *Codec) Option(o *dynamodb.Options) {
	if c != nil {
		c.Make(new(Request), o)
	}
}

// SerializeRequest is described at smithyhttp.ClientProtocol.
func (m *maker) SerializeRequest(ctx context.Context, schema *smithy.OperationSchema, in smithy.Serializable,
	req *smithyhttp.Request,
) error {
	if m.used.Swap(true) { // the request before may be under way
		m = &maker{ClientProtocol: m.ClientProtocol, headerSets: m.headerSets}
	}
	h := m.headerSets.of(ctx, m.ClientProtocol, schema, in)
	b, ok := encode(in, m.room)
	if h == nil || !ok {
		return m.ClientProtocol.SerializeRequest(ctx, schema, in, req)
	}
	m.body.Reset(b)
	with, err := req.SetStream(&m.body) // a copy: the headers come behind it
	if err != nil {
		return err
	}
	*req = *with
	h.into(req, m.values[:0])
	return nil
}

// head has the parts of an operation's requests, other than the body, that the SDK sets.
type head struct {
	protocol     smithyhttp.ClientProtocol
	operation    string
	method, path string
	names        []string
	values       []string
}

// into sets it, with the values in room.
func (h *head) into(req *smithyhttp.Request, room []string) {
	req.Method = h.method
	if req.URL.Path == "" {
		req.URL.Path = h.path
	}
	room = append(room, h.values...)
	for i, name := range h.names {
		req.Header[name] = room[i : i+1 : i+1]
	}
}

// headerSets are those that were learnt of the SDK.
type headerSets struct{ loadedHeaders atomic.Pointer[[]*head] }

// of returns the head of an operation, nil for one that is left to the SDK.
func (all *headerSets) of(ctx context.Context, p smithyhttp.ClientProtocol, schema *smithy.OperationSchema,
	in smithy.Serializable,
) *head {
	name := schema.ID().Name
	var loadedHeaders []*head
	if k := all.loadedHeaders.Load(); k != nil {
		loadedHeaders = *k
	}
	for _, h := range loadedHeaders {
		if h.operation == name && h.protocol == p {
			return h
		}
	}
	h := learn(ctx, p, schema, in)
	if h == nil {
		return nil
	}
	if len(loadedHeaders) == maxHeaders {
		loadedHeaders = nil
	}
	now := append(slices.Clip(loadedHeaders), h)
	all.loadedHeaders.Store(&now) // another one that is lost is learnt again
	return h
}

// maxHeads is more than a client has operations that this package is used for.
const maxHeaders = 16

// learn has the SDK make a request, and looks at it: nil for one that is more than a POST with headers.
func learn(ctx context.Context, p smithyhttp.ClientProtocol, schema *smithy.OperationSchema,
	in smithy.Serializable,
) *head {
	req := smithyhttp.NewStackRequest().(*smithyhttp.Request)
	if p.SerializeRequest(ctx, schema, in, req) != nil || req.Method != http.MethodPost || req.URL.RawQuery != "" {
		return nil
	}
	h := &head{protocol: p, operation: schema.ID().Name, method: req.Method, path: req.URL.Path}
	for name, values := range req.Header {
		if len(values) != 1 {
			return nil
		}
		h.names, h.values = append(h.names, name), append(h.values, values[0])
	}
	return h
}
