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

// front stands before minidyn. It answers the calls that minidyn lacks, completes answers that a
// mapper cannot do without (complete.go), and refuses the rest with an error that says so. It hands
// on one request at a time: minidyn does not lock all of its maps, and completing takes several.
type front struct {
	mu      sync.Mutex
	minidyn http.Handler
	tables  map[string]*table
}

// table is what the front knows of a table.
type table struct {
	// keys are its key attributes.
	keys []string
	// definitions are its AttributeDefinitions by name, which minidyn does not describe.
	definitions object
	// timeToLive is its TimeToLiveDescription.
	timeToLive object
}

type object = map[string]any

// reply is an answer of minidyn.
type reply struct {
	status int
	body   object
}

// Handler returns a new engine without tables. It speaks DynamoDB's protocol, JSON 1.0 over HTTP.
func Handler() http.Handler {
	return &front{minidyn: server.NewServer(), tables: map[string]*table{}}
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	var in object
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	out := f.answer(operation, in)
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(out.status)
	_ = json.NewEncoder(w).Encode(out.body)
}

// answer answers a request.
func (f *front) answer(operation string, in object) reply {
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
	case "Query":
		return f.query(in)
	case "Scan":
		// Any split of the items into segments is right: all lie in the first.
		if segment, _ := in["Segment"].(float64); segment > 0 {
			return reply{http.StatusOK, object{"Items": []any{}}}
		}
	}
	return f.ask(operation, in)
}

// ask hands a request to minidyn.
func (f *front) ask(operation string, in object) reply {
	body, _ := json.Marshal(in) // it was JSON
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	answered := httptest.NewRecorder()
	f.minidyn.ServeHTTP(answered, r)
	out := reply{status: answered.Code}
	if err := json.Unmarshal(answered.Body.Bytes(), &out.body); err != nil { // minidyn says so in plain text
		return lacks(operation)
	}
	return out
}

// ofTable hands on an operation on a table, notes what there is, and completes the description.
func (f *front) ofTable(operation, name string, in object) reply {
	if name := sortsNumbers(in); name != "" {
		return lacks("sort keys of type N (" + name + "), and would order them as text")
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
		d.(object)["TableStatus"], d.(object)["AttributeDefinitions"] = "ACTIVE", slices.Collect(maps.Values(t.definitions))
	}
	return out
}

// timeToLive answers the two operations of time to live. Nothing expires by itself; DynamoDB
// promises no time either.
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

// sortsNumbers returns a sort key of type N that a table or an index would have, or "".
func sortsNumbers(in object) string {
	numbers := object{}
	for _, d := range list(in, "AttributeDefinitions") {
		numbers[text(d, "AttributeName")] = text(d, "AttributeType") == "N"
	}
	for _, o := range slices.Concat([]object{in}, list(in, "GlobalSecondaryIndexes"), list(in, "LocalSecondaryIndexes")) {
		for _, k := range list(o, "KeySchema") {
			if name := text(k, "AttributeName"); text(k, "KeyType") == "RANGE" && numbers[name] == true {
				return name
			}
		}
	}
	return ""
}

func lacks(what string) reply {
	return refusal("UnknownOperationException", "minidyn, the embedded engine, has no "+what+": test this on DynamoDB Local or dynoxide (docs/testing.md)")
}

func refusal(code, message string) reply {
	return reply{http.StatusBadRequest, object{"__type": "com.amazonaws.dynamodb.v20120810#" + code, "message": message}}
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
