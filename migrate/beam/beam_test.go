package beam

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/migrate"
)

// jobVariable has the job of a process that the tests start, and kill.
const jobVariable = "ITEMIZE_TEST_JOB"

func TestMain(m *testing.M) {
	sdk.Init()
	var j Job
	if text := os.Getenv(jobVariable); text != "" {
		err := json.Unmarshal([]byte(text), &j)
		if err == nil {
			err = run(j, nil)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	testengine.Run(m)
}

// run runs a job on the local runner: on all segments once, or on those given.
func run(j Job, segments []int) error {
	p, s := sdk.NewPipelineWithRoot()
	if segments != nil {
		move(s, j, segments)
	} else if _, err := Move(s, j); err != nil {
		return err
	}
	_, err := sdk.Run(context.Background(), "prism", p)
	return err
}

// Shop is the model of the monoliths.
type Shop struct {
	_      struct{} `ddb:"table=shops"`
	Name   string   `ddb:"pk=SHOP#{Name}" dynamodbav:"name"`
	City   string   `ddb:"sk=HEAD"`
	Visits []Visit  `ddb:"sk=VISIT#{At}" dynamodbav:"visits"`
}

// Visit is a visit.
type Visit struct {
	At  time.Time
	Who string
}

type attributes = map[string]types.AttributeValue

type setup struct {
	*testing.T
	client *dynamodb.Client
	job    Job
	docs   map[string]attributes
}

func newSetup(t *testing.T, n int) *setup {
	t.Helper()
	engine := testengine.Start(t)
	client := engine.Client()
	as, err := client.Options().Credentials.Retrieve(context.Background()) // tables belong to who made them
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", as.AccessKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", as.SecretAccessKey)
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", engine.Endpoint)
	e, err := schema.Of(reflect.TypeFor[Shop]())
	if err != nil {
		t.Fatal(err)
	}
	lock, err := json.Marshal(map[string]any{"version": 1, "models": []schema.Layout{e.Layout()}})
	if err != nil {
		t.Fatal(err)
	}
	source, target := testengine.Table(t, "name:S", ""), testengine.Table(t, "PK:S", "SK:S")
	s := &setup{t, client, Job{
		Lock: lock, Model: "Shop", Source: source, Tables: map[string]string{"shops": target},
		Segments: 5,
	}, map[string]attributes{}}
	for i := range n {
		v := Shop{Name: fmt.Sprint("s", i), City: "Wien"}
		for k := range i % 30 {
			v.Visits = append(v.Visits, Visit{time.Unix(int64(1e9+k), 0).UTC(), "x"})
		}
		doc, err := attributevalue.MarshalMap(v)
		if err != nil {
			t.Fatal(err)
		}
		s.docs[v.Name] = doc
		if _, err := client.PutItem(context.Background(),
			&dynamodb.PutItemInput{TableName: &source, Item: doc}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// migration returns the migration of the command.
func (s *setup) migration() *migrate.Migration {
	s.Helper()
	l, err := migrate.ParseLayout(s.job.Lock, s.job.Model)
	if err != nil {
		s.Fatal(err)
	}
	m, err := migrate.Open(context.Background(), s.client, l, s.job.Source, migrate.Segments(s.job.Segments),
		migrate.Tables(func(name string) string { return s.job.Tables[name] }))
	if err != nil {
		s.Fatal(err)
	}
	return m
}

// stored returns the items in the model's table, without the random values of each move.
func (s *setup) stored() map[string]attributes {
	s.Helper()
	out := map[string]attributes{}
	table := s.job.Tables["shops"]
	p := dynamodb.NewScanPaginator(s.client, &dynamodb.ScanInput{TableName: &table})
	for p.HasMorePages() {
		page, err := p.NextPage(context.Background())
		if err != nil {
			s.Fatal(err)
		}
		for _, a := range page.Items {
			pk, sk := a["PK"].(*types.AttributeValueMemberS).Value, a["SK"].(*types.AttributeValueMemberS).Value
			for _, name := range []string{"_a", "_v", "_s", "_m"} {
				delete(a, name)
			}
			if !strings.HasPrefix(pk, "~") {
				out[pk+" "+sk] = a
			}
		}
	}
	return out
}

// moved requires that all has moved: as the command moves it, and so that it comes back as it was.
func (s *setup) moved() {
	s.Helper()
	ctx := context.Background()
	if v, err := s.migration().Verify(ctx); err != nil || !v.Clean() || v.Same != len(s.docs) {
		s.Fatalf("%+v, %v", v, err)
	}
	byPipeline := s.stored()
	if _, err := s.migration().Rollback(ctx); err != nil {
		s.Fatal(err)
	}
	p := dynamodb.NewScanPaginator(s.client, &dynamodb.ScanInput{TableName: &s.job.Source})
	n := 0
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			s.Fatal(err)
		}
		for _, a := range page.Items {
			n++
			delete(a, "_v")
			if want := s.docs[a["name"].(*types.AttributeValueMemberS).Value]; !attr.SameItem(a, want) {
				s.Errorf("%v has come back, and was %v", a, want)
			}
		}
	}
	if n != len(s.docs) || len(s.stored()) != 0 {
		s.Errorf("%d monoliths of %d, and %d items are left", n, len(s.docs), len(s.stored()))
	}
	if _, err := s.migration().Run(ctx); err != nil {
		s.Fatal(err)
	}
	byCommand := s.stored()
	for k, a := range byCommand {
		if !attr.SameItem(a, byPipeline[k]) {
			s.Errorf("%s is %v by the command, and %v by the pipeline", k, a, byPipeline[k])
		}
	}
	if len(byCommand) != len(byPipeline) {
		s.Errorf("%d items by the command, and %d by the pipeline", len(byCommand), len(byPipeline))
	}
}

// A pipeline ends as the command does.
func TestPipeline(t *testing.T) {
	s := newSetup(t, 60)
	if err := run(s.job, nil); err != nil {
		t.Fatal(err)
	}
	s.moved()
}

// Each bundle is run twice, at once: it does no harm.
func TestBundlesTwice(t *testing.T) {
	s := newSetup(t, 60)
	if err := run(s.job, []int{0, 1, 2, 3, 4, 4, 3, 2, 1, 0}); err != nil {
		t.Fatal(err)
	}
	s.moved()
}

// The process is killed (SIGKILL) each time it has written some 600 items, and the pipeline started
// again: it continues from its last position.
func TestKilled(t *testing.T) {
	s := newSetup(t, 150)
	text, err := json.Marshal(s.job)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	killed := 0
	for ended := false; !ended; {
		cmd := exec.Command(binary)
		cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		exited := make(chan error, 1)
		go func() { exited <- cmd.Wait() }()
		was, dead := len(s.stored()), false
		for waiting := true; waiting; {
			select {
			case err := <-exited:
				if waiting, ended = false, err == nil; err != nil && !dead {
					t.Fatalf("%v: %s", err, out.String())
				}
			case <-time.After(5 * time.Millisecond):
				if !dead && len(s.stored()) > was+600 {
					dead = true
					killed++
					_ = cmd.Process.Kill()
				}
			}
		}
	}
	if killed == 0 {
		t.Error("it was never killed")
	}
	t.Logf("killed %d times", killed)
	s.moved()
}

// A job that cannot be done is refused before anything runs; what only a worker finds fails the
// pipeline with its reason.
func TestRefused(t *testing.T) {
	s := newSetup(t, 1)
	for want, change := range map[string]func(*Job){
		"no model Other: the models are Shop": func(j *Job) { j.Model = "Other" },
		"at least one segment":                func(j *Job) { j.Segments = 0 },
		"the lock file cannot be read":        func(j *Job) { j.Lock = nil },
		"a job needs a source":                func(j *Job) { j.Source = "" },
		"missing table not-there":             func(j *Job) { j.Source = "not-there" },
	} {
		j := s.job
		change(&j)
		if err := run(j, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v is not %q", err, want)
		}
	}
}
