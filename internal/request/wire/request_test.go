package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	smithy "github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/itemize/itemize/internal/testing/draws"
)

// inputs are those of the operations that requests are made for.
var inputs = map[*smithy.Schema]func() smithy.Serializable{
	schemas.GetItem:               func() smithy.Serializable { return &dynamodb.GetItemInput{} },
	schemas.BatchGetItem:          func() smithy.Serializable { return &dynamodb.BatchGetItemInput{} },
	schemas.Query:                 func() smithy.Serializable { return &dynamodb.QueryInput{} },
	schemas.Scan:                  func() smithy.Serializable { return &dynamodb.ScanInput{} },
	schemas.PutItem:               func() smithy.Serializable { return &dynamodb.PutItemInput{} },
	schemas.UpdateItem:            func() smithy.Serializable { return &dynamodb.UpdateItemInput{} },
	schemas.DeleteItem:            func() smithy.Serializable { return &dynamodb.DeleteItemInput{} },
	schemas.TransactWriteItems:    func() smithy.Serializable { return &dynamodb.TransactWriteItemsInput{} },
	schemas.BatchWriteItem:        func() smithy.Serializable { return &dynamodb.BatchWriteItemInput{} },
	schemas.BatchExecuteStatement: func() smithy.Serializable { return &dynamodb.BatchExecuteStatementInput{} },
}

// texts are pieces of strings: plain, with all that has to be escaped, of several bytes, and no UTF-8.
var texts = []string{
	"", "a", "plain text of more than eight bytes", `"`, `\`, "\n\r\t", "\x00\x1f\x7f", "é", "日本",
	"\u2028\u2029", "<>&", "\xff", "\xe2\x82", "�", "😀",
}

func randomText(r *rand.Rand) string {
	s := ""
	for range r.IntN(4) {
		s += texts[r.IntN(len(texts))]
	}
	return s
}

// randomInput fills a value with random content that an input can have, sometimes nil.
func randomInput(r *rand.Rand, v reflect.Value, depth int) {
	if v.Type() == reflect.TypeFor[types.AttributeValue]() {
		v.Set(reflect.ValueOf(randomValue(r, depth)))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() && r.IntN(3) > 0 {
				randomInput(r, f, depth)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		randomInput(r, v.Elem(), depth)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		for range r.IntN(4) {
			e := reflect.New(v.Type().Elem()).Elem()
			randomInput(r, e, depth+1)
			v.Set(reflect.Append(v, e))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.IntN(4) {
			e := reflect.New(v.Type().Elem()).Elem()
			randomInput(r, e, depth+1)
			v.SetMapIndex(reflect.ValueOf(strings.ToValidUTF8(randomText(r), "?")), e)
		}
	case reflect.String:
		v.SetString(randomText(r))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.Uint32()))
	case reflect.Uint8:
		v.SetUint(uint64(r.IntN(256)))
	default:
		panic(v.Type())
	}
}

func randomValue(r *rand.Rand, depth int) types.AttributeValue {
	all := []types.AttributeValue{
		&types.AttributeValueMemberS{}, &types.AttributeValueMemberN{}, &types.AttributeValueMemberB{},
		&types.AttributeValueMemberBOOL{},
		&types.AttributeValueMemberNULL{}, &types.AttributeValueMemberSS{}, &types.AttributeValueMemberNS{},
		&types.AttributeValueMemberBS{},
		&types.AttributeValueMemberL{}, &types.AttributeValueMemberM{},
	}
	if depth > 6 {
		all = all[:8]
	}
	a := all[r.IntN(len(all))]
	if f := reflect.ValueOf(a).Elem().FieldByName("Value"); r.IntN(8) > 0 {
		randomInput(r, f, depth+1)
	}
	return a
}

// made is a request as it is sent, its body as JSON says it.
type made struct {
	Method, URL string
	Header      map[string][]string
	Length      int64
	Body        any
}

func requestOf(t testing.TB, p smithyhttp.ClientProtocol, schema *smithy.OperationSchema, in smithy.Serializable) made {
	t.Helper()
	req := smithyhttp.NewStackRequest().(*smithyhttp.Request)
	req.Header.Set("Before", "1")
	if err := p.SerializeRequest(context.Background(), schema, in, req); err != nil {
		t.Fatal(err)
	}
	if !req.IsStreamSeekable() {
		t.Error("it cannot be sent again")
	}
	var text []byte
	for range 2 { // as a request that is sent again
		var err error
		if text, err = io.ReadAll(req.GetStream()); err != nil || req.RewindStream() != nil {
			t.Fatal(err)
		}
	}
	if int64(len(text)) != req.ContentLength {
		t.Errorf("%d bytes, and it says %d", len(text), req.ContentLength)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	m := made{Method: req.Method, URL: req.URL.String(), Header: req.Header, Length: req.ContentLength}
	if err := d.Decode(&m.Body); err != nil || d.More() {
		t.Fatalf("%v: %s", err, text)
	}
	return m
}

// A request is the one that the SDK makes: of each operation, whatever the input.
func TestRequests(t *testing.T) {
	codec := &Codec{}
	r := rand.New(rand.NewPCG(draws.Seed(t), 0))
	for range draws.Times(300, 1_000, 20_000) {
		for op, input := range inputs {
			in := input()
			randomInput(r, reflect.ValueOf(in).Elem(), 0)
			// some input: it only says that there is one
			schema := smithy.NewOperationSchema(op, schemas.GetItemInput, nil)
			if _, ok := encode(in, nil); !ok {
				t.Fatalf("%s: foreign", op.ID().Name)
			}
			want := requestOf(t, sdk, schema, in)
			o := dynamodb.Options{Protocol: sdk}
			codec.Option(&o)
			if o.Protocol == smithyhttp.ClientProtocol(sdk) {
				t.Fatal("it is left to the SDK")
			}
			got := requestOf(t, o.Protocol, schema, in)
			got.Length, want.Length = 0, 0 // escapes differ
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s:\n%v, and the SDK's\n%v", op.ID().Name, got, want)
			}
		}
	}
}

// foreign is an input of something that requests for items do not hold.
type foreign struct{ dynamodb.GetItemInput }

func (f *foreign) Serialize(s smithy.ShapeSerializer) {
	s.WriteStruct(schemas.GetItemInput)
	s.WriteFloat64(schemas.GetItemInput_TableName, 1.5)
	s.CloseStruct()
}

// The SDK handles foreign inputs.
func TestForeignRequests(t *testing.T) {
	o := dynamodb.Options{Protocol: sdk}
	(&Codec{}).Option(&o)
	schema := smithy.NewOperationSchema(schemas.GetItem, schemas.GetItemInput, schemas.GetItemOutput)
	for range 2 {
		want, got := requestOf(t, sdk, schema, &foreign{}), requestOf(t, o.Protocol, schema, &foreign{})
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v, and the SDK's %v", got, want)
		}
	}
}

// A call with a request of its own is answered as one of the SDK, also where it is sent again.
func TestRequestsAreSent(t *testing.T) {
	throttled := answer{
		status: 400,
		body:   `{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"slow down"}`,
	}
	c := clientOf(throttled, throttled, answer{status: 200, body: `{"Attributes":{"a":{"S":"old"}}}`})
	out, err := c.PutItem(context.Background(), &dynamodb.PutItemInput{
		TableName: aws.String("t"),
		Item:      map[string]types.AttributeValue{"a": &types.AttributeValueMemberS{Value: "new"}},
	}, For(c, false).Option)
	if err != nil || fmt.Sprint(out.Attributes["a"].(*types.AttributeValueMemberS).Value) != "old" {
		t.Errorf("%v, %v", out, err)
	}
}

// A middleware may send a call twice at one time: the requests share no memory.
func TestSentTwice(t *testing.T) {
	o := dynamodb.Options{Protocol: sdk}
	(&Codec{}).Option(&o)
	schema := smithy.NewOperationSchema(schemas.GetItem, schemas.GetItemInput, schemas.GetItemOutput)
	request := func(table string) io.Reader {
		req := smithyhttp.NewStackRequest().(*smithyhttp.Request)
		if err := o.Protocol.SerializeRequest(context.Background(), schema, &dynamodb.GetItemInput{TableName: &table},
			req); err != nil {
			t.Fatal(err)
		}
		return req.GetStream()
	}
	one, begun := request("one"), make([]byte, 5)
	if _, err := io.ReadFull(one, begun); err != nil {
		t.Fatal(err)
	}
	another, err := io.ReadAll(request("another"))
	rest, restErr := io.ReadAll(one)
	if string(begun)+string(rest) != `{"TableName":"one"}` || string(another) != `{"TableName":"another"}` ||
		err != nil || restErr != nil {
		t.Errorf("%s%s, %s", begun, rest, another)
	}
}

// FuzzText compares strings as they are written with the SDK's.
func FuzzText(f *testing.F) {
	for _, s := range texts {
		f.Add(s + "plain text" + s)
	}
	schema := smithy.NewOperationSchema(schemas.GetItem, schemas.GetItemInput, schemas.GetItemOutput)
	codec := &Codec{}
	f.Fuzz(func(t *testing.T, s string) {
		in := &dynamodb.GetItemInput{
			TableName: &s,
			Key:       map[string]types.AttributeValue{s: &types.AttributeValueMemberB{Value: []byte(s)}},
		}
		o := dynamodb.Options{Protocol: sdk}
		codec.Option(&o)
		got, want := requestOf(t, o.Protocol, schema, in), requestOf(t, sdk, schema, in)
		got.Length, want.Length = 0, 0
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v, and the SDK's\n%v", got, want)
		}
	})
}

// written are answers to writes: those that are read here, and some that are left to the SDK.
var written = map[bool][]string{
	true: {
		`{}`, `{"ConsumedCapacity":{"CapacityUnits":1,"TableName":"t"}}`,
		`{"ConsumedCapacity":{"TableName":"t","CapacityUnits":12.5,"Table":{"CapacityUnits":12.5}}}`,
		"{ \"ConsumedCapacity\" : { \"CapacityUnits\" : 0.5 , \"Table\" : {\"CapacityUnits\" :\n1.0\t} , " +
			"\"TableName\" : \"é\" } }\r\n", `{"ConsumedCapacity":{}}`,
		`{"ConsumedCapacity":{"Table":{}}}`,
		`{"ConsumedCapacity":{"CapacityUnits":123456789012345678901234567890.125}}`, `{"Count":1,"ScannedCount":2}`,
	},
	false: {
		``, `null`, `{"ConsumedCapacity":{"CapacityUnits":1e3}}`, `{"ConsumedCapacity":{"CapacityUnits":-1}}`,
		`{"ConsumedCapacity":{"CapacityUnits":00.5}}`,
		`{"ConsumedCapacity":{"CapacityUnits":1,"CapacityUnits":2}}`, `{"ConsumedCapacity":{"TableName":"\u0061"}}`,
		`{"ConsumedCapacity":null}`, `{"ConsumedCapacity":[]}`,
		`{"ConsumedCapacity":{"CapacityUnits":1,"GlobalSecondaryIndexes":{"i":{"CapacityUnits":1}},` +
			`"WriteCapacityUnits":1}}`,
		`{"Attributes":{"a":{"S":"x"}},"ConsumedCapacity":{"CapacityUnits":1,"TableName":"t"}}`, `{"Unknown":1}`,
		`{"ConsumedCapacity":{"CapacityUnits":"NaN"}}`, `{"ConsumedCapacity":{"Table":{"CapacityUnits":1,"Other":2}}}`,
	},
}

var writes = []answered{
	{
		schema: smithy.NewOperationSchema(schemas.PutItem, schemas.PutItemInput, schemas.PutItemOutput),
		out:    func() smithy.Deserializable { return &dynamodb.PutItemOutput{} },
	},
	{
		schema: smithy.NewOperationSchema(schemas.UpdateItem, schemas.UpdateItemInput, schemas.UpdateItemOutput),
		out:    func() smithy.Deserializable { return &dynamodb.UpdateItemOutput{} },
	},
	{
		schema: smithy.NewOperationSchema(schemas.DeleteItem, schemas.DeleteItemInput, schemas.DeleteItemOutput),
		out:    func() smithy.Deserializable { return &dynamodb.DeleteItemOutput{} },
	},
	{
		schema: smithy.NewOperationSchema(schemas.TransactWriteItems, schemas.TransactWriteItemsInput,
			schemas.TransactWriteItemsOutput),
		out: func() smithy.Deserializable { return &dynamodb.TransactWriteItemsOutput{} },
	},
}

// compareWritten has both protocols decode an answer to each write.
func compareWritten(t testing.TB, status int, body []byte) {
	t.Helper()
	for _, o := range writes {
		got, want := o.out(), o.out()
		gotErr := o.decode(&Request{maker: maker{ClientProtocol: sdk}},
			respond(status, bytes.NewReader(body), int64(len(body))), got)
		wantErr := o.decode(sdk, respond(status, bytes.NewReader(body), int64(len(body))), want)
		if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) || reflect.TypeOf(gotErr) != reflect.TypeOf(wantErr) {
			t.Errorf("%v, and the SDK's %v: %s", gotErr, wantErr, body)
		}
		if wantErr == nil && !equal(got, want) {
			t.Errorf("%s: %#v, and the SDK's %#v", body, got, want)
		}
	}
}

// The answer to a write has the same values and errors as with the SDK: the whole answer, cut at each
// byte, with one byte changed, and as an error.
func TestWritten(t *testing.T) {
	for here, bodies := range written {
		for _, body := range bodies {
			if got := decodeResponse([]byte(body), &dynamodb.PutItemOutput{}); got != here {
				t.Errorf("read here: %v: %s", got, body)
			}
			checkWritten(t, body)
		}
	}
}

func checkWritten(t *testing.T, body string) {
	for _, status := range []int{200, 400, 500} {
		compareWritten(t, status, []byte(body))
	}
	for i := range body {
		compareWritten(t, 200, []byte(body[:i]))
		for _, c := range []byte("\"\\{}[]:,.nx019 \x00\xff") {
			b := []byte(body)
			b[i] = c
			compareWritten(t, 200, b)
		}
	}
}

// FuzzWritten has both decode any answer to a write.
func FuzzWritten(f *testing.F) {
	for _, bodies := range written {
		for _, body := range bodies {
			f.Add([]byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) { compareWritten(t, 200, body) })
}

// An encoder keeps nothing of a request that it has written.
func TestEncoderForgets(t *testing.T) {
	item := map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: "a"}}
	e := new(encoder)
	for _, in := range []smithy.Serializable{
		&dynamodb.PutItemInput{Item: item},
		&dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Put: &types.Put{Item: item}}}},
		&dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{
			"t": {{PutRequest: &types.PutRequest{Item: item}}},
		}},
	} {
		e.withoutItems(in).Serialize(e)
		if e.written != 1 {
			t.Errorf("%T: %d items were written", in, e.written)
		}
		e.forget()
		for _, kept := range e.items[:cap(e.items)] {
			if kept != nil {
				t.Errorf("%T: an item is kept", in)
			}
		}
	}
}

// A client without middleware and interceptors of a program is alone, as New returns it.
func TestIsAlone(t *testing.T) {
	of := func(change func(o *dynamodb.Options)) bool {
		return For(dynamodb.New(dynamodb.Options{Region: "us-east-1"}, change), false).IsAlone()
	}
	if !of(func(*dynamodb.Options) {}) {
		t.Error("a client without options is not alone")
	}
	if of(func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(*middleware.Stack) error { return nil })
	}) {
		t.Error("a client with middleware is alone")
	}
	if of(func(o *dynamodb.Options) { o.Interceptors.AddBeforeTransmit(interceptor{}) }) {
		t.Error("a client with an interceptor is alone")
	}
}

type interceptor struct{}

func (interceptor) BeforeTransmit(context.Context, *smithyhttp.InterceptorContext) error { return nil }
