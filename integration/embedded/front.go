package embedded

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/truora/minidyn/server"
)

// front is an HTTP handler in front of minidyn. It answers calls that minidyn lacks, completes answers
// that a mapper needs (complete.go), and refuses other calls with an error that says so. It passes on
// one request at a time, because minidyn does not lock all of its maps, and completing an answer takes
// several requests.
type front struct {
	mu      sync.Mutex
	minidyn http.Handler
	tables  map[string]*table
}

type object = map[string]any

type reply struct {
	status int
	body   object
}

// Handler returns a new engine without tables. It speaks the protocol of DynamoDB, JSON 1.0 over HTTP.
func Handler() http.Handler {
	return &front{minidyn: server.NewServer(), tables: map[string]*table{}}
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	var in object
	_ = json.NewDecoder(r.Body).Decode(&in) // minidyn refuses an empty input
	out := f.answer(operation, in)
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(out.status)
	_ = json.NewEncoder(w).Encode(out.body)
}

// answer answers a request. minidyn panics for some invalid ones.
func (f *front) answer(operation string, in object) (out reply) {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer func() {
		if recover() != nil {
			out = lacks("answer to this " + operation)
		}
	}()
	for _, parameter := range ignored {
		if in[parameter] != nil {
			return lacks("parameter " + parameter)
		}
	}
	canonical(in)
	name := text(in, "TableName")
	switch operation {
	case "ListTables":
		return reply{http.StatusOK, object{"TableNames": slices.Sorted(maps.Keys(f.tables))}}
	case "DescribeTimeToLive", "UpdateTimeToLive":
		return f.timeToLiveOf(operation, name, in)
	case "CreateTable", "UpdateTable", "DeleteTable", "DescribeTable":
		return f.ofTable(operation, name, in)
	case "Query", "Scan":
		return f.search(operation, in)
	}
	return f.charged(operation, in, func() reply { return f.ofItems(operation, in) })
}

// ofItems answers a request that names its items.
func (f *front) ofItems(operation string, in object) reply {
	switch operation {
	case "PutItem", "DeleteItem", "UpdateItem":
		return f.write(operation, in)
	case "TransactWriteItems":
		return f.transact(in)
	case "BatchWriteItem":
		return f.batch(in)
	}
	return f.ask(operation, in)
}

// ask passes a request to minidyn.
func (f *front) ask(operation string, in object) reply {
	body, _ := json.Marshal(in) // it was JSON
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	answered := httptest.NewRecorder()
	f.minidyn.ServeHTTP(answered, r)
	out := reply{status: answered.Code}
	if err := json.Unmarshal(answered.Body.Bytes(), &out.body); err != nil { // minidyn sends it as plain text
		return lacks(operation)
	}
	return out
}

// ignored are parameters that minidyn ignores.
var ignored = []string{
	"AttributesToGet", "AttributeUpdates", "ConditionalOperator", "Expected", "KeyConditions", "QueryFilter",
	"ScanFilter",
}

func lacks(what string) reply {
	return refusal("UnknownOperationException", "minidyn, the embedded engine, has no "+what+
		": test this on DynamoDB Local or dynoxide (docs/testing.md)")
}

func invalid(err error) reply { return refusal("ValidationException", err.Error()) }

func noTable(name string) reply {
	return refusal("ResourceNotFoundException", "Requested resource not found: Table: "+name+" not found")
}

func refusal(code, message string) reply {
	return reply{
		http.StatusBadRequest,
		object{"__type": "com.amazonaws.dynamodb.v20120810#" + code, "message": message},
	}
}

func text(o object, field string) string {
	s, _ := o[field].(string)
	return s
}

func list(o object, field string) (out []object) {
	all, _ := o[field].([]any)
	for _, a := range all {
		m, _ := a.(object)
		out = append(out, m)
	}
	return out
}
