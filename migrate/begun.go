package migrate

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read"
)

// begunNote is the note of the one migration of a model that is under way: its source, and whether the
// model's table had collections before.
type begunNote struct {
	Source string `json:"source"`
	Had    bool   `json:"had,omitempty"`
	// Key and Sort are the templates of the monolith keys.
	Key  string `json:"key,omitempty"`
	Sort string `json:"sort,omitempty"`
	// Reshaped reports that the program's functions convert monoliths.
	Reshaped bool `json:"reshaped,omitempty"`
	// Round distinguishes this migration from one that was rolled back.
	Round string `json:"round,omitempty"`
}

// begunKey returns the key of the note: one for all sources.
func (s *store) begunKey() item.Attributes {
	k := s.key("begun")
	k[s.table.Hash] = &types.AttributeValueMemberS{Value: notes + s.model}
	return k
}

// begun reads the note of the migration that is under way.
func (s *store) begun(ctx context.Context) (n begunNote, err error) {
	out, err := s.client.GetItem(ctx,
		&dynamodb.GetItemInput{TableName: &s.table.Name, Key: s.begunKey(), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return n, s.explained(ctx, err)
	}
	_, err = decode(out.Item, &n)
	return n, err
}

// begin records that this migration is under way, unless another one of the model is. Note and phase
// are written in one transaction, and are removed in one. While a migration has its note, no other
// begins. from is the phase that the caller has read.
func (m *Migration) begin(ctx context.Context, from string) error {
	for range beginTries {
		p, err := m.seePhase(ctx) // before the table is read: no other migration may begin and end in between
		switch {
		case err != nil:
			return err
		case p.Phase == phaseRunning:
			return nil // another program began it, or an answer was lost
		case p.Phase != from:
			return m.phaseChanged(from, p.Phase)
		}
		n, err := m.state.begun(ctx)
		if err != nil {
			return err
		}
		done := false
		switch {
		case n.Source == m.source.Name:
			done, err = m.goOn(ctx, p)
		case n.Source == "":
			done, err = m.note(ctx, p)
		default:
			done, err = m.forgetOther(ctx, n)
			if err == nil && !done {
				return fmt.Errorf("%s: a migration of %s into the table %s is running, and a rollback could not "+
					"tell their collections apart: finish that one first (contract or rollback)", m.layout.Model,
					n.Source, m.state.table.Name)
			}
			done = false
		}
		if err != nil || done {
			return err
		}
	}
	return fmt.Errorf("%s: other programs began migrations into the table %s each time: look at their status, and "+
		"begin again", m.layout.Model, m.state.table.Name)
}

const beginTries = 10

// note records that this migration is under way, if there is no note.
func (m *Migration) note(ctx context.Context, from seenPhase) (done bool, err error) {
	had, err := m.had(ctx)
	if err != nil {
		return false, err
	}
	text, err := json.Marshal(begunNote{m.source.Name, had, m.key, m.sort, m.reshape.Forth != nil, rand.Text()})
	if err != nil {
		return false, err
	}
	a := m.state.begunKey()
	a["note"] = &types.AttributeValueMemberS{Value: string(text)}
	phase, _, err := m.phasePut(from, phaseRunning)
	if err != nil {
		return false, err
	}
	return m.transact(ctx,
		types.TransactWriteItem{Put: &types.Put{
			TableName: &m.state.table.Name, Item: a,
			ConditionExpression: aws.String("attribute_not_exists(note)"),
		}}, types.TransactWriteItem{Put: phase})
}

// goOn changes from a phase to running, if the note still exists.
func (m *Migration) goOn(ctx context.Context, from seenPhase) (done bool, err error) {
	phase, _, err := m.phasePut(from, phaseRunning)
	if err != nil {
		return false, err
	}
	mine := &types.ConditionCheck{
		TableName: &m.state.table.Name, Key: m.state.begunKey(), ConditionExpression: aws.String("contains(note, :s)"),
		ExpressionAttributeValues: item.Attributes{
			":s": &types.AttributeValueMemberS{Value: sourceText(m.source.Name)},
		},
	}
	return m.transact(ctx, types.TransactWriteItem{Put: phase}, types.TransactWriteItem{ConditionCheck: mine})
}

// forgetOther removes the note of another migration if its table of monoliths is deleted, or if it has
// ended.
func (m *Migration) forgetOther(ctx context.Context, n begunNote) (done bool, err error) {
	other := *m.state
	other.source = n.Source
	var p phaseNote
	if _, err := other.read(ctx, notePhase, &p); err != nil {
		return false, err
	}
	switch p.Phase {
	case phaseRemoving:
		_, err := m.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &n.Source})
		if !errors.As(err, new(*types.ResourceNotFoundException)) {
			return false, err
		}
	case phaseNone, phaseDone:
	default:
		return false, nil
	}
	still := &types.ConditionCheck{
		TableName: &m.state.table.Name, Key: other.key(notePhase),
		ConditionExpression:       aws.String("attribute_not_exists(#p) OR #p = :p"),
		ExpressionAttributeNames:  map[string]string{"#p": "phase"},
		ExpressionAttributeValues: item.Attributes{":p": &types.AttributeValueMemberS{Value: p.Phase}},
	}
	_, err = m.transact(ctx, m.forgetting(n.Source), types.TransactWriteItem{ConditionCheck: still})
	return err == nil, err // another program may have done it
}

// forgetting removes the note of a migration with a source.
func (m *Migration) forgetting(source string) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{
		TableName: &m.state.table.Name, Key: m.state.begunKey(),
		ConditionExpression:       aws.String("attribute_not_exists(note) OR contains(note, :s)"),
		ExpressionAttributeValues: item.Attributes{":s": &types.AttributeValueMemberS{Value: sourceText(source)}},
	}}
}

// sourceText returns the source as the note stores it.
func sourceText(source string) string {
	text, err := json.Marshal(struct {
		Source string `json:"source"`
	}{source})
	if err != nil {
		panic(err) // it is a string
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(text), "{"), "}")
}

// leave changes from one phase to the last, and removes the note if it is that of this migration.
func (m *Migration) leave(ctx context.Context, from seenPhase, to string) error {
	n, err := m.state.begun(ctx)
	if err != nil {
		return err
	}
	if n.Source != m.source.Name {
		_, err := m.enter(ctx, from, to)
		return err
	}
	phase, entered, err := m.phasePut(from, to)
	if err != nil {
		return err
	}
	done, err := m.transact(ctx, types.TransactWriteItem{Put: phase}, m.forgetting(m.source.Name))
	if err != nil || done {
		return err
	}
	return m.entered(ctx, from, entered)
}

// sameKeys refuses to continue with other monolith keys than at the start.
func (m *Migration) sameKeys(ctx context.Context) error {
	if m.ofFiles {
		return fmt.Errorf("%s: %w", m.layout.Model, errOfFiles)
	}
	n, err := m.state.begun(ctx)
	if err == nil && n.Source == m.source.Name && n.Reshaped != (m.reshape.Forth != nil) {
		return fmt.Errorf("%s: the migration was begun with a program's functions: %v; now: %v: pass the same "+
			"(migrate.Reshape)", m.layout.Model, n.Reshaped, m.reshape.Forth != nil)
	}
	if err == nil && n.Source == m.source.Name && (n.Key != m.key || n.Sort != m.sort) {
		err = fmt.Errorf("%s: the migration was begun with the keys %q and %q of the monoliths; now: %q and %q: "+
			"pass the same (-key, -sort; migrate.Keys)", m.layout.Model, n.Key, n.Sort, m.key, m.sort)
	}
	return err
}

// had reports whether the model's table has a collection, of any source. It reads the table until it
// finds one.
func (m *Migration) had(ctx context.Context) (bool, error) {
	found := false
	t := m.mover.Tables[m.layout.Root.Table]
	err := m.reader.Scan(ctx, read.Segment{Table: t, Of: 1, Strong: true, Rate: m.pace()}, &read.Usage{},
		func(p read.Page) bool {
			for i := range p.Items {
				f := &p.Items[i]
				found = found || m.layout.Match(t.Index, f.SK) == m.layout.Root && !m.state.has(f.Place) &&
					m.layout.Reserved.Header(f.Attributes()).Live()
			}
			return !found
		})
	return found, err
}
