package read

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read/selection"
)

// inputInIndex returns the request that reads a range of a secondary index.
func (r *Reader) inputInIndex(p selection.Part, o Options) *dynamodb.QueryInput {
	x := p.In.Entry.Index
	in := &dynamodb.QueryInput{
		TableName:                 &r.TableOf(p).Name,
		IndexName:                 &x.Name,
		ConsistentRead:            &o.Strong,
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
		ExpressionAttributeNames:  map[string]string{},
		ExpressionAttributeValues: item.Attributes{},
		ExclusiveStartKey:         o.From,
	}
	if o.Reverse {
		in.ScanIndexForward = aws.Bool(false)
	}
	var terms []string
	name := func(attribute string) string {
		n := "#k" + strconv.Itoa(len(in.ExpressionAttributeNames))
		in.ExpressionAttributeNames[n] = attribute
		return n
	}
	value := func(s key.Scalar) string {
		n := ":k" + strconv.Itoa(len(in.ExpressionAttributeValues))
		in.ExpressionAttributeValues[n] = attr.ValueOf(s)
		return n
	}
	for i, s := range p.In.Hash {
		terms = append(terms, name(x.Hash[i].Name)+" = "+value(s))
	}
	for i, s := range p.In.Equal {
		terms = append(terms, name(x.Range[i].Name)+" = "+value(s))
	}
	if g := p.In.Range; g.Kind != selection.All && g.Kind != selection.None {
		attribute := name(x.Range[len(p.In.Equal)].Name)
		switch g.Kind {
		case selection.Prefix:
			terms = append(terms, "begins_with("+attribute+", "+value(g.Low)+")")
		case selection.Between:
			terms = append(terms, attribute+" BETWEEN "+value(g.Low)+" AND "+value(g.High))
		case selection.AtLeast:
			terms = append(terms, attribute+" >= "+value(g.Low))
		case selection.AtMost:
			terms = append(terms, attribute+" <= "+value(g.High))
		default:
			terms = append(terms, attribute+" = "+value(g.Low))
		}
	}
	in.KeyConditionExpression = aws.String(strings.Join(terms, " AND "))
	return o.into(in)
}

// StartOf returns the keys of the table and of an index that an item of it has.
func StartOf(p selection.Part, f *item.Image) item.Attributes {
	start := f.Key()
	for _, a := range p.In.Entry.Index.Attributes() {
		start[a.Name] = f.Attribute(a.Name)
	}
	return start
}
