package engines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// process is a running engine.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
}

// run starts a command that ends with this program, however that ends.
func run(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p, p
	endWithParent(cmd)
	started := make(chan error)
	go func() {
		// The signal to the child comes when the thread that started it ends,
		// so that thread stays with this goroutine.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(p.ended)
	}()
	return p, <-started
}

// Write keeps the beginning of the output, for messages.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out.Len() < 1<<16 {
		p.out.Write(b)
	}
	return len(b), nil
}

func (p *process) output() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return tail(p.out.Bytes())
}

// ready waits until what runs answers at an endpoint.
func (p *process) ready(ctx context.Context, endpoint string, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no answer from %s: %w", endpoint, err)
		case <-p.done():
			return errors.New("it ended right away")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// done is closed when the process has ended; nil for an engine of another program.
func (p *process) done() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.ended
}

func (p *process) stop() {
	stopCommand(p.cmd)
	<-p.ended
}
