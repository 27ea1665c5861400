package mapper

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/define"
)

// Definition is a table that a model needs: its keys, its secondary indexes and its time to live.
type Definition struct {
	// Name is the table's real name.
	Name string
	// Create is the request that creates it, with capacity on demand, and TimeToLive that which
	// sets its time to live once it is there, nil for none. They are the caller's to change, and
	// to send.
	Create     *dynamodb.CreateTableInput
	TimeToLive *dynamodb.UpdateTimeToLiveInput

	table *define.Table
}

// Definitions returns the tables that the model needs, its main table first.
func (m *Mapper[T]) Definitions() []Definition {
	var out []Definition
	for _, d := range m.engine.tables() {
		out = append(out, Definition{Name: d.Name, Create: d.Input(), TimeToLive: d.TTLInput(), table: d})
	}
	return out
}

// tables returns the tables that the model needs.
func (g *engine) tables() []*define.Table {
	var names []string
	for _, t := range g.model.Tables {
		names = append(names, t.Name)
	}
	return define.Of(g.model.Schema, names)
}
