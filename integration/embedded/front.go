package embedded

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// table describes a table for the front.
type table struct {
	keys []string // the key attributes
	// definitions are its AttributeDefinitions by name, which minidyn does not return.
	definitions object
	// timeToLive is its TimeToLiveDescription.
	timeToLive object
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
		if p := recover(); p != nil {
			out = refusal("ValidationException",
				fmt.Sprint("minidyn, the embedded engine, panics at this request: ", p))
		}
	}()
	name := text(in, "TableName")
	switch operation {
	case "ListTables":
		return reply{http.StatusOK, object{"TableNames": slices.Sorted(maps.Keys(f.tables))}}
	case "DescribeTimeToLive", "UpdateTimeToLive":
		return f.timeToLive(operation, name, in)
	case "CreateTable", "UpdateTable", "DeleteTable", "DescribeTable":
		return f.ofTable(operation, name, in)
	case "PutItem", "DeleteItem", "UpdateItem":
		return f.write(operation, in)
	case "TransactWriteItems":
		return f.transact(in)
	case "Query", "Scan":
		return f.read(operation, in)
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

// ofTable passes on a table operation, records the table, and completes the description.
func (f *front) ofTable(operation, name string, in object) reply {
	if what := unfit(in); what != "" {
		return lacks(what)
	}
	out := f.ask(operation, in)
	if out.status != http.StatusOK {
		return out
	}
	if operation == "CreateTable" {
		f.tables[name] = &table{definitions: object{}, timeToLive: object{"TimeToLiveStatus": "DISABLED"}}
		for _, k := range list(in, "KeySchema") {
			f.tables[name].keys = append(f.tables[name].keys, text(k, "AttributeName"))
		}
	}
	t := f.tables[name]
	for _, d := range list(in, "AttributeDefinitions") {
		t.definitions[text(d, "AttributeName")] = d
	}
	if operation == "DeleteTable" {
		delete(f.tables, name)
	}
	for _, d := range out.body { // Table or TableDescription
		d.(object)["TableStatus"], d.(object)["AttributeDefinitions"] = "ACTIVE",
			slices.Collect(maps.Values(t.definitions))
	}
	return out
}

// timeToLive answers the two operations of time to live. Items do not expire; DynamoDB promises no time
// either.
func (f *front) timeToLive(operation, name string, in object) reply {
	t := f.tables[name]
	if t == nil {
		return refusal("ResourceNotFoundException", "Requested resource not found: Table: "+name+" not found")
	}
	if operation == "DescribeTimeToLive" {
		return reply{http.StatusOK, object{"TimeToLiveDescription": t.timeToLive}}
	}
	specification, _ := in["TimeToLiveSpecification"].(object)
	t.timeToLive = object{"TimeToLiveStatus": "DISABLED"}
	if enabled, _ := specification["Enabled"].(bool); enabled {
		t.timeToLive = object{"TimeToLiveStatus": "ENABLED", "AttributeName": specification["AttributeName"]}
	}
	return reply{http.StatusOK, object{"TimeToLiveSpecification": specification}}
}

// unfit returns a feature of a table that minidyn gets wrong without an error, or "".
func unfit(in object) string {
	if len(list(in, "GlobalSecondaryIndexes"))+len(list(in, "LocalSecondaryIndexes"))+
		len(list(in, "GlobalSecondaryIndexUpdates")) > 0 {
		return "secondary indexes that follow updates"
	}
	for _, k := range list(in, "KeySchema") {
		for _, d := range list(in, "AttributeDefinitions") {
			if text(k, "KeyType") == "RANGE" && text(d, "AttributeName") == text(k, "AttributeName") &&
				text(d, "AttributeType") == "N" {
				return "sort keys of type N, and would order them as text"
			}
		}
	}
	if in["StreamSpecification"] != nil {
		return "streams"
	}
	return ""
}

func lacks(what string) reply {
	return refusal("UnknownOperationException", "minidyn, the embedded engine, has no "+what+
		": test this on DynamoDB Local or dynoxide (docs/testing.md)")
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
