package engines

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A package client that takes long shows how far it is, and its error shows what it printed last.
func TestClientShowsProgress(t *testing.T) {
	if os.Getenv("ITEMIZE_TEST_CLIENT") != "" { // the client: this test in a process of its own
		fmt.Print("    Building [====>    ] 3/10: a, b\r    Building [=====>   ] 4/10: c\r")
		time.Sleep(300 * time.Millisecond)
		fmt.Fprintln(os.Stderr, "no such crate")
		os.Exit(3)
	}
	var out bytes.Buffer
	c := &client{what: "building a thing", counts: cargoCounts, unit: "crates", every: 50 * time.Millisecond, to: &out}
	cmd := exec.Command(os.Args[0], "-test.run=^TestClientShowsProgress$")
	cmd.Env = append(os.Environ(), "ITEMIZE_TEST_CLIENT=1")
	err := c.run(cmd)
	if err == nil || !strings.Contains(err.Error(), "exit status 3") ||
		!strings.Contains(err.Error(), "no such crate") {
		t.Error(err)
	}
	if !regexp.MustCompile(`(?m)^itemize: building a thing: 4 of 10 crates, \d+s$`).Match(out.Bytes()) {
		t.Errorf("%s", out.Bytes())
	}
}
