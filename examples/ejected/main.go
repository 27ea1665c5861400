// Ejected serves the tracker of examples/tracker without the library. It passes the same tests. It needs a table named
// tracker with the keys PK and SK.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/examples/ejected/tracker"
	"github.com/itemize/itemize/examples/tracker/web"
)

func main() {
	endpoint := flag.String("endpoint", "http://localhost:8000", "of DynamoDB")
	listen := flag.String("listen", "localhost:8080", "serve on this address")
	flag.Parse()
	client := dynamodb.New(dynamodb.Options{BaseEndpoint: endpoint, Region: "us-east-1"})
	fmt.Fprintln(os.Stderr, http.ListenAndServe(*listen, web.Handler(tracker.New(client, "tracker"))))
}
