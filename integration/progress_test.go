package integration

import (
	"bytes"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A package client that takes long shows how far it is, and its error shows what it printed last.
func TestClientShowsProgress(t *testing.T) {
	var out bytes.Buffer
	c := &client{what: "building a thing", counts: cargoCounts, unit: "crates", every: 50 * time.Millisecond, to: &out}
	err := c.run(exec.Command("sh", "-c", `printf '    Building [====>    ] 3/10: a, b\r    Building [=====>   ] 4/10: c\r'; sleep 0.3; echo no such crate >&2; exit 3`))
	if err == nil || !strings.Contains(err.Error(), "sh: exit status 3") || !strings.Contains(err.Error(), "no such crate") {
		t.Error(err)
	}
	if !regexp.MustCompile(`(?m)^itemize: building a thing: 4 of 10 crates, \d+s$`).Match(out.Bytes()) {
		t.Errorf("%s", out.Bytes())
	}
}
