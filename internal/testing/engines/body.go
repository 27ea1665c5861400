package engines

import (
	"io"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// plainBody is a request's body that io.Copy can only read.
//
// The SDK closes a body as soon as it has the answer. At that moment net/http may still want to know
// that the body has ended. For that, WriteTo of smithy-go (v1.28.8, safeWriteToReadCloser) returns
// io.EOF. For net/http that is an error, so it closes the connection before the answer's body is read:
// "use of closed network connection". An engine on the same machine is fast enough for this. With Read the end
// is no error.
type plainBody struct{ io.ReadCloser }

// Plain makes the bodies of all requests of a client plain; nil is the SDK's default one. It is no middleware, because
// the library has a shorter way for clients without.
func Plain(next dynamodb.HTTPClient) dynamodb.HTTPClient {
	if next == nil {
		next = awshttp.NewBuildableClient()
	}
	return plain{next}
}

type plain struct{ next dynamodb.HTTPClient }

func (p plain) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body = plainBody{r.Body}
	}
	return p.next.Do(r)
}
