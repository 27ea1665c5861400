package engines

import (
	"context"
	"io"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// plainBody is a request's body that io.Copy can only read.
//
// The SDK closes a body as soon as it has the answer, and net/http may at that moment still want to
// learn that nothing follows. What smithy-go (v1.28.8, safeWriteToReadCloser) says then by WriteTo is
// io.EOF, an error to net/http, which closes the connection before the answer's body is read: "use of
// closed network connection". An engine on the same machine answers fast enough for it. By Read the end
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
