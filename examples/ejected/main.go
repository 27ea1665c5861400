// Ejected is the tracker of examples/tracker without the library: on the code that itemize eject has written,
// and the SDK. It reads and writes the same items, and passes the same tests. It needs a table named tracker with
// the keys PK and SK.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

func main() {
	endpoint := flag.String("endpoint", "http://localhost:8000", "of DynamoDB")
	listen := flag.String("listen", "localhost:8080", "serve on this address")
	flag.Parse()
	client := dynamodb.New(dynamodb.Options{BaseEndpoint: endpoint, Region: "us-east-1"})
	fmt.Fprintln(os.Stderr, http.ListenAndServe(*listen, NewTracker(client, "tracker").Handler()))
}
