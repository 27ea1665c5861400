// The program forum has the tables Forum, Thread and Reply of the Developer Guide, with a local and two
// global indexes. For each everyday operation of a forum it prints the engine's charge. Next to it, it
// prints the charge where a thread is one item with all its replies, found by a scan.
//
//	go run ./examples/forum
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/itemize/itemize/examples/internal/output"
	"github.com/itemize/itemize/large/compress"
	"github.com/itemize/itemize/large/s3store"
	"github.com/itemize/itemize/tables"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/integration"
	"github.com/itemize/itemize/large"
	"github.com/itemize/itemize/mapper"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := start(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "forum:", err)
		os.Exit(1)
	}
}

// start runs the program on an engine that it starts.
func start(ctx context.Context, w io.Writer) error {
	engine, err := integration.Start(ctx)
	if err != nil {
		return err
	}
	defer engine.Stop()
	objects, err := integration.StartS3(ctx)
	if err != nil {
		return err
	}
	defer objects.Stop()
	return run(ctx, w, engine, s3.NewFromConfig(objects.Config()))
}

// program has the mappers, and prints a table.
type program struct {
	w       *tabwriter.Writer
	forums  *mapper.Mapper[Forum]
	threads *mapper.Mapper[Thread]
	replies *mapper.Mapper[Reply]
}

// run runs the program in tables of its own, which it deletes at the end.
func run(ctx context.Context, w io.Writer, engine *integration.Engine, objects *s3.Client) (err error) {
	client := engine.Client()
	prefix := fmt.Sprintf("forum-%d-", time.Now().UnixNano())
	named := mapper.Tables(func(name string) string { return prefix + name })
	p := &program{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	var errs [3]error
	p.forums, errs[0] = mapper.New[Forum](client, named)
	p.threads, errs[1] = mapper.New[Thread](client, named)
	bucket := func(name string) string { return prefix + name }
	p.replies, errs[2] = mapper.New[Reply](client, named, compress.Zstd(),
		s3store.Objects(objects, s3store.Buckets(bucket)))
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	all, err := tables.Join(tables.Of(p.forums), tables.Of(p.threads), tables.Of(p.replies))
	if err != nil {
		return err
	}
	for _, d := range all {
		if _, err := client.CreateTable(ctx, d.Create); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, engine.DeleteTable(context.WithoutCancel(ctx), d.Name)) }()
	}
	if _, err := objects.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(bucket("pictures"))}); err != nil {
		return err
	}
	fmt.Fprintf(p.w, "\tcharged\tof which indexes\tone item a thread\n")
	for _, step := range []func(context.Context) error{
		p.fill, p.reply, p.latest, p.unanswered, p.mine, p.long,
		p.list,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return p.w.Flush()
}

const (
	forum   = "Amazon DynamoDB"
	subject = "How large may an item be?"
	replies = 60
)

var monday = time.Date(2021, time.November, 15, 8, 0, 0, 0, time.UTC)

// size returns the size, in bytes, of a thread with n replies in one item.
func size(n int) int { return 900 + n*(420+60) }

// fill creates a forum with some threads, one of them long.
func (p *program) fill(ctx context.Context) error {
	if _, err := p.forums.Save(ctx,
		p.forums.New(Forum{Name: forum, Category: "Amazon Web Services", Threads: 8})); err != nil {
		return err
	}
	for i := range 8 {
		t := Thread{
			Forum: forum, Subject: fmt.Sprintf("Thread %d", i), Message: strings.Repeat("words ", 120), PostedBy: "ann",
			LastPost: monday.Add(time.Duration(i) * time.Hour), Unanswered: "yes", Tags: []string{"question"},
		}
		if i == 0 {
			t.Subject, t.Unanswered = subject, ""
		}
		if _, err := p.threads.Save(ctx, p.threads.New(t)); err != nil {
			return err
		}
	}
	for i := range replies {
		r := Reply{
			Forum: forum, Subject: subject, At: monday.Add(time.Duration(i) * time.Minute),
			PostedBy: []string{"bob", "eve"}[i%2], Message: large.Of(strings.Repeat("reply ", 70)),
		}
		if _, err := p.replies.Save(ctx, p.replies.New(r)); err != nil {
			return err
		}
	}
	return nil
}

// reply adds a reply to the long thread, and moves the thread to the front of its forum. These are two
// requests: in a transaction they would cost double.
func (p *program) reply(ctx context.Context) error {
	at := monday.AddDate(0, 0, 1)
	r, err := p.replies.Save(ctx,
		p.replies.New(Reply{
			Forum: forum, Subject: subject, At: at, PostedBy: "bob",
			Message: large.Of(strings.Repeat("reply ", 70)),
		}))
	if err != nil {
		return err
	}
	p.wrote("a reply", r, cost.WriteUnits(size(replies+1)))
	r, err = ThreadByForumSubject(forum, subject).Patch(ThreadFields.LastPost.Set(at)).Exec(ctx, p.threads)
	if err != nil {
		return err
	}
	p.wrote("its thread comes first", r, 0)
	return nil
}

// latest lists the threads with the latest posts.
func (p *program) latest(ctx context.Context) error {
	var r mapper.Receipt
	all, err := ThreadByForumLastPost(forum).Reverse().Limit(3).Collect(ctx, p.threads, mapper.ReceiptTo(&r))
	if err != nil {
		return err
	}
	if all[0].Subject != subject {
		return fmt.Errorf("the latest thread is wrong: wrong: %q", all[0].Subject)
	}
	p.read("the three latest threads", &r, 8)
	return nil
}

// unanswered lists the threads without an answer. The index projects the attributes that the list
// shows. It then answers one thread, which leaves the index.
func (p *program) unanswered(ctx context.Context) error {
	var r mapper.Receipt
	list := ThreadByUnanswered("yes").Project(ThreadFields.PostedBy, ThreadFields.Views)
	all, err := list.Collect(ctx, p.threads, mapper.ReceiptTo(&r))
	if err != nil {
		return err
	}
	p.read(fmt.Sprintf("the %d unanswered", len(all)), &r, 8)
	w, err := ThreadByForumSubject(forum, all[0].Subject).Patch(ThreadFields.Unanswered.Remove()).Exec(ctx,
		p.threads)
	if err != nil {
		return err
	}
	p.wrote("one is answered", w, cost.WriteUnits(size(1)))
	return nil
}

// mine lists the posts of a user on one day, in all threads.
func (p *program) mine(ctx context.Context) error {
	var r mapper.Receipt
	all, err := ReplyByPostedBy("bob").Day(2021, time.November, 15).Collect(ctx, p.replies, mapper.ReceiptTo(&r))
	if err != nil {
		return err
	}
	p.read(fmt.Sprintf("%d posts of one user's day", len(all)), &r, 8)
	return nil
}

// long adds a reply of 2 MB with a picture. The text is compressed and stored in chunks, and the
// picture is an object.
func (p *program) long(ctx context.Context) error {
	log := &strings.Builder{}
	for i := 0; log.Len() < 2<<20; i++ {
		fmt.Fprintf(log, "%s request %d of item %x took %d ms\n",
			monday.Add(time.Duration(i)*time.Second).Format(time.TimeOnly), i, int64(i*i)*2654435761, i*i%997)
	}
	reply := Reply{
		Forum: forum, Subject: subject, At: longAt, PostedBy: "eve", Message: large.Of(log.String()),
		Picture: large.Of(make([]byte, 150<<10)),
	}
	r, err := p.replies.Save(ctx, p.replies.New(reply))
	if err != nil {
		return err
	}
	parts := 0
	for _, it := range r.Predicted().Items {
		if strings.HasSuffix(it.Table, "ReplyChunks") {
			parts++
		}
	}
	// Planned, since DynamoDB Local counts a transaction otherwise.
	fmt.Fprintf(p.w, "a reply of 2 MB, a picture\t%v WCU\t\tno item holds it: %d parts, %d object of %d KB\n",
		r.Predicted().WCU.Expected, parts, r.Predicted().Objects.Puts, r.Predicted().Objects.Sent>>10)
	return nil
}

var longAt = monday.AddDate(0, 0, 2)

// list lists the latest replies. Of the long one it shows the beginning, and then reads the whole text.
func (p *program) list(ctx context.Context) error {
	var r mapper.Receipt
	all, err := ReplyByForumSubject(forum, subject).Reverse().Limit(3).Collect(ctx, p.replies,
		mapper.ReceiptTo(&r))
	if err != nil {
		return err
	}
	fmt.Fprintf(p.w, "the three latest replies\t%v RCU\t\t%q\n", output.RCU(&r), all[0].Message.Preview())
	text, err := all[0].Message.Get(ctx)
	if err != nil {
		return err
	}
	picture, err := all[0].Picture.Get(ctx)
	fmt.Fprintf(p.w, "the long one, opened\t\t\t%d KB, and a picture of %d KB\n", len(text)>>10, len(picture)>>10)
	return err
}

func (p *program) wrote(what string, r *mapper.Receipt, naive float64) {
	indexes := "-"
	if sum := 0.0; len(r.Consumed.Indexes) > 0 {
		for _, n := range r.Consumed.Indexes {
			sum += n
		}
		indexes = fmt.Sprint(sum)
	}
	variant := "with it"
	if naive > 0 {
		variant = fmt.Sprintf("%v WCU", naive)
	}
	fmt.Fprintf(p.w, "%s\t%v WCU\t%v\t%s\n", what, output.WCU(r), indexes, variant)
}

// read prints the charge of a read, and the charge of a scan of that many threads, one of them long.
func (p *program) read(what string, r *mapper.Receipt, threads int) {
	scan := cost.ReadUnits(size(replies+1)+(threads-1)*size(0)) / 2
	fmt.Fprintf(p.w, "%s\t%v RCU\t\t%v RCU\n", what, output.RCU(r), scan)
}
