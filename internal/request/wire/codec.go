package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithy "github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"
)

// Codec makes the requests of a client, and reads its answers. The nil Codec leaves both to the SDK.
type Codec struct {
	share      bool
	headerSets headerSets
	endpoints  *endpoints
	alone      bool
}

// For returns the codec for a client: nil for one that is not the SDK's own, or that
// speaks another protocol than the one this package knows. share keeps strings in the
// memory of the page that they came with.
func For(client any, share bool) *Codec {
	c, ok := client.(*dynamodb.Client)
	if !ok || c == nil {
		return nil
	}
	o := c.Options()
	if !isSupportedProtocol(o.Protocol) {
		return nil
	}
	return &Codec{
		share: share, endpoints: endpointsOf(&o),
		alone: len(o.APIOptions) == 0 && !hasInterceptors(&o),
	}
}

// hasInterceptors reports whether a client has interceptors, of any step.
func hasInterceptors(o *dynamodb.Options) bool {
	for _, step := range reflect.ValueOf(o.Interceptors).Fields() {
		if step.Kind() != reflect.Slice || step.Len() > 0 {
			return true
		}
	}
	return false
}

// IsAlone reports whether only the SDK's own code sees a request: the client has no middleware of a program.
func (c *Codec) IsAlone() bool { return c != nil && c.alone }

// isSupportedProtocol reports whether a protocol is the one that this package was written for.
func isSupportedProtocol(p smithyhttp.ClientProtocol) bool {
	_, ok := p.(*awsjson.Protocol)
	return ok && p.ID().Name == "awsJson1_0"
}

// Call is a request whose answer is read: by the SDK if it has no codec.
type Call struct {
	protocol
	retries Retries
	set     [1]func(*dynamodb.Options)
	text    [256]byte // reads are short
}

// Call returns the reading of an operation's answer, whose page may be released, as its caller says.
func (c *Codec) Call(o *Operation, released bool) *Call {
	call := &Call{protocol: protocol{codec: c, operation: o, released: released}}
	call.set[0] = call.option
	return call
}

// Options are those that the request is sent with.
func (c *Call) Options() []func(*dynamodb.Options) {
	return c.set[:]
}

func (c *Call) option(o *dynamodb.Options) {
	c.retries.Watch(o)
	if c.codec != nil && isSupportedProtocol(o.Protocol) {
		c.ClientProtocol, c.headerSets, c.room = o.Protocol, &c.codec.headerSets, c.text[:0]
		o.Protocol = &c.protocol
		c.codec.endpoints.option(o)
	}
}

// Page returns the items that were read, nil where the SDK's output has them.
func (c *Call) Page() *Page { return c.page }

// Explain adds the throttling to the error of the call, if it was throttled until its context ended.
func (c *Call) Explain(err error) error { return c.retries.Explain(err) }

// protocol takes the items out of an answer, and leaves the rest to the SDK's protocol.
type protocol struct {
	maker
	codec     *Codec
	operation *Operation
	released  bool // the page will be
	page      *Page
}

// DeserializeResponse is described at smithyhttp.ClientProtocol.
func (p *protocol) DeserializeResponse(ctx context.Context, schema *smithy.OperationSchema, types *smithy.TypeRegistry,
	resp *smithyhttp.Response, out smithy.Deserializable,
) error {
	p.page = nil // of an attempt before
	decode := func() (err error) {
		defer recovered(&err)
		return p.ClientProtocol.DeserializeResponse(ctx, schema, types, resp, out)
	}
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		return decode()
	}
	sdk := func(b []byte, err error) error {
		defer rewind(resp, b, err)()
		return decode()
	}
	page := newPage(p.codec.share, p.released)
	var err error
	if page.body, err = readAll(resp, page.body); err != nil {
		return sdk(page.body, err)
	}
	if rest, ok := p.operation.read(page, out); ok && (rest == nil || sdk(rest, nil) == nil) {
		p.page = page
		return nil
	}
	return sdk(page.body, nil)
}

// recovered turns a panic into an error: the SDK's decoder panics at some texts that are no JSON, such as [1,,null].
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = &smithy.DeserializationError{
			Err: errors.New("the answer is not valid: the SDK panics while it decodes it"),
		}
	}
}

// text is a body in memory.
type text struct{ bytes.Reader }

func reading(b []byte) *text {
	t := new(text)
	t.Reset(b)
	return t
}

// Close does nothing.
func (*text) Close() error { return nil }

// maxRoom bounds the memory that is taken at once for an answer because it says that it is so long.
const maxRoom = 32 << 20

// chunk is how much is read at once: so much stays in the processor's cache while the SDK sums it up.
const chunk = 64 << 10

// readAll reads an answer into b, or into memory of the exact size if the length is known.
func readAll(resp *smithyhttp.Response, b []byte) ([]byte, error) {
	room := 512
	if n := resp.ContentLength; n > 0 {
		room = int(min(n, maxRoom)) + 1 // one more, to find the end
	}
	if cap(b) < room {
		b = memory(room)
	}
	for {
		n, err := resp.Body.Read(b[len(b):min(cap(b), len(b)+chunk)])
		b = b[:len(b)+n]
		switch {
		case err == io.EOF:
			return b, nil
		case err != nil:
			return b, err
		case len(b) == cap(b):
			b = append(b, 0)[:len(b)]
		}
	}
}

// memory returns room for so many bytes. Unlike that of make, it is not zeroed first: a builder of strings makes it.
// Only as much of it is read as was written.
func memory(room int) []byte {
	var b strings.Builder
	b.Grow(room)
	b.WriteByte(0)
	return unsafe.Slice(unsafe.StringData(b.String()), b.Cap())[:0]
}

// failing is a reader that fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
