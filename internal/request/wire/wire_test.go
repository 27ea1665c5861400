package wire

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	smithy "github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/testing/draws"
)

var sdk = awsjson.New10(schemas.DynamoDB_20120810)

// answered is an operation as both protocols see it.
type answered struct {
	*Operation
	schema *smithy.OperationSchema
	out    func() smithy.Deserializable
	// put puts the items of a page where the SDK has them.
	put func(out smithy.Deserializable, p *Page)
}

var operations = []answered{
	{
		Query, smithy.NewOperationSchema(schemas.Query, schemas.QueryInput, schemas.QueryOutput),
		func() smithy.Deserializable { return &dynamodb.QueryOutput{} },
		func(out smithy.Deserializable, p *Page) {
			if o := out.(*dynamodb.QueryOutput); o.Items != nil {
				o.Items = append(o.Items, attributes(p.Items)...)
			}
		},
	},
	{
		GetItem, smithy.NewOperationSchema(schemas.GetItem, schemas.GetItemInput, schemas.GetItemOutput),
		func() smithy.Deserializable { return &dynamodb.GetItemOutput{} },
		func(out smithy.Deserializable, p *Page) {
			if o := out.(*dynamodb.GetItemOutput); len(p.Items) > 0 {
				o.Item = p.Items[0].Attributes()
			}
		},
	},
	{
		BatchGetItem, smithy.NewOperationSchema(schemas.BatchGetItem, schemas.BatchGetItemInput,
			schemas.BatchGetItemOutput),
		func() smithy.Deserializable { return &dynamodb.BatchGetItemOutput{} },
		func(out smithy.Deserializable, p *Page) {
			o := out.(*dynamodb.BatchGetItemOutput)
			for name, items := range p.Tables {
				o.Responses[name] = append(o.Responses[name], attributes(items)...)
			}
		},
	},
}

func attributes(items []Item) (all []map[string]types.AttributeValue) {
	for _, it := range items {
		all = append(all, it.Attributes())
	}
	return all
}

// respond returns an answer of the service.
func respond(status int, body io.Reader, length int64) *smithyhttp.Response {
	return &smithyhttp.Response{Response: &http.Response{
		StatusCode: status, Header: http.Header{},
		Body: io.NopCloser(body), ContentLength: length,
	}}
}

// decode has a protocol decode an answer. The SDK panics on some that are no JSON, for which the codec returns an
// error.
func (o *answered) decode(p smithyhttp.ClientProtocol, r *smithyhttp.Response, out smithy.Deserializable) (err error) {
	if p == sdk {
		defer recovered(&err)
	}
	return p.DeserializeResponse(context.Background(), o.schema, dynamodb.TypeRegistry, r, out)
}

// compare has both protocols decode an answer, and reports whether the items were read here.
func compare(t testing.TB, status int, body []byte) (here bool) {
	t.Helper()
	for _, o := range operations {
		here = compareWith(t, o, status, body) || here
	}
	return here
}

// compareWith is compare for one operation.
func compareWith(t testing.TB, o answered, status int, body []byte) (here bool) {
	t.Helper()
	want := o.out()
	wantErr := o.decode(sdk, respond(status, bytes.NewReader(body), int64(len(body))), want)
	for _, share := range []bool{false, true} {
		got := o.out()
		p := &protocol{maker: maker{ClientProtocol: sdk}, codec: &Codec{share: share}, operation: o.Operation}
		own := bytes.Clone(body)
		err := o.decode(p, respond(status, bytes.NewReader(own), int64(len(own))), got)
		if p.page != nil {
			here = true
			o.put(got, p.page)
			checkSizes(t, p.page, body)
		}
		if fmt.Sprint(err) != fmt.Sprint(wantErr) || reflect.TypeOf(err) != reflect.TypeOf(wantErr) {
			t.Errorf("%s: error %v, and the SDK's %v: %.300s", o.name, err, wantErr, body)
		}
		if wantErr == nil && !equal(got, want) {
			t.Errorf("%s: %s\n%#v, and the SDK's\n%#v", o.name, body, got, want)
		}
	}
	return here
}

// equal compares outputs. NaN, which the SDK reads as a number of units, is equal to itself.
func equal(a, b any) bool {
	all := cmp.Exporter(func(reflect.Type) bool { return true })
	return reflect.DeepEqual(a, b) || cmp.Equal(a, b, all, cmpopts.EquateNaNs())
}

// checkSizes compares the sizes that were found on the way with those of the attribute values.
func checkSizes(t testing.TB, p *Page, body []byte) {
	t.Helper()
	all := p.Items
	for _, items := range p.Tables {
		all = append(all, items...)
	}
	for _, it := range all {
		if it.Shape == nil {
			continue
		}
		for i, name := range it.Shape.Names {
			if want := attr.AttributeSize(name, it.Value(i).Attribute()); it.Size(i) != want {
				t.Errorf("%q has %d bytes, and was counted as %d: %.300s", name, want, it.Size(i), body)
			}
			if v, ok := it.Get(name); !ok || v != it.Value(i) {
				t.Errorf("%q is not found by its name", name)
			}
		}
	}
}

// answers are bodies of answers: those that are read here, and those that are left to the SDK.
var answers = map[bool][]string{
	true: {
		`{}`,
		`{"Count":0,"Items":[],"ScannedCount":0}`,
		`{"Count":-5,"Items":[{"a":{"S":"x"}}]}`, `{"Count":2147483647,"Items":[{"a":{"S":"x"}}]}`,
		`{"Count":1e3,"Items":[],"Count2":null}`,
		`{"Item":{}}`,
		`{"Count":2,"Items":[{"PK":{"S":"a"},"n":{"N":"1"}},{"PK":{"S":"b"},"n":{"N":"-120.50"}}],"ScannedCount":2,` +
			`"ConsumedCapacity":{"CapacityUnits":0.5,"TableName":"t"},"LastEvaluatedKey":{"PK":{"S":"b"}}}`,
		"{ \"Items\" : [ { \"PK\" : { \"S\" : \"a\" } ,\n\"x\":{\"BOOL\":true}} , " +
			"{\"PK\":{\"S\":\"b\"},\"x\":{\"BOOL\" : false}}\t]}\r\n",
		`{"Items":[{"a":{"S":"x"},"b":{"N":"1"}},{"a":{"S":"x"}},{"a":{"S":"x"},"b":{"NULL":true}},{"b":{"N":"2"},` +
			`"a":{"S":"y"}},{"a":{"S":"x"},"b":{"N":"1"},"c":{"S":""}},{},{"a":{"S":"x"},"c":{"N":"1"}}]}`,
		`{"Items":[{"e":{"S":"q\"b\\s\/n\nr\rt\tb\bf\f u\u00e9 \ud83d\ude00 lone \ud83d x \ude00"},` +
			`"\u0061b":{"S":"\u0000"}}]}`,
		"{\"Items\":[{\"bad\":{\"S\":\"\xff\xfe a\"}},{\"bad\":{\"S\":\"\\n\xff\xfe a\"}},{\"\xff\":{\"S\":\"é\"}}]}",
		`{"Items":[{"l":{"L":[]},"m":{"M":{}},"ss":{"SS":["a","\n"]},"ns":{"NS":["1","2.50"]},"bs":{"BS":["",` +
			`"AAE="]},"b":{"B":"AAECAw=="},"none":{"NULL":false}}]}`,
		`{"Items":[{"l":{"L":[{"S":"a"},{"M":{"x":{"L":[{"N":"1"},{"B":"AA=="},{"BOOL":true}]},"y\n":{"S":"\t"}}},` +
			`{"NULL":true},{"SS":["x"]}]}}]}`,
		`{"Items":[{"ss":{"SS":[]},"ns":{"NS":[]},"bs":{"BS":[]}}]}`,
		`{"Items":[{"n":{"N":"12345678901234567890123456789012345678"},"m":{"N":"1E-130"},"o":{"N":"not a number"},` +
			`"p":{"N":"\u0031"},"q":{"N":""}}]}`,
		`{"Items":[{"b":{"B":"AA\nE="}}]}`,
		`{"Item":{"PK":{"S":"a"},"v":{"B":"AAECAwQFBgc="}},"ConsumedCapacity":{"TableName":"t","CapacityUnits":1.0}}`,
		`{"Responses":{"t":[{"PK":{"S":"a"}},{"PK":{"S":"b"}}],"u":[]},` +
			`"UnprocessedKeys":{"t":{"Keys":[{"PK":{"S":"c"}}]}}}`,
		`{"Unknown":{"deep":[1,2.5e-3,"x",{"y":null}]},"Items":[{"a":{"S":"x"}}]}`,
		`{"Items":[{"":{"S":""}}]}`,
		`{"Items":[],"ConsumedCapacity":{"CapacityUnits":"NaN"}}`,
	},
	false: {
		``, ` `, `{`, `null`, `[]`, `"x"`, `{"Items":null,"Item":null,"Responses":null}`,
		`{"Items":[],"Item":{},"Responses":{}} x`, `{"Items":[],"Items":[]}`,
		`{"Items":[null],"Item":null,"Responses":{"t":null}}`,
		`{"Items":[{"a":null}],"Item":{"a":null},"Responses":{"t":[{"a":null}]}}`,
		`{"Items":[{"a":{"S":null}}],"Item":{"a":{"S":null}},"Responses":{"t":[{"a":{"S":null}}]}}`,
		`{"Items":[{"a":{}}],"Item":{"a":{}},"Responses":{"t":[{"a":{}}]}}`,
		`{"Items":[{"a":{"X":"1"}}],"Item":{"b":{"S":"kept"},"a":{"X":"1"}},"Responses":{"t":[{"a":{"X":"1"}}]}}`,
		`{"Items":[{"a":{"S":"1","N":"2"}}],"Item":{"a":{"S":"1","N":"2"}},"Responses":{"t":[{"a":{"S":"1",` +
			`"N":"2"}}]}}`,
		`{"Items":[{"a":{"S":"1"},"a":{"S":"2"}}],"Item":{"a":{"S":"1"},"a":{"S":"2"}},` +
			`"Responses":{"t":[{"a":{"S":"1"},"a":{"S":"2"}}]}}`,
		`{"Items":[{"m":{"M":{"a":{"S":"1"},"a":{"S":"2"}}}}],"Item":{"m":{"M":{"a":{"S":"1"},"\u0061":{"S":"2"}}}},` +
			`"Responses":{"t":[{"m":{"M":{"a":{"S":"1"},"a":{"S":"2"}}}}]}}`,
		`{"Items":[{"a":{"S":1}}],"Item":{"a":{"S":1}},"Responses":{"t":[{"a":{"S":1}}]}}`,
		`{"Items":[{"a":{"B":"*"}}],"Item":{"a":{"B":"A"}},"Responses":{"t":[{"a":{"B":"AA"}}]}}`,
		`{"Items":[{"a":{"BOOL":"true"}}],"Item":{"a":{"BOOL":truex}},"Responses":{"t":[{"a":{"BOOL":1}}]}}`,
		`{"Items":[{"a":{"S":"x"},}],"Item":{"a":{"S":"x",}},"Responses":{"t":[{"a":{"S":"x"}},]}}`,
		`{"Items":[{"a":{"L":[{"S":"x"},]}}],"Item":{"a":{"L":[null]}},"Responses":{"t":[{"a":{"L":{}}}]}}`,
		`{"Items":[{"a":{"S":"\x"}}],"Item":{"a":{"S":"\u12g4"}},"Responses":{"t":[{"a":{"S":"\'"}}]}}`,
		"{\"Items\":[{\"a\":{\"S\":\"\n\"}}]," +
			"\"Item\":{\"a\":{\"S\":\"\x00\"}},\"Responses\":{\"t\":[{\"a\":{\"S\":\"\x1f\"}}]}}",
		`{"Items":[{"a":{"S":"x`, `{"Items":[{"a":{"S":"x"}`, `{"Items":[{"a":{"S":"x"}}]`, `{"Item":{"a":{"S":"x"}`,
		`{"Count":01,"Items":[],"Item":{},"Responses":{}}`, `{"Count":1.,"Items":[],"Item":{},"Responses":{}}`,
		`{"x":+1,"Items":[],"Item":{},"Responses":{}}`, `{"x":nul,"Items":[]}`,
		`{"Items":[{"a":{"L":` + strings.Repeat(`[{"L":`, 60) + `[]` + strings.Repeat(`}]`, 60) +
			`}}],"Item":{"a":{"L":` + strings.Repeat(`[{"L":`, 60) + `[]` + strings.Repeat(`}]`, 60) + `}}}`,
		`{"Items":[{"a":{"L":` + strings.Repeat(`[{"L":`, 20000) + `}}],"Item":{"a":{"L":` +
			strings.Repeat(`[{"L":`, 20000) + `}}}`,
	},
}

// A value that is decoded here equals the SDK's. For other answers the SDK's values and errors are
// returned.
func TestAgainstSDK(t *testing.T) {
	for here, bodies := range answers {
		for _, body := range bodies {
			if got := compare(t, 200, []byte(body)); got != here {
				t.Errorf("read here: %v: %.300s", got, body)
			}
			for _, status := range []int{400, 500} {
				if compare(t, status, []byte(body)) {
					t.Errorf("an error answer was read: %s", body)
				}
			}
		}
	}
}

// The end of a string is found at each position, in strings of every length up to several times the
// bytes that are examined at once.
func TestLongStrings(t *testing.T) {
	const long = 1 << 8
	for n := range 3 * long {
		if n > 300 && n%7 != 0 {
			continue
		}
		text := strings.Repeat("é", n/2) + strings.Repeat("n", n%2)
		for _, end := range []string{"", `\n`, "\x01", "\x1f", "\x7f", "\xff", `\u0001`, `\`, `"`} {
			for _, behind := range []int{0, 3, 40, long} {
				body := fmt.Appendf(nil, `{"Items":[{"a":{"S":"%s%s%s"},"b":{"S":"x"}}]}`, text, end,
					strings.Repeat("b", behind))
				compareWith(t, operations[0], 200, body)
			}
		}
	}
}

// Tokens of 8 bytes have a decoder of their own.
func TestTokens(t *testing.T) {
	r := rand.New(rand.NewPCG(draws.Seed(t), 0))
	for range draws.Times(300, 2_000, 50_000) {
		b := make([]byte, 8)
		binary.LittleEndian.PutUint64(b, r.Uint64())
		text := []byte(base64.StdEncoding.EncodeToString(b))
		if r.IntN(2) == 0 {
			text[r.IntN(len(text))] = byte(33 + r.IntN(94))
		}
		compareWith(t, operations[0], 200, fmt.Appendf(nil, `{"Items":[{"v":{"B":%[1]q}},{"v":{"B":%[1]q}}]}`, text))
	}
}

// Each answer, cut at each byte or with one byte changed, has the SDK's values and errors.
func TestDamaged(t *testing.T) {
	for _, body := range answers[true] {
		for i := range body {
			compare(t, 200, []byte(body[:i]))
			for _, c := range []byte("\"\\{}[]:,nx0 \x00\xff") {
				b := []byte(body)
				b[i] = c
				compare(t, 200, b)
			}
		}
	}
}

// FuzzAgainstSDK has both decode anything.
func FuzzAgainstSDK(f *testing.F) {
	for _, bodies := range answers {
		for _, body := range bodies {
			if len(body) < 5000 {
				f.Add([]byte(body))
			}
		}
	}
	f.Add([]byte(`{"Items":[{"A":{"BS":["AA==",,null]}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) { compare(t, 200, body) })
}

// Where the SDK panics, the answer is an error.
func TestPanicsOfTheSDKAreErrors(t *testing.T) {
	for _, body := range []string{
		`{"Items":[{"A":{"BS":["AA==",,null]}}]}`, `{"Items":[{"A":{"L":[{"S":"x"},,null]}}]}`,
		`{"Items":[{"A":{"SS":["x",,null]}}]}`,
		`{"Item":{"A":{"BS":["AA==",,null]}}}`, `{"Items":[,,null]}`,
		`{"Responses":{"t":[{"A":{"BS":["AA==",,null]}}]}}`,
		`{"Items":[{"A":{"BS":[null]}}]}`, `{"Items":[{"A":{"M":{,,null}}}]}`, `{"Items":[{"A":null}]}`,
		`[,,null]`, `{"Items":{,}}`,
	} {
		compare(t, 200, []byte(body))
		compare(t, 400, []byte(body))
	}
}

// FuzzStrings has both decode any text between quotes, of a name and of each kind of value.
func FuzzStrings(f *testing.F) {
	for _, s := range []string{
		"", "x", `\n`, `\u0041`, `\ud83d\ude00`, `\ud83d`, `\ude00\ud83d`, "\xff", "\\n\xff\xff",
		"é\x00", `\`, `\u12`, "01234567\"", "AAE=", "AA\nE=", strings.Repeat("long ", 20) + `\"`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		compare(t, 200, fmt.Appendf(nil, `{"Items":[{"%[1]s":{"S":"%[1]s"},"n":{"N":"%[1]s"},`+
			`"x":{"M":{"%[1]s":{"S":"%[1]s"},"l":{"L":[{"S":"%[1]s"}]}}}},{"b":{"B":"%[1]s"},"ss":{"SS":["%[1]s"]},`+
			`"bs":{"BS":["%[1]s"]}}]}`, s))
		compare(t, 200, fmt.Appendf(nil, `{"Item":{"%[1]s":{"S":"%[1]s"}}}`, s))
	})
}
