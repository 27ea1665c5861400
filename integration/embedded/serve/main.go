// The program serve runs the embedded engine as a process of its own. Package integration starts it
// where a machine has no other engine.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"

	"github.com/itemize/itemize/integration/embedded"
)

func main() {
	port := flag.Int("port", 8000, "the `port` to listen on, on the loopback interface")
	flag.Parse()
	if err := http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", *port), embedded.Handler()); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}
