package engines

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"time"
)

// client runs a package client (mvn, cargo, go), and prints how far it is while it runs.
type client struct {
	// what names the work in progress lines: "building dynoxide 3.2.0".
	what string
	// counts matches the client's own progress, as two numbers: done, and of how many. nil for a client
	// that prints none.
	counts *regexp.Regexp
	unit   string

	every time.Duration
	to    io.Writer

	mu   sync.Mutex
	last string
	out  bytes.Buffer
}

// newClient returns a client that prints a line to stderr every 10 seconds.
func newClient(what string) *client {
	return &client{what: what, every: 10 * time.Second, to: os.Stderr}
}

// Write keeps the client's output, for its error, and its last progress.
func (c *client) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.Write(b)
	if c.out.Len() > 1<<16 {
		c.out.Next(c.out.Len() - 1<<15)
	}
	if c.counts != nil {
		if all := c.counts.FindAllSubmatch(b, -1); len(all) > 0 {
			m := all[len(all)-1]
			c.last = fmt.Sprintf("%s of %s %s, ", m[1], m[2], c.unit)
		}
	}
	return len(b), nil
}

// run runs the command. Its error holds the end of the command's output.
func (c *client) run(cmd *exec.Cmd) error {
	cmd.Stdout, cmd.Stderr = c, c
	begun := time.Now()
	ended := make(chan error, 1)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(c.every)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("%s: %w: %s", cmd.Args[0], err, tail(c.out.Bytes()))
			}
			return nil
		case <-tick.C:
			c.mu.Lock()
			fmt.Fprintf(c.to, "itemize: %s: %s%v\n", c.what, c.last, time.Since(begun).Round(time.Second))
			c.mu.Unlock()
		}
	}
}
