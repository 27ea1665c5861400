package engines

import (
	"context"
	"io"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// plainBody is a request's body that io.Copy can only read.
//
// The SDK closes a body as soon as it has the answer. At that moment net/http may still want to know
// that the body has ended. For that, WriteTo of smithy-go (v1.28.8, safeWriteToReadCloser) returns
// io.EOF. For net/http that is an error, so it closes the connection before the answer's body is read:
// "use of closed network connection". An engine on the same machine is fast enough for this. With Read the end
// is no error.
type plainBody struct{ io.ReadSeeker }

// plainBodies makes the bodies of all requests plain.
func plainBodies(stack *middleware.Stack) error {
	return stack.Build.Add(middleware.BuildMiddlewareFunc("itemize.plainBodies",
		func(ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler) (middleware.BuildOutput,
			middleware.Metadata, error,
		) {
			if r, ok := in.Request.(*smithyhttp.Request); ok {
				if body, ok := r.GetStream().(io.ReadSeeker); ok {
					plain, err := r.SetStream(plainBody{body})
					if err != nil {
						return middleware.BuildOutput{}, middleware.Metadata{}, err
					}
					in.Request = plain
				}
			}
			return next.HandleBuild(ctx, in)
		}), middleware.After)
}
