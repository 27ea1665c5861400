package migrate_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/engines"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/migrate"
)

// programVariable has what a program of the application is, of those that a test starts, and kills.
const programVariable = "ITEMIZE_TEST_PROGRAM"

func TestMain(m *testing.M) {
	var p program
	if text := os.Getenv(programVariable); text != "" {
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			panic(err)
		}
		p.main()
		return
	}
	testengine.Run(m)
}

// program is one of an application: a writer of that name, or a reader where it is "". It runs until its input ends.
type program struct {
	Endpoint, Lock, Source, Target, Name string
	Entities                             int
	Seed                                 uint64
}

func (p *program) main() {
	ctx := context.Background()
	client := (&engines.Engine{Endpoint: p.Endpoint}).Client()
	l, err := migrate.ReadLayout(p.Lock, "Package")
	if err != nil {
		panic(err)
	}
	g, err := migrate.Open(ctx, client, l, p.Source, migrate.Tables(func(string) string { return p.Target }))
	if err != nil {
		panic(err)
	}
	m, err := mapper.New[Package](client, mapper.Table(p.Target))
	if err != nil {
		panic(err)
	}
	over := make(chan bool)
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		close(over)
	}()
	w, last := migrate.Wrap(m, g), map[string]int{}
	for r := rand.New(rand.NewPCG(p.Seed, 0)); ; {
		select {
		case <-over:
			return
		default:
		}
		name := fmt.Sprint("p", r.IntN(p.Entities))
		if p.Name == "" {
			p.read(ctx, w, m, name, last)
		} else {
			p.write(ctx, w, m, name, last)
		}
	}
}

// write increments the program's own tag of an entity, and records when the write was acknowledged.
func (p *program) write(ctx context.Context, w *migrate.Wrapped[Package], m *mapper.Mapper[Package], name string,
	last map[string]int,
) {
	next := 0
	_, err := w.Update(ctx, m.Key(name), func(v *Package) error {
		got, _ := strconv.Atoi(v.Tags[p.Name])
		if want, found := last[name]; found && got != want {
			fmt.Printf("bad: %s of %s is %d, and %d was acknowledged\n", p.Name, name, got, want)
		}
		next = got + 1
		v.Tags[p.Name] = strconv.Itoa(next)
		if next%3 == 0 {
			v.Events = append(v.Events,
				Event{time.Unix(int64(2e9+next), int64(len(name)*1000+int(p.Name[1]))).UTC(), p.Name})
		}
		return nil
	})
	switch {
	case err == nil:
		last[name] = next
		fmt.Println("did", name, next)
	case !passes(err):
		fmt.Println("bad:", err)
	default:
		fmt.Println("not", name) // a conflict, after which it may have been done by no one
	}
}

// read checks that an entity is complete, and that its values never go back.
func (p *program) read(ctx context.Context, w *migrate.Wrapped[Package], m *mapper.Mapper[Package], name string,
	last map[string]int,
) {
	e, err := w.Load(ctx, m.Key(name), mapper.Strong())
	if err != nil {
		if !passes(err) {
			fmt.Println("bad:", err)
		}
		return
	}
	for tag, value := range e.Value.Tags {
		n, _ := strconv.Atoi(value)
		if strings.HasPrefix(tag, "w") && n < last[name+tag] {
			fmt.Printf("bad: %s of %s went back from %d to %d\n", tag, name, last[name+tag], n)
		}
		last[name+tag] = n
	}
	if len(e.Value.Events) < 12 || e.Value.Description != "of "+name {
		fmt.Printf("bad: %s is torn: %+v\n", name, e.Value)
	}
	fmt.Println("read", name)
}

// passes reports whether an operation can be tried again.
func passes(err error) bool {
	var c *migrate.ConflictError
	var m *mapper.ConflictError
	return errors.As(err, &c) || errors.As(err, &m) || errors.Is(err, mapper.ErrNotFound) &&
		strings.Contains(err.Error(), "pending")
}

// application is the programs that a test has started.
type application struct {
	*testing.T
	mu    sync.Mutex
	did   map[string]int // the acknowledged values, by program and entity
	reads int
	wait  sync.WaitGroup
}

// start starts a program, and returns what kills it and what ends it.
func (a *application) start(p program) (kill, end func()) {
	a.Helper()
	binary, err := os.Executable()
	if err != nil {
		a.Fatal(err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		a.Fatal(err)
	}
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), programVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		a.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		a.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		a.Fatal(err)
	}
	a.wait.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			a.line(p.Name, lines.Text())
		}
		_ = cmd.Wait()
	})
	return func() { _ = cmd.Process.Kill() }, func() { _ = in.Close() }
}

func (a *application) line(program, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	what, rest, _ := strings.Cut(text, " ")
	name, n, _ := strings.Cut(rest, " ")
	switch what {
	case "did":
		a.did[program+" "+name], _ = strconv.Atoi(n)
	case "read":
		a.reads++
	case "bad:":
		a.Errorf("%s: %s", program, rest)
	}
}

// few reports whether the programs have done too little to mean anything.
func (a *application) few() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	sum := 0
	for _, n := range a.did {
		sum += n
	}
	return sum < 10 || a.reads < 10
}

// An application of several processes continues through Wrap while entities move in both directions,
// and some of its processes are killed (SIGKILL). No acknowledged write is lost, no reader sees an
// incomplete entity, and no value goes back.
func TestSeveralProcesses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	const entities, writers = 4, 3
	for i := range entities {
		s.put(document(fmt.Sprint("p", i), 12))
	}
	seed := draws.Seed(t)
	a := &application{T: t, did: map[string]int{}}
	program := func(name string, n uint64) program {
		return program{testengine.Start(t).Endpoint, s.lock, s.source, s.target, name, entities, seed + n}
	}
	var ends []func()
	var kill func()
	for i := range writers {
		k, end := a.start(program(fmt.Sprint("w", i), uint64(i)))
		kill, ends = k, append(ends, end)
	}
	_, end := a.start(program("", 99))
	ends = append(ends, end)
	rounds := 0
	for begun := time.Now(); time.Since(begun) < draws.For(time.Second, 4*time.Second, 2*time.Minute) ||
		rounds < 2 || a.few() && rounds < 200; rounds++ {
		if _, err := s.migration().Run(ctx); err != nil {
			t.Error(err)
		}
		kill() // the last writer, in the middle of something, and another takes its place
		k, end := a.start(program(fmt.Sprint("w", writers-1), uint64(100+rounds)))
		kill, ends = k, append(ends, end)
		if _, err := s.migration().Rollback(ctx); err != nil {
			t.Error(err)
		}
	}
	for _, end := range ends {
		end()
	}
	a.wait.Wait()
	if _, err := s.migration().Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	w, m := s.wrapped()
	sum := 0
	for i := range entities {
		name := fmt.Sprint("p", i)
		e, err := w.Load(ctx, m.Key(name))
		if err != nil {
			t.Fatal(err)
		}
		events := 12
		for k := range writers {
			tag := fmt.Sprint("w", k)
			n, _ := strconv.Atoi(e.Value.Tags[tag])
			events, sum = events+n/3, sum+n
			if did := a.did[tag+" "+name]; n < did || k < writers-1 && n != did {
				t.Errorf("%s of %s is %d, and %d was acknowledged", tag, name, n, did)
			}
		}
		if len(e.Value.Events) != events {
			t.Errorf("%s has %d events, and its writers have added up to %d", name, len(e.Value.Events), events)
		}
	}
	t.Logf("%d updates and %d reads by 4 processes, %d rounds there and back, with as many killed", sum, a.reads,
		rounds)
	if a.few() {
		t.Error("too few to mean anything")
	}
}
