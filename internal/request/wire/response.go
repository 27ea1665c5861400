package wire

import (
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	smithy "github.com/aws/smithy-go"
)

// response has the fields of most answers other than items.
type response struct {
	capacity       *types.ConsumedCapacity
	count, scanned int32
	// more reports that the answer has other fields, or another form.
	more bool
}

// field reads the value of a member of an answer. It reports false, and may have read some of it, for
// one that is not known.
func (t *response) field(s *scanner, name []byte) (ok bool) {
	switch string(name) {
	case "ConsumedCapacity":
		t.capacity, ok = s.capacity()
	case "Count":
		t.count, ok = s.integer()
	case "ScannedCount":
		t.scanned, ok = s.integer()
	}
	return ok
}

// into sets it in an output. items reports that the answer had some, or none of them. It reports false
// for an output that is not known, and has set nothing.
func (t *response) into(out smithy.Deserializable, items bool) bool {
	switch o := out.(type) {
	case *dynamodb.GetItemOutput:
		o.ConsumedCapacity = t.capacity
		if items {
			o.Item = map[string]types.AttributeValue{}
		}
	case *dynamodb.QueryOutput:
		o.ConsumedCapacity, o.Count, o.ScannedCount = t.capacity, t.count, t.scanned
		if items {
			o.Items = []map[string]types.AttributeValue{}
		}
	case *dynamodb.ScanOutput:
		o.ConsumedCapacity, o.Count, o.ScannedCount = t.capacity, t.count, t.scanned
		if items {
			o.Items = []map[string]types.AttributeValue{}
		}
	case *dynamodb.PutItemOutput:
		o.ConsumedCapacity = t.capacity
	case *dynamodb.UpdateItemOutput:
		o.ConsumedCapacity = t.capacity
	case *dynamodb.DeleteItemOutput:
		o.ConsumedCapacity = t.capacity
	default:
		return false
	}
	return true
}

// decodeResponse reads an answer to a write and sets the fields of out. If the answer has other fields,
// it sets nothing and returns false.
func decodeResponse(body []byte, out smithy.Deserializable) bool {
	s, t := scanner{b: body}, response{}
	ok := s.fields(func(name []byte) bool { return t.field(&s, name) })
	s.space()
	return ok && s.i == len(body) && t.into(out, false)
}

// capacity is the consumed capacity of a request, with the values that it points to.
type capacity struct {
	types.ConsumedCapacity
	units, ofTable float64
	table          types.Capacity
	name           string
}

// capacity reads what a request took: in sum, and of the table.
func (s *scanner) capacity() (*types.ConsumedCapacity, bool) {
	c := new(capacity)
	ok := s.fields(func(name []byte) bool {
		switch string(name) {
		case "CapacityUnits":
			c.CapacityUnits = &c.units
			return s.number(&c.units)
		case "Table":
			c.Table = &c.table
			return s.fields(func(name []byte) bool {
				c.table.CapacityUnits = &c.ofTable
				return string(name) == "CapacityUnits" && s.number(&c.ofTable)
			})
		case "TableName":
			raw, escaped, ok := s.quoted()
			c.name, c.TableName = string(raw), &c.name
			return ok && !escaped
		}
		return false
	})
	return &c.ConsumedCapacity, ok
}

// maxMembers bounds how many members an object in an answer may have: DynamoDB's have five.
const maxNames = 32

// fields passes over an object, whose members' values are read by of. None may come twice.
func (s *scanner) fields(of func(name []byte) bool) bool {
	if !s.is('{') {
		return false
	}
	if s.is('}') {
		return true
	}
	var few [8][]byte
	seen := few[:0]
	for {
		name, escaped, ok := s.quoted()
		same := func(n []byte) bool { return string(n) == string(name) }
		if !ok || escaped || len(seen) > maxNames || slices.ContainsFunc(seen, same) || !s.is(':') {
			return false
		}
		seen = append(seen, name)
		s.space()
		if !of(name) {
			return false
		}
		if !s.is(',') {
			return s.is('}')
		}
	}
}

// digits passes over digits, and returns them.
func (s *scanner) digits() []byte {
	from := s.i
	for s.i < len(s.b) && '0' <= s.b[s.i] && s.b[s.i] <= '9' {
		s.i++
	}
	return s.b[from:s.i]
}

// number reads a number without a sign or an exponent.
func (s *scanner) number(to *float64) bool {
	from := s.i
	if d := s.digits(); len(d) == 0 || d[0] == '0' && len(d) > 1 {
		return false
	}
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		if len(s.digits()) == 0 {
			return false
		}
	}
	var err error
	*to, err = strconv.ParseFloat(string(s.b[from:s.i]), 64)
	return err == nil && s.ended()
}

// integer reads a number of up to nine digits.
func (s *scanner) integer() (int32, bool) {
	d := s.digits()
	if len(d) == 0 || len(d) > 9 || d[0] == '0' && len(d) > 1 {
		return 0, false
	}
	n := int32(0)
	for _, c := range d {
		n = n*10 + int32(c-'0')
	}
	return n, s.ended()
}

// ended reports whether a number ends here, as far as the next byte shows.
func (s *scanner) ended() bool {
	c := s.space()
	return c == ',' || c == '}'
}
