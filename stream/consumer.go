package stream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/mapper"
)

// Client is the client of DynamoDB: it reads and writes leases, and describes the table. *dynamodb.Client is one.
type Client interface {
	mapper.Client
	DescribeTable(context.Context, *dynamodb.DescribeTableInput,
		...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput,
		error)
}

// Streams is the client of change streams. *dynamodbstreams.Client is one.
type Streams interface {
	ListStreams(context.Context, *dynamodbstreams.ListStreamsInput,
		...func(*dynamodbstreams.Options)) (*dynamodbstreams.ListStreamsOutput, error)
	DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput,
		...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error)
	GetShardIterator(context.Context, *dynamodbstreams.GetShardIteratorInput,
		...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error)
	GetRecords(context.Context, *dynamodbstreams.GetRecordsInput,
		...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error)
}

// Consumer reads the stream of a table in a service, together with the other workers of its group.
type Consumer struct {
	streams  Streams
	client   Client
	table    string
	router   *Router
	settings settings
	store    *store
	limiter  *request.Limiter
	handlers chan struct{} // a slot for each call of a handler
	batches  chan struct{} // a slot for each answer in memory
	deleted  deletions
	running  atomic.Bool

	stats stats
}

type settings struct {
	leases, group      string
	from               time.Time
	interval, failover time.Duration
	discover           time.Duration
	poll               time.Duration
	grace              time.Duration
	rate               request.Rate
	parallel, memory   int
	attempts           int
	timeout            time.Duration
	least, most        time.Duration
	values, snapshot   bool
	letters            func(context.Context, *Letter) error
	own                bool // letters was set
	failed             func(error)
	mapping            []mapper.Option
}

// ConsumerOption is an option of NewConsumer.
type ConsumerOption func(*settings)

// Leases names the table of leases, with the keys PK and SK. The default is "stream-leases". LeaseTable returns the
// request that creates it. It cannot be the table of the stream: each lease would be a record.
func Leases(table string) ConsumerOption { return func(s *settings) { s.leases = table } }

// Group names the consumer group. The default is "default". Workers of a group share the shards, and each group gets
// all records. A stream has at most two groups.
func Group(name string) ConsumerOption { return func(s *settings) { s.group = name } }

// From starts a new group at a time: older records are read, but not handled. Records have full seconds, so that the
// first ones can be up to a second older. The default is the beginning of the stream, which keeps 24 hours. A group
// that has a position continues there.
func From(t time.Time) ConsumerOption { return func(s *settings) { s.from = t } }

// Interval is the time between two beats of a worker, each of which costs 1 WCU, and between two reads of the leases.
// Checkpoints are saved as often, for shards with progress. The default is 5 seconds.
func Interval(d time.Duration) ConsumerOption { return func(s *settings) { s.interval = d } }

// Failover is how long a worker watches the counter of another one that does not grow, before it takes the leases of
// that one. The default is six intervals.
func Failover(d time.Duration) ConsumerOption { return func(s *settings) { s.failover = d } }

// Discover is the time between two listings of the shards. They are listed at the end of each shard, too. The default
// is a minute.
func Discover(d time.Duration) ConsumerOption { return func(s *settings) { s.discover = d } }

// Poll is the time between two reads of a shard without new records. The default is a second.
func Poll(d time.Duration) ConsumerOption { return func(s *settings) { s.poll = d } }

// RequestRate limits the reads of all shards of this worker, in GetRecords requests per second.
func RequestRate(requests float64) ConsumerOption {
	return func(s *settings) { s.rate = request.RateOf(requests) }
}

// Handlers is the number of handlers that run at the same time, for different partition keys. The default is 16.
func Handlers(n int) ConsumerOption { return func(s *settings) { s.parallel = n } }

// Batches is the number of answers of the stream in memory, each of up to 1 MB before it is decoded. The default is 32.
func Batches(n int) ConsumerOption { return func(s *settings) { s.memory = n } }

// Attempts is how often a handler is called for a record, until it is a dead letter, with pauses that double from least
// to most. The defaults are 10 attempts, 100 milliseconds and 30 seconds: about 50 seconds in all. The shard waits in
// the meantime. If the destination of your handlers can be down for longer, use more attempts.
func Attempts(n int, least, most time.Duration) ConsumerOption {
	return func(s *settings) { s.attempts, s.least, s.most = n, least, most }
}

// Timeout is how long a call of a handler may take, until its context ends. A handler that obeys its context fails
// then, and is called again. The default is no limit: calls of more than a minute are reported (*SlowError).
func Timeout(d time.Duration) ConsumerOption { return func(s *settings) { s.timeout = d } }

// Grace is how long running handlers may take after Run's context has ended. Then their own context ends. The default
// is 30 seconds.
func Grace(d time.Duration) ConsumerOption { return func(s *settings) { s.grace = d } }

// DeadLetters passes dead letters to a function, instead of the table of leases. The shard waits until it succeeds.
func DeadLetters(f func(context.Context, *Letter) error) ConsumerOption {
	return func(s *settings) { s.letters, s.own = f, true }
}

// KeepValues stores the images of dead letters and the texts of errors, which can have values of attributes. Without
// images a letter can be handled again as long as the stream has its record: 24 hours.
func KeepValues() ConsumerOption { return func(s *settings) { s.values = true } }

// WithSnapshot shows a new group all entities of its models first: a worker scans the tables, and calls the handlers
// with a Change that is Created. Whole and New are the entity. Then the records since the beginning of the scan
// are handled. They repeat changes that the scan has shown. The scan must end within 24 hours. If its worker dies,
// another one begins it again.
func WithSnapshot() ConsumerOption { return func(s *settings) { s.snapshot = true } }

// OnError sets the function that is called for errors that a consumer survives: failed requests, records that were
// trimmed before they were read (*TrimmedError), and dead letters (*DeadLetterError). The default logs them with
// package slog.
func OnError(f func(error)) ConsumerOption { return func(s *settings) { s.failed = f } }

// MapperOptions passes options to the mappers of the leases, such as mapper.Observe.
func MapperOptions(options ...mapper.Option) ConsumerOption {
	return func(s *settings) { s.mapping = append(s.mapping, options...) }
}

var validName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,255}$`)

// NewConsumer returns a consumer of the stream of a table, which calls the handlers of a router. It sends nothing.
func NewConsumer(client Client, streams Streams, table string, r *Router, options ...ConsumerOption) (*Consumer,
	error,
) {
	c, err := newConsumer(client, streams, table, r, options)
	if err != nil {
		return nil, model.Usage(fmt.Errorf("stream.NewConsumer: %w", err))
	}
	return c, nil
}

func newConsumer(client Client, streams Streams, table string, r *Router, options []ConsumerOption) (*Consumer, error) {
	s := settings{
		leases: "stream-leases", group: "default", interval: 5 * time.Second, discover: time.Minute, poll: time.Second,
		grace: 30 * time.Second, parallel: 16, memory: 32, attempts: 10, least: 100 * time.Millisecond,
		most:   30 * time.Second,
		failed: func(err error) { slog.Warn("change stream", "err", err) },
	}
	for _, o := range options {
		if o != nil {
			o(&s)
		}
	}
	if s.failover == 0 {
		s.failover = 6 * s.interval
	}
	if err := s.check(client, streams, table, r); err != nil {
		return nil, err
	}
	c := &Consumer{
		streams: explaining{streams}, client: client, table: table, router: r, settings: s, limiter: s.rate.Limiter(1),
	}
	c.handlers, c.batches = make(chan struct{}, s.parallel), make(chan struct{}, s.memory)
	var err error
	c.store, err = newStore(client, s.leases, table+"/"+s.group, s.mapping)
	return c, err
}

func (s *settings) check(client Client, streams Streams, table string, r *Router) error {
	for _, o := range []struct {
		name  string
		value int64
		shown any
	}{
		{"Handlers", int64(s.parallel), s.parallel},
		{"Batches", int64(s.memory), s.memory},
		{"Attempts", int64(s.attempts), s.attempts},
		{"Attempts", int64(s.least), s.least},
	} {
		if o.value <= 0 {
			return fmt.Errorf("%s(%v): pass more than 0, or leave out the option for its default", o.name, o.shown)
		}
	}
	for _, o := range []struct {
		name  string
		value time.Duration
	}{
		{"Interval", s.interval},
		{"Failover", s.failover},
		{"Discover", s.discover},
		{"Poll", s.poll},
		{"Timeout", s.timeout},
		{"Grace", s.grace},
		{"Attempts", s.most},
	} {
		if o.value > longestOption {
			return fmt.Errorf("%s(%v): pass a year at most", o.name, o.value.String())
		}
		checked := o.name == "Grace" || o.name == "Attempts" // below
		none := o.name == "Timeout" && o.value == 0
		if o.value < time.Millisecond && !checked && !none {
			return fmt.Errorf("%s(%v): pass a millisecond or more, such as 5*time.Second", o.name, o.value.String())
		}
	}
	switch {
	case client == nil:
		return errors.New("the client is nil: pass dynamodb.NewFromConfig(cfg)")
	case streams == nil:
		return errors.New("the client of streams is nil: pass dynamodbstreams.NewFromConfig(cfg)")
	case r == nil:
		return errors.New("the router is nil: make it with stream.NewRouter")
	case !validName.MatchString(table):
		return fmt.Errorf("table %q: pass the name of a table, which is no ARN", table)
	case !validName.MatchString(s.group):
		return fmt.Errorf("group %q: use up to 255 letters, digits, '_', '.' and '-'", s.group)
	case !validName.MatchString(s.leases):
		return fmt.Errorf("Leases(%q): pass the name of a table", s.leases)
	case s.leases == table:
		return errors.New("the table of leases is that of the stream, so that each checkpoint would be a record: " +
			"pass another one with stream.Leases")
	case s.failover < 2*s.interval:
		return errors.New("Failover is less than two intervals, so that a slow worker would lose its leases: make " +
			"it longer")
	case s.grace < 0:
		return fmt.Errorf("Grace(%v): pass 0 or more", s.grace)
	case s.most < s.least:
		return errors.New("the longest pause of Attempts is less than the shortest: exchange them")
	case s.snapshot && !s.from.IsZero():
		return errors.New("From and WithSnapshot: a snapshot begins at its own time: leave out From")
	case time.Until(s.from) > margin:
		return errors.New(
			"From is in the future, so that earlier changes would not be handled: pass a time that has passed",
		)
	case s.own && s.letters == nil:
		return errors.New("the function of DeadLetters is nil: leave out the option for the table of leases")
	case s.failed == nil:
		return errors.New("the function of OnError is nil: leave out the option for its default")
	case s.rate.Check() != nil:
		return errors.New("RequestRate: pass 0.001 requests per second or more, or leave it out")
	}
	return r.check(&Record{Table: table})
}

// longestOption is the longest time of an option: calculations with it do not overflow.
const longestOption = 366 * 24 * time.Hour

// Specification returns the setting of a table with the stream that handlers need: for CreateTable, or UpdateTable.
func Specification() *types.StreamSpecification {
	return &types.StreamSpecification{
		StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages,
	}
}

// LeaseTable returns the request that creates a table of leases, with on-demand capacity.
func LeaseTable(name string) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest}
	for _, k := range []struct {
		name string
		role types.KeyType
	}{{"PK", types.KeyTypeHash}, {"SK", types.KeyTypeRange}} {
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: &k.name, KeyType: k.role})
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{
			AttributeName: &k.name, AttributeType: types.ScalarAttributeTypeS,
		})
	}
	return in
}

// DeleteGroup deletes the leases of a consumer group, so that it begins again, or another group can read the stream.
// It refuses while a worker is running. If a worker has died, it waits for the failover time. If it fails, call it
// again: until then no worker of the group can begin. Dead letters stay. leases is the table of leases, table that of
// the stream.
func DeleteGroup(ctx context.Context, client mapper.Client, leases, table, groupName string) error {
	s, _, err := groupOf(ctx, client, leases, table, groupName)
	if err == nil {
		err = s.quiet(ctx, table, groupName)
	}
	if err == nil {
		err = ofLeases(leases, s.delete(ctx, table, groupName))
	}
	return err
}

// ofLeases names the table of leases in an error.
func ofLeases(table string, err error) error {
	var refused smithy.APIError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &refused) || refused.ErrorCode() != "ResourceNotFoundException" &&
		refused.ErrorCode() != "ValidationException":
		return fmt.Errorf("stream: the table of leases %s: %w", table, err)
	}
	// The cure of the mapper is for its models, which the user does not have: it is left out.
	return fmt.Errorf("stream: the table of leases %s: it needs the keys PK and SK of the type S: create it with "+
		"stream.LeaseTable, or name another one (stream.Leases): %w", table, error(refused))
}

// margin is subtracted from the time at which a snapshot begins: clocks differ.
const margin = 5 * time.Minute

// Run reads the stream until the context ends. Then it lets running handlers return, saves how far it came, gives its
// leases to the other workers, and returns nil. An error means that it could not begin: the table has no stream, the
// stream lacks images or may not be read, or two other groups read it. Or the group was deleted. If the service does
// not answer, it reports that, and waits.
func (c *Consumer) Run(ctx context.Context) error {
	if ctx == nil {
		return errors.New("Consumer.Run: the context is nil: pass context.Background(), or one that ends with the " +
			"program")
	}
	if !c.running.CompareAndSwap(false, true) {
		return errors.New("Consumer.Run: it is running: make another consumer with stream.NewConsumer")
	}
	defer c.running.Store(false)
	c.router.used.Store(true)
	c.stats.runs(true)
	defer c.stats.runs(false)
	g, err := c.enter(ctx)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	if c.settings.snapshot && !g.Value.Snapshot {
		c.report(errors.New("it exists without a snapshot, so that WithSnapshot has no effect: use " +
			"a new group, or delete it with stream.DeleteGroup"))
	}
	for _, name := range c.router.models(c.table) {
		if c.settings.snapshot && g.Value.Snapshot && !slices.Contains(g.Value.Models, name) {
			c.report(fmt.Errorf("its snapshot did not show the keys %s: make a new group, or call "+
				"stream.DeleteGroup", name))
		}
	}
	w := &work{
		c: c, id: rand.Text(), of: g, from: g.Value.From, snapshot: g.Value.Snapshot, watched: map[string]watched{},
		short: g.Value.short(), values: context.WithoutCancel(ctx),
		over: make(chan error, 1), trouble: map[string]time.Time{},
		held: map[string]*reader{}, ended: make(chan *reader), discovered: make(chan discovery),
		hurry: make(chan struct{}, 1), refused: map[string]time.Time{},
	}
	return w.run(ctx)
}

// enter returns the group of a new worker. It tries again after errors that pass by themselves.
func (c *Consumer) enter(ctx context.Context) (*mapper.Entity[group], error) {
	for pause := c.settings.pause(); ; pause = min(2*pause+time.Millisecond, c.settings.longest()) {
		g, err := c.tryToEnter(ctx)
		if err == nil || ctx.Err() != nil || !passing(err) {
			return g, err
		}
		c.report(fmt.Errorf("begin: %w", err))
		sleep(ctx, jitter(pause))
	}
}

func (c *Consumer) tryToEnter(ctx context.Context) (*mapper.Entity[group], error) {
	arn, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	first := group{From: c.settings.from, Snapshot: c.settings.snapshot, Streams: []string{arn}}
	if first.Snapshot {
		first.From, first.Models = time.Now().Add(-margin), c.router.models(c.table)
	}
	ctx, cancel := context.WithTimeout(ctx, c.settings.failover)
	defer cancel()
	g, err := c.store.join(ctx, c.table, c.settings.group, first)
	if errors.As(err, new(*TooManyGroupsError)) || errors.As(err, new(*deletedError)) {
		return nil, err
	}
	return g, ofLeases(c.settings.leases, err)
}

// begin returns the ARN of the stream, or an error if the program, the table or permissions have to be changed before
// the stream can be read. Other errors of the stream are those of one moment: the worker survives them.
func (c *Consumer) begin(ctx context.Context) (string, error) {
	limited, cancel := context.WithTimeout(ctx, c.settings.failover)
	arn, err := c.streamARN(limited)
	cancel()
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, c.settings.failover)
		defer cancel()
		in := &dynamodbstreams.DescribeStreamInput{StreamArn: &arn, Limit: aws.Int32(1)}
		_, err = c.streams.DescribeStream(ctx, in)
		if !errors.As(err, new(*setupError)) {
			return arn, nil
		}
	}
	if errors.As(err, new(*ViewError)) {
		return "", err
	}
	return "", fmt.Errorf("stream of the table %s: %w", c.table, err)
}

// streamARN returns the ARN of the table's stream.
func (c *Consumer) streamARN(ctx context.Context) (string, error) {
	d, err := c.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &c.table})
	switch {
	case errors.As(err, new(*types.ResourceNotFoundException)):
		return "", fmt.Errorf("it does not exist in this account and Region: check the name: %w", err)
	case err != nil:
		return "", explained(err)
	case d.Table == nil || aws.ToString(d.Table.LatestStreamArn) == "" ||
		d.Table.StreamSpecification != nil && !aws.ToBool(d.Table.StreamSpecification.StreamEnabled):
		return "", errors.New("it has none: enable it with NEW_AND_OLD_IMAGES (itemize tables -stream)")
	case d.Table.StreamSpecification != nil:
		rec := Record{Table: c.table, View: string(d.Table.StreamSpecification.StreamViewType)}
		if err := rec.check(); err != nil {
			return "", err
		}
	}
	return aws.ToString(d.Table.LatestStreamArn), nil
}

// work is one call of Run. Its goroutine alone changes held, watched and last.
type work struct {
	c      *Consumer
	id     string
	of     *mapper.Entity[group] // that of the goroutine that lists shards
	short  string                // of the group's ID
	values context.Context       // has the values of Run's, and does not end
	over   chan error
	// replacement is the report of a replaced stream, until this worker has added the new one; of the same goroutine.
	// unsure means that the answer to a transaction that adds it was lost.
	replacement error
	unsure      bool
	trouble     map[string]time.Time // when requests for former streams began to fail; of the same goroutine
	from        time.Time
	snapshot    bool
	watched     map[string]watched
	last        *discovery // nil before the first
	finished    time.Time  // when a reader has found the end of its shard
	ended       chan *reader
	discovered  chan discovery
	hurry       chan struct{}
	group       sync.WaitGroup
	stopping    atomic.Bool
	coordinated atomic.Int64 // when the leases and the workers were read, in Unix nanoseconds, 0 for never
	unlisted    atomic.Bool  // for want of a listing it cannot read some shards that others can
	stuck       atomic.Bool  // it leaves all shards to other workers until they have those that it could not give up
	unread      time.Time    // since when it has owned leases that it does not read, the zero time for none
	untaken     time.Time    // when its takes began to fail
	untakenLast time.Time    // when the last one failed, the zero time for none
	// left is until when it reads nothing, because it could read none of its shards. unable is until when it has no
	// share, because its takes have failed. refused is the same for single shards that it could not read.
	left, unable time.Time
	refused      map[string]time.Time

	mu   sync.Mutex // of the last three, and of the next three
	held map[string]*reader
	// beaten is when the last beat that succeeded, and did not say that the worker is away, had begun.
	beaten time.Time
	// fences grows while the worker is late, and after it was.
	fences int
}

// watched is the counter of another worker, -1 for none, and when this worker has seen it change.
type watched struct {
	beat  int64
	at    time.Time
	reads bool // it lives, or has lived since this worker began, and can read
}

func (w *work) run(ctx context.Context) error {
	s := &w.c.settings
	background, cancel := context.WithCancel(ctx)
	beating, still := context.WithCancel(context.WithoutCancel(ctx))
	defer w.group.Wait()
	defer still()
	defer cancel()
	w.group.Go(func() { w.beat(beating) })
	w.group.Go(func() { w.fencing(beating) })
	w.group.Go(func() { w.discovering(background) })
	tick := time.NewTicker(s.interval)
	defer tick.Stop()
	var soon <-chan time.Time // of a coordination before the next tick
	for {
		select {
		case <-ctx.Done():
			w.stop()
			still()
			return nil
		case err := <-w.over:
			cancel()
			w.stop()
			still()
			return err
		case r := <-w.ended:
			if r.outcome == finished && r.shard != driveShard {
				w.finished = time.Now()
				w.c.stats.unsure() // before the shard is forgotten, so that Behind is not 0 in between
				w.listSoon()
			}
			w.forget(r)
			if soon == nil {
				soon = time.After(s.interval / 10)
			}
		case d := <-w.discovered:
			w.last, soon = &d, nil
			w.safely(ctx, w.coordinate)
		case <-soon:
			soon = nil
			w.safely(ctx, w.coordinate)
		case <-tick.C:
			w.safely(ctx, w.coordinate)
		}
	}
}

// safely calls a step whose requests call an observer of the user (MapperOptions), which can panic.
func (w *work) safely(ctx context.Context, step func(context.Context)) {
	w.report(guarded(func() error { step(ctx); return nil }))
}

// forget removes a reader that has ended.
func (w *work) forget(r *reader) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.held, r.shard)
	w.c.stats.release(r.shard, r.outcome == finished || r.shard == driveShard)
}

// listSoon begins a listing of shards.
func (w *work) listSoon() {
	select {
	case w.hurry <- struct{}{}:
	default:
	}
}

// report reports an error that the consumer survives.
func (w *work) report(err error) { w.c.report(err) }

func (c *Consumer) report(err error) {
	if err != nil {
		err = c.named(err)
		c.stats.failed()
		if panicked := guarded(func() error { c.settings.failed(err); return nil }); panicked != nil {
			slog.Error("change stream: the function of OnError failed", "err", err, "failure", panicked)
		}
	}
}

// reportIn is report for an error of a request, which may have failed because its context has ended.
func (w *work) reportIn(ctx context.Context, err error) {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		w.report(err)
	}
}

// beat increments the counter of this worker, until its last reader has ended. Then it deletes the counter.
func (w *work) beat(ctx context.Context) {
	s := &w.c.settings
	var own *mapper.Entity[worker]
	for {
		begun := time.Now()
		w.safely(ctx, func(ctx context.Context) { own = w.beatOnce(ctx, own, begun) })
		if !sleep(ctx, max(s.interval-time.Since(begun), s.interval/2)) {
			break
		}
	}
	w.safely(context.WithoutCancel(ctx), w.vanish)
}

// beatOnce increments the counter own, nil for a new one, and returns it. While the worker is away, the counter says
// so.
func (w *work) beatOnce(ctx context.Context, own *mapper.Entity[worker], begun time.Time) *mapper.Entity[worker] {
	s, st := &w.c.settings, w.c.store
	limited, cancel := context.WithTimeout(ctx, s.failover/3) // so that one without an answer is no silence
	defer cancel()
	if own == nil {
		// It begins with another number than one that was deleted had.
		own = st.workers.New(worker{
			Name: st.name, ID: w.id, Beat: begun.UnixMilli(), Failover: s.failover.Milliseconds(),
		})
	}
	own.Value.Beat++
	own.Value.Failing = w.isUnable(begun) || w.failing(s.failover)
	own.Value.Passive = w.isPassive(begun)
	away := w.isAway(begun)
	switch {
	case !away:
		own.Value.Away = 0
	case own.Value.Away == 0:
		own.Value.Away = own.Value.Beat
	}
	_, err := st.workers.Save(limited, own)
	switch {
	case err == nil && away: // others take its leases
	case err == nil:
		w.hasBeaten(begun)
	case raced(err): // another worker has deleted it, or an answer was lost
		own, _ = st.workers.Load(limited, st.workers.Key(st.name, w.id), mapper.Strong())
	default:
		w.reportIn(ctx, fmt.Errorf("beat: %w", err))
	}
	return own
}

// vanish deletes the counter of this worker.
func (w *work) vanish(ctx context.Context) {
	limited, cancel := w.limited(ctx)
	defer cancel()
	_, err := w.c.store.workers.DeleteByKey(limited, w.c.store.workers.Key(w.c.store.name, w.id))
	w.reportIn(ctx, missingIsFine(err))
}

// late reports whether the last beat is so old that other workers may have taken the leases. It asks two clocks,
// because one of them stops while a machine sleeps.
func (w *work) late(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	failover := w.c.settings.failover
	return now.Sub(w.beaten) > failover || now.Round(0).Sub(w.beaten.Round(0)) > failover
}

// hasBeaten notes a beat that succeeded, and does not say that the worker is away. If it was late, other workers may
// have taken the leases before it.
func (w *work) hasBeaten(begun time.Time) {
	late := w.late(time.Now())
	w.mu.Lock()
	defer w.mu.Unlock()
	if late {
		w.fence()
	}
	w.beaten = begun
}

// fence abandons all readers. The caller has w.mu.
func (w *work) fence() {
	w.fences++
	for _, r := range w.held {
		r.abandon()
	}
}

// fencing abandons all readers as soon as the last beat is too old.
func (w *work) fencing(ctx context.Context) {
	s := &w.c.settings
	for wait := s.interval; sleep(ctx, wait); {
		now := time.Now()
		wait = s.interval / 10
		late := w.late(now)
		w.mu.Lock()
		if late {
			w.fence()
		} else {
			wait = max(s.failover-now.Sub(w.beaten), time.Millisecond)
		}
		w.mu.Unlock()
	}
}

// isAway reports whether the worker has left its shards to the other workers. It has for a time, or while handlers run
// that it has interrupted because another worker may have their leases. It does not wait for those that hang. It is
// away, too, if it cannot give up leases that it does not read.
func (w *work) isAway(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.Before(w.left) || w.stuck.Load() {
		return true
	}
	for _, r := range w.held {
		if r.isAbandoned() && !r.hangs(now) {
			return true
		}
	}
	blind := w.coordinated.Load() != 0 && w.isBlind(now) // before the first time it has no leases
	return (blind || w.stopping.Load()) && w.readers() == 0
}

// isBlind reports whether the worker could not read the leases for the failover time.
func (w *work) isBlind(now time.Time) bool {
	return now.Sub(time.Unix(0, w.coordinated.Load())) > w.c.settings.failover
}

// isUnable reports whether the worker cannot take shards of other workers: it ends, or could not read or take leases.
func (w *work) isUnable(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stopping.Load() || w.isBlind(now) || now.Before(w.unable)
}

// isPassive reports whether the worker has no share, because it cannot read some shards.
func (w *work) isPassive(now time.Time) bool {
	return w.isUnable(now) || w.unlisted.Load() || w.hanging(now) || w.refuses(now)
}

// refuses reports whether the worker leaves shards to others that it could not read.
func (w *work) refuses(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, until := range w.refused {
		if now.Before(until) {
			return true
		}
	}
	return false
}

// hanging reports whether handlers of the worker hang.
func (w *work) hanging(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.held {
		if r.hangs(now) {
			return true
		}
	}
	return false
}

// disown gives leases that this worker does not read to the other workers. They are those of handlers that hang, and
// those that it may not read for want of a listing. While it stops, they are also those whose takes or last saves had
// no answer.
func (w *work) disown(ctx context.Context, o *order) {
	now := time.Now()
	for shard, e := range o.leases {
		r := w.held[shard]
		again := r == nil && !w.stopping.Load() && o.mayRead(&e.Value) // it is taken again
		if e.Value.Owner != w.id || e.Value.Done || again || r != nil && !r.hangs(now) {
			continue
		}
		e.Value.Owner = ""
		e.Value.Taken++
		if _, err := w.c.store.leases.Save(ctx, e); err != nil && !raced(err) {
			w.reportIn(ctx, fmt.Errorf("give up the shard %s: %w", shard, err))
		}
	}
}

// noteUnread leaves all shards to other workers if this one has owned leases without reading them for two failover
// times: it could neither take them again nor give them up.
func (w *work) noteUnread(leases map[string]*mapper.Entity[lease], healthy bool, now time.Time) {
	owns := false
	for shard, e := range leases {
		r := w.held[shard]
		owns = owns || e.Value.Owner == w.id && !e.Value.Done && (r == nil || r.hangs(now))
	}
	switch {
	case !owns:
		w.unread = time.Time{}
	case w.unread.IsZero():
		w.unread = now
	}
	if long := 2 * w.c.settings.failover; !owns || !healthy || now.Sub(w.unread) < long {
		w.stuck.Store(false)
	} else if !w.stuck.Swap(true) {
		for _, r := range w.held {
			r.release()
		}
		w.report(fmt.Errorf("this worker could not save for %v that it has given up shards: the other workers get all "+
			"of its shards", long))
	}
}

// noteEnds begins a listing if a shard is done that was not when the last one began, and no lease is that of a next
// shard. The worker that found its end has not listed them, or this one got no answer.
func (w *work) noteEnds(leases map[string]*mapper.Entity[lease]) {
	if w.last == nil || w.finished.After(w.last.begun) {
		return
	}
	continued := map[string]bool{}
	for _, e := range leases {
		for _, parent := range e.Value.Parents {
			continued[parent] = true
		}
	}
	for shard, e := range leases {
		if e.Value.Done && !w.last.done[shard] && !continued[shard] {
			w.finished = time.Now()
			w.c.stats.unsure()
			w.listSoon()
			return
		}
	}
}

// readers returns the number of readers that are not cut off.
func (w *work) readers() (n int) {
	for _, r := range w.held {
		if !r.isAbandoned() {
			n++
		}
	}
	return n
}

// sharing returns the number of workers that have a share.
func sharing(alive map[string]bool) (n int) {
	for _, shares := range alive {
		if shares {
			n++
		}
	}
	return n
}

// coordinate watches the other workers, and takes or gives up leases.
func (w *work) coordinate(ctx context.Context) {
	now := time.Now()
	for _, r := range w.held {
		r.watch(now)
		if r.hangs(now) {
			r.slots.yield()
		}
	}
	away := w.isAway(now)
	if w.late(now) && !away {
		return // others do not see this worker
	}
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, w.c.settings.failover)
	defer cancel()
	// The workers are read after the leases: so each owner was a worker before.
	leases, err := w.c.store.all(ctx, func() {})
	if err != nil {
		w.reportIn(parent, fmt.Errorf("read the leases: %w", err))
		return
	}
	alive, owners, healthy, err := w.alive(ctx, leases)
	if err != nil {
		w.reportIn(parent, fmt.Errorf("read the workers: %w", err))
		return
	}
	for _, e := range leases {
		if e.Value.Group != w.short {
			select {
			case w.over <- &deletedError{w.c.table, w.c.settings.group}:
			default: // the listing has said so
			}
			return
		}
	}
	w.coordinated.Store(now.UnixNano())
	w.noteEnds(leases)
	w.noteUnread(leases, healthy, now)
	o := w.orderOf(leases)
	w.unlisted.Store(w.lacksListing(o))
	idle := w.idle(leases, owners) // before a reader gets one of the leases
	if !healthy {                  // no other worker reads what this one does not
		w.mu.Lock()
		w.left, w.unable = time.Time{}, time.Time{}
		w.mu.Unlock()
	}
	if away || w.stuck.Load() || w.leave(healthy) {
		w.count(idle)
		return
	}
	w.disown(ctx, o)
	w.refuse(healthy, now)
	active, own, free := w.sort(o, owners)
	n := sharing(alive)
	if n > 1 && w.isPassive(now) {
		n = len(alive) // what it gives up is taken by a worker with a share
	}
	share := (active + n - 1) / n
	for _, r := range w.surplus(leases, share) {
		r.leaving = true
		r.release()
	}
	for _, l := range own { // whose save was lost: others see a living owner
		w.take(ctx, l)
	}
	for _, l := range free {
		if w.readers() >= share || ctx.Err() != nil {
			break
		}
		if !now.Before(w.refused[l.Value.Shard]) {
			w.take(ctx, l)
		}
	}
	w.count(idle)
}

// idle returns the shards whose leases are not done and have no owner that lives and can read.
func (w *work) idle(leases map[string]*mapper.Entity[lease], owners map[string]bool) (shards []string) {
	for shard, e := range leases {
		owner := e.Value.Owner
		if reads := owners[owner] && w.watched[owner].reads; !e.Value.Done && !reads && shard != driveShard {
			shards = append(shards, shard)
		}
	}
	return shards
}

// count notes the shards that no worker reads, this one neither.
func (w *work) count(idle []string) {
	if w.last == nil || !w.last.begun.After(w.finished) || len(w.last.failed) > 0 {
		return // there may be more shards
	}
	w.c.stats.waits(slices.DeleteFunc(idle, func(shard string) bool { return w.held[shard] != nil }))
}

// failing reports whether none of the worker's shards could be read for a time. New readers that have read nothing yet
// do not count.
func (w *work) failing(d time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	long, now := false, time.Now()
	for _, r := range w.held {
		switch {
		case r.isAbandoned():
		case r.fails(now, d):
			long = true
		case r.proven.Load():
			return false
		}
	}
	return long
}

// absence is how long a worker leaves shards to the other workers because of a fault of its own.
func (s *settings) absence() time.Duration { return 3*s.failover + jitter(2*s.failover) }

// leave releases all shards for a time if none of them could be read for long, and another worker has no such fault. It
// reports whether it did.
func (w *work) leave(healthy bool) bool {
	failover := w.c.settings.failover
	if !healthy || !w.failing(2*failover) {
		return false
	}
	pause := w.c.settings.absence()
	w.mu.Lock()
	w.left = time.Now().Add(pause)
	w.mu.Unlock()
	for _, r := range w.held {
		r.release()
	}
	w.report(fmt.Errorf("this worker could not read its shards for %v: the other workers have them for %v", 2*failover,
		pause.Round(time.Second)))
	return true
}

// refuse gives up shards that could not be read for long, while this worker reads other ones, if another worker can
// read. It does not take them for a time.
func (w *work) refuse(healthy bool, now time.Time) {
	failover := w.c.settings.failover
	for shard, r := range w.held {
		if !healthy || r.leaving || !r.fails(now, 2*failover) {
			continue
		}
		r.leaving = true
		r.release()
		w.mu.Lock()
		w.refused[shard] = now.Add(w.c.settings.absence())
		w.mu.Unlock()
		w.report(fmt.Errorf("the shard %s could not be read for %v: another worker gets it", shard, 2*failover))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for shard, until := range w.refused {
		if !healthy || !now.Before(until) {
			delete(w.refused, shard)
		}
	}
}

// surplus abandons readers whose leases another worker has taken, and returns those that are more than the share.
func (w *work) surplus(leases map[string]*mapper.Entity[lease], share int) (out []*reader) {
	staying := 0
	for shard, r := range w.held {
		e := leases[shard]
		if e != nil && e.Value.Taken > r.taken {
			r.abandon()
			continue
		}
		if r.leaving || r.isAbandoned() {
			continue
		}
		staying++
		if shard != snapshotShard && shard != driveShard {
			out = append(out, r)
		}
	}
	return out[:max(0, min(len(out), staying-share))]
}

// alive returns the workers that beat, with this one, and whether each has a share. owners are the owners of leases
// that may live: all that beat, and those whose silence was not watched for long enough. healthy reports whether
// another worker can read. The silence of a worker begins after the answer that showed its last beat, and ends before
// the request whose answer shows no other.
func (w *work) alive(ctx context.Context, leases map[string]*mapper.Entity[lease]) (alive, owners map[string]bool,
	healthy bool, err error,
) {
	begun := time.Now()
	workers, err := w.c.store.beats(ctx)
	if err != nil {
		return nil, nil, false, err
	}
	now := time.Now()
	alive, owners = map[string]bool{w.id: true}, map[string]bool{}
	watch := func(id string, beat int64, patience time.Duration, reads bool) (silent time.Duration) {
		seen, ok := w.watched[id]
		if !ok || seen.beat != beat {
			seen = watched{beat, now, ok && beat > 0 && reads}
			w.watched[id] = seen
		}
		silent = begun.Sub(seen.at)
		owners[id] = silent <= patience
		return silent
	}
	for id, e := range workers {
		if id == w.id {
			continue
		}
		other := &e.Value
		patience := max(w.c.settings.failover, time.Duration(other.Failover)*time.Millisecond)
		counter := id
		if other.Away > 0 {
			watch(id, -other.Away, patience, false) // each absence is watched from its beginning
			counter = "the counter of " + id
		}
		silent := watch(counter, other.Beat, patience, !other.Failing)
		if silent < patience && other.Away == 0 {
			alive[id] = !other.Passive
			healthy = healthy || !other.Failing
		}
		if silent > 10*patience { // no worker watches it any more
			_, err := w.c.store.workers.Delete(ctx, e)
			if !raced(err) { // it lives
				w.report(err)
			}
		}
	}
	for _, e := range leases {
		id := e.Value.Owner
		if _, ok := workers[id]; !ok && id != "" && id != w.id {
			watch(id, -1, w.c.settings.failover, false)
		}
	}
	for id := range w.watched {
		if _, ok := owners[id]; !ok {
			delete(w.watched, id)
		}
	}
	return alive, owners, healthy, nil
}

// sort returns the number of leases that are read or can be, those among them that this worker owns without reading
// them, and those without an owner that may live.
func (w *work) sort(o *order, owners map[string]bool) (active int,
	own, free []*mapper.Entity[lease],
) {
	for shard, e := range o.leases {
		l := &e.Value
		if l.Done || w.held[shard] == nil && !owners[l.Owner] && !o.mayRead(l) {
			continue
		}
		active++
		switch {
		case w.held[shard] != nil:
		case l.Owner == w.id:
			own = append(own, e)
		case !owners[l.Owner]:
			free = append(free, e)
		}
	}
	return active, own, free
}

// order says which shards must be done before others: parents, and all shards of former streams.
type order struct {
	leases map[string]*mapper.Entity[lease]
	last   *discovery
	// undone is the first stream with a lease that is not done, and open the first one with a lease whose last listing
	// had a shard that was not done. ARNs of a table's streams end with a time. They are "" for none.
	undone, open string
}

func (w *work) orderOf(leases map[string]*mapper.Entity[lease]) *order {
	o := &order{leases: leases, last: w.last}
	first := func(of *string, arn string) {
		if *of == "" || arn < *of {
			*of = arn
		}
	}
	for _, e := range leases {
		arn := e.Value.Stream
		if arn == "" {
			continue
		}
		if !e.Value.Done {
			first(&o.undone, arn)
		}
		if o.last == nil || o.last.open[arn] {
			first(&o.open, arn)
		}
	}
	return o
}

// mayRead reports whether the shards before a shard are done: its parents, and all of former streams. A parent
// without a lease is done if a listing that has the shard, or began when the shard had a lease, lacks the parent: it
// was trimmed.
func (o *order) mayRead(l *lease) bool { return !o.waits(l) && o.isListed(l) }

// waits reports whether a lease says that another shard must be done before a shard.
func (o *order) waits(l *lease) bool {
	for _, parent := range l.Parents {
		if e := o.leases[parent]; e != nil && !e.Value.Done || e == nil && parent == snapshotShard {
			return true
		}
	}
	return o.undone != "" && o.undone < l.Stream
}

// isListed reports whether the last listing says that no other shard must be done before a shard.
func (o *order) isListed(l *lease) bool {
	for _, parent := range l.Parents {
		if d := o.last; o.leases[parent] == nil && (d == nil || d.failed[l.Stream] || d.listed[parent] ||
			!d.listed[l.Shard] && !d.leased[l.Shard]) {
			return false
		}
	}
	return o.open == "" || o.open >= l.Stream
}

// lacksListing reports whether this worker cannot read a shard that others can, because it has no listing, or an old
// one.
func (w *work) lacksListing(o *order) bool {
	for shard, e := range o.leases {
		if l := &e.Value; !l.Done && w.held[shard] == nil && !o.waits(l) && !o.isListed(l) {
			return true
		}
	}
	return false
}

// take takes a lease on the version that was read, and begins to read its shard.
func (w *work) take(ctx context.Context, e *mapper.Entity[lease]) {
	w.mu.Lock()
	before := w.fences
	w.mu.Unlock()
	e.Value.Owner = w.id
	e.Value.Taken++
	if _, err := w.c.store.leases.Save(ctx, e); err != nil {
		if !raced(err) {
			w.reportIn(ctx, fmt.Errorf("take the shard %s: %w", e.Value.Shard, err))
			w.cannotTake(time.Now())
		}
		return
	}
	late := w.late(time.Now())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.untakenLast = time.Time{}
	w.unable = time.Time{}
	if late || w.fences != before { // another worker may have the lease since: if not, this one takes it again
		return
	}
	r := newReader(w, e)
	w.held[r.shard] = r
	w.c.stats.take(r.shard)
	w.group.Go(func() {
		if err := guarded(func() error { r.run(); return nil }); err != nil { // a decoder or an observer of a user
			w.report(fmt.Errorf("read the shard %s: %w", r.shard, err))
		}
		w.ended <- r
	})
}

// cannotTake leaves the worker without a share for a time when its takes have failed for the failover time.
func (w *work) cannotTake(now time.Time) {
	failover := w.c.settings.failover
	// Single failures hours apart are none. One that has no answer takes a failover time.
	if now.Sub(w.untakenLast) > 3*failover {
		w.untaken = now
	}
	w.untakenLast = now
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.Sub(w.untaken) > failover && !now.Before(w.unable) {
		w.unable = now.Add(w.c.settings.absence())
	}
}

// stop lets the readers stop, within the grace period. The worker beats in the meantime, and gives up leases that it
// does not read.
func (w *work) stop() {
	s := &w.c.settings
	w.stopping.Store(true)
	for _, r := range w.held {
		r.release()
	}
	grace, tick := time.After(s.grace), time.NewTicker(s.interval)
	defer tick.Stop()
	for len(w.held) > 0 {
		select {
		case r := <-w.ended:
			w.forget(r)
		case <-w.discovered:
		case <-tick.C:
			w.safely(w.values, func(ctx context.Context) {
				ctx, cancel := context.WithTimeout(ctx, s.interval) // the grace period passes in the meantime
				defer cancel()
				leases, err := w.c.store.all(ctx, func() {})
				w.reportIn(ctx, err)
				w.disown(ctx, &order{leases: leases})
			})
		case <-grace:
			for _, r := range w.held {
				if since := r.since.Load(); since != 0 {
					w.report(&SlowError{w.c.table, s.group, r.shard, time.Since(time.Unix(0, since))})
				}
				r.interrupt()
			}
			grace = nil
		}
	}
}
