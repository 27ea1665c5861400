package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"
)

// scripted is a transport that gives answers, one after the other.
type scripted struct {
	answers []answer
	asked   int
}

type answer struct {
	status int
	body   string
	crc    string // "" for the right one
	length int64  // 0 for the right one
	broken bool   // the connection breaks behind the body
}

func (s *scripted) Do(r *http.Request) (*http.Response, error) {
	a := s.answers[min(s.asked, len(s.answers)-1)]
	s.asked++
	crc := a.crc
	if crc == "" {
		crc = fmt.Sprint(crc32.ChecksumIEEE([]byte(a.body)))
	}
	body := io.Reader(strings.NewReader(a.body))
	if a.broken {
		body = io.MultiReader(body, failing{errBroken})
	}
	length := a.length
	if length == 0 {
		length = int64(len(a.body))
	}
	return &http.Response{
		StatusCode: a.status, Header: http.Header{"X-Amz-Crc32": {crc}, "Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(body), ContentLength: length, Request: r,
	}, nil
}

var errBroken = errors.New("the connection broke")

func clientOf(answers ...answer) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "us-east-1", HTTPClient: &scripted{answers: answers},
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts, o.Backoff = 3,
				retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
		}),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
		}),
	})
}

const twoItems = `{"Count":2,"Items":[{"PK":{"S":"a"}},{"PK":{"S":"b"}}],"ScannedCount":2}`

// With the codec a call has the same errors as without it: for error answers, and for damaged, cut or
// broken answers. After a retry it has the items of the accepted answer.
func TestCalls(t *testing.T) {
	throttled := answer{
		status: 400,
		body: `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",` +
			`"message":"slow down"}`,
	}
	for name, answers := range map[string][]answer{
		"plain":            {{status: 200, body: twoItems}},
		"throttled":        {throttled, {status: 200, body: twoItems}},
		"always throttled": {throttled},
		"refused": {{
			status: 400,
			body:   `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"no table"}`,
		}},
		"server":           {{status: 500, body: ``}, {status: 200, body: twoItems}},
		"wrong sum":        {{status: 200, body: twoItems, crc: "1"}},
		"no sum":           {{status: 200, body: twoItems, crc: "x"}},
		"too short":        {{status: 200, body: twoItems[:30]}},
		"longer than told": {{status: 200, body: twoItems, length: 10}},
		"shorter":          {{status: 200, body: twoItems, length: 1 << 40}},
		"length unknown":   {{status: 200, body: twoItems, length: -1}},
		"empty":            {{status: 200, body: ""}},
		"broken":           {{status: 200, body: twoItems[:20], broken: true}, {status: 200, body: twoItems}},
		"left to the SDK":  {{status: 200, body: `{"Count":1,"Items":[{"PK":{"S":"a"},"x":null}]}`}},
	} {
		for _, share := range []bool{false, true} {
			want, wantErr := clientOf(answers...).Query(context.Background(),
				&dynamodb.QueryInput{TableName: aws.String("t")})
			c := clientOf(answers...)
			call := For(c, share).Call(Query, true)
			got, err := c.Query(context.Background(), &dynamodb.QueryInput{TableName: aws.String("t")},
				call.Options()...)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("%s: %v, and without the codec %v", name, err, wantErr)
			}
			if err != nil {
				continue
			}
			items := got.Items
			if p := call.Page(); p != nil {
				items = attributes(p.Items)
			}
			if len(items) != len(want.Items) || got.Count != want.Count {
				t.Errorf("%s: %v, and without the codec %v", name, items, want.Items)
			}
		}
	}
}

// wrapper is a client that is not the SDK's own.
type wrapper struct{ *dynamodb.Client }

// another is a protocol that is not the SDK's.
type another struct{ *awsjson.Protocol }

// Only the SDK's own client is read from the wire, with the protocol that it comes with: also where a call has another.
func TestFor(t *testing.T) {
	plain := clientOf(answer{status: 200, body: twoItems})
	with := func(p func(o *dynamodb.Options)) *dynamodb.Client { return dynamodb.New(plain.Options(), p) }
	for name, c := range map[string]struct {
		client any
		read   bool
	}{
		"the SDK's":        {plain, true},
		"a wrapper":        {wrapper{plain}, false},
		"nil":              {(*dynamodb.Client)(nil), false},
		"another protocol": {with(func(o *dynamodb.Options) { o.Protocol = another{sdk} }), false},
		"JSON 1.1": {
			with(func(o *dynamodb.Options) { o.Protocol = awsjson.New11(schemas.DynamoDB_20120810) }),
			false,
		},
		"its own again": {with(func(o *dynamodb.Options) { o.Protocol = sdk }), true},
	} {
		if got := For(c.client, false) != nil; got != c.read {
			t.Errorf("%s: read from the wire: %v", name, got)
		}
	}
	call := For(plain, false).Call(Query, true)
	options := append([]func(*dynamodb.Options){func(o *dynamodb.Options) { o.Protocol = another{sdk} }},
		call.Options()...)
	out, err := plain.Query(context.Background(), &dynamodb.QueryInput{TableName: aws.String("t")}, options...)
	if err != nil || call.Page() != nil || len(out.Items) != 2 {
		t.Errorf("a call with a protocol of its own: %v, %v", out, err)
	}
	if none := (*Codec)(nil).Call(Query, true); none.Page() != nil {
		t.Error("no codec reads something")
	}
}

// No string refers to a page's own memory: tested with a shortest answer, a shared one and a released
// one.
func TestShortAndShared(t *testing.T) {
	p := newPage(true, true)
	p.body = append(p.body, `{"Items":[{"e":{"S":"a\nb"}}]}`...)
	if _, ok := Query.read(p, nil); !ok {
		t.Fatal("not read")
	}
	text := p.Items[0].Value(0).String()
	p.Release()
	if text != "a\nb" {
		t.Errorf("%q", text)
	}
}

// An item that is parted from its page shares nothing with it.
func TestCopyDetachesStrings(t *testing.T) {
	p := newPage(true, false)
	p.body = append(p.body, `{"Items":[{"a":{"S":"text"},"m":{"M":{"n":{"S":"e\n"}}}}]}`...)
	if _, ok := Query.read(p, nil); !ok {
		t.Fatal("not read")
	}
	a := p.Items[0].Copy()
	clear(p.body)
	clear(p.side)
	if a["a"].(*types.AttributeValueMemberS).Value != "text" ||
		a["m"].(*types.AttributeValueMemberM).Value["n"].(*types.AttributeValueMemberS).Value != "e\n" {
		t.Error(a)
	}
}

// A released page is reused. Values that were decoded from it do not change, in both modes; shared
// strings keep their memory.
func TestReleased(t *testing.T) {
	for _, share := range []bool{false, true} {
		read := func(text string, i int) *Page {
			p := newPage(share, i%2 == 0)
			p.body = append(p.body, fmt.Sprintf(`{"Items":[{"a":{"S":"%[1]s"},"e":{"S":"%[1]s\n"},`+
				`"f":{"S":"%[2]d\t"},"b":{"B":"AAECAwQFBgc="},"l":{"L":[{"S":"%[1]s"},{"N":"12"}]}}]}`, text, i)...)
			if _, ok := Query.read(p, nil); !ok {
				t.Fatal("not read")
			}
			return p
		}
		var kept []map[string]types.AttributeValue
		var texts []string
		for i := range 50 {
			p := read(strings.Repeat(fmt.Sprint(i%10), 40), i)
			kept = append(kept, p.Items[0].Attributes())
			texts = append(texts, p.Items[0].Value(0).String())
			p.Release()
		}
		for i := range kept {
			want := strings.Repeat(fmt.Sprint(i%10), 40)
			l := kept[i]["l"].(*types.AttributeValueMemberL).Value
			if texts[i] != want || kept[i]["e"].(*types.AttributeValueMemberS).Value != want+"\n" ||
				kept[i]["f"].(*types.AttributeValueMemberS).Value != fmt.Sprint(i, "\t") ||
				l[0].(*types.AttributeValueMemberS).Value != want ||
				!bytes.Equal(kept[i]["b"].(*types.AttributeValueMemberB).Value, []byte{0, 1, 2, 3, 4, 5, 6, 7}) {
				t.Errorf("shared %v: %d: %q, %v", share, i, texts[i], kept[i])
			}
		}
	}
}
