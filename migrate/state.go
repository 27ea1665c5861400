package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/explain"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/itemfile"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/retry"
)

// Phase is how far a migration is.
type Phase string

// The phases.
const (
	PhaseNone     Phase = ""
	PhaseRunning  Phase = "running"
	PhaseCutOver  Phase = "cut over"
	PhaseBack     Phase = "rolling back"
	PhaseRemoving Phase = "removing the old layout"
	PhaseDone     Phase = "done: the old layout was removed"
)

// store keeps what a migration notes in the first table of the layout, under a partition key of the library's own: so
// that jobs on several machines share it, and a resumed one finds it.
type store struct {
	client Client
	table  *item.Table
	source string
	model  string
}

// notes is what the partition keys of notes begin with.
const notes = "~migrate#"

// has reports whether a key is that of a note, of whatever migration.
func (s *store) has(at item.Place) bool {
	return at.Table.Name == s.table.Name && strings.HasPrefix(at.PK.Text, notes)
}

func (s *store) key(name string) item.Attributes {
	return item.Attributes{
		s.table.Hash:  &types.AttributeValueMemberS{Value: notes + s.model + "#" + s.source},
		s.table.Range: &types.AttributeValueMemberS{Value: name},
	}
}

// write writes a note, and the key behind which a segment goes on; nil for none.
func (s *store) write(ctx context.Context, name string, note any, start item.Attributes) error {
	text, err := json.Marshal(note)
	if err != nil {
		return err
	}
	a := s.key(name)
	if start != nil {
		a["start"] = &types.AttributeValueMemberM{Value: start}
	}
	a["note"] = &types.AttributeValueMemberS{Value: string(text)}
	_, err = s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.table.Name, Item: a})
	return s.explained(ctx, err)
}

// read reads a note into to, which stays as it is where there is none.
func (s *store) read(ctx context.Context, name string, to any) (found bool, err error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.table.Name, Key: s.key(name), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return false, s.explained(ctx, err)
	}
	if c, ok := to.(*checkpoint); ok {
		if start, ok := out.Item["start"].(*types.AttributeValueMemberM); ok {
			c.start = start.Value
		}
	}
	return decode(out.Item, to)
}

func decode(a item.Attributes, to any) (bool, error) {
	text, ok := a["note"].(*types.AttributeValueMemberS)
	if !ok {
		return false, nil
	}
	if err := json.Unmarshal([]byte(text.Value), to); err != nil {
		return false, fmt.Errorf("what the migration noted cannot be read (%w): remove the items of its partition key, and begin again, which does no harm", err)
	}
	return true, nil
}

// each calls give with each note whose name begins so, until that is false.
func (s *store) each(ctx context.Context, prefix string, give func(name string, a item.Attributes) error) error {
	k := s.key(prefix)
	in := &dynamodb.QueryInput{
		TableName: &s.table.Name, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("#pk = :pk AND begins_with(#sk, :sk)"),
		ExpressionAttributeNames:  map[string]string{"#pk": s.table.Hash, "#sk": s.table.Range},
		ExpressionAttributeValues: item.Attributes{":pk": k[s.table.Hash], ":sk": k[s.table.Range]},
	}
	for {
		out, err := s.client.Query(ctx, in)
		if err != nil {
			return s.explained(ctx, err)
		}
		for _, a := range out.Items {
			sk, _ := attr.ScalarOf(a[s.table.Range])
			if err := give(sk.Text, a); err != nil {
				return err
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return nil
		}
	}
}

// remove removes a note.
func (s *store) remove(ctx context.Context, name string) error {
	_, err := s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.table.Name, Key: s.key(name)})
	return s.explained(ctx, err)
}

func (s *store) explained(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return explain.Error(ctx, s.client, s.model, []*item.Table{s.table}, err)
}

// The names of notes. Those of segments end with their number.
const (
	notePhase   = "phase"
	noteVerify  = "verified"
	noteSegment = "segment#"
	noteDead    = "dead#"
)

// phaseNote is how far the migration is, and since when.
type phaseNote struct {
	Phase Phase     `json:"phase"`
	Since time.Time `json:"since"`
}

func (m *Migration) phase(ctx context.Context) (Phase, error) {
	var n phaseNote
	if err := m.sameKeys(ctx); err != nil {
		return "", err
	}
	_, err := m.state.read(ctx, notePhase, &n)
	return n.Phase, err
}

// enter goes from one phase to another: an error, where somebody else has gone to a third meanwhile.
func (m *Migration) enter(ctx context.Context, from, to Phase) error {
	put, err := m.phasePut(from, to)
	if err != nil {
		return err
	}
	_, err = m.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: put.TableName, Item: put.Item, ConditionExpression: put.ConditionExpression,
		ExpressionAttributeNames: put.ExpressionAttributeNames, ExpressionAttributeValues: put.ExpressionAttributeValues,
	})
	var changed *types.ConditionalCheckFailedException
	if errors.As(err, &changed) {
		if now, err := m.phase(ctx); err != nil || now != to {
			return fmt.Errorf("%s: the migration was %q, and is %q by now: somebody else works on it; look at its status, and begin again (%v)", m.layout.Model, from, now, err)
		}
		return nil // an answer was lost
	}
	return m.state.explained(ctx, err)
}

// phasePut notes a phase, as long as another is noted.
func (m *Migration) phasePut(from, to Phase) (*types.Put, error) {
	text, err := json.Marshal(phaseNote{to, m.now().UTC()})
	if err != nil {
		return nil, err
	}
	a := m.state.key(notePhase)
	a["note"], a["phase"] = &types.AttributeValueMemberS{Value: string(text)}, &types.AttributeValueMemberS{Value: string(to)}
	put := &types.Put{TableName: &m.state.table.Name, Item: a, ConditionExpression: aws.String("#p = :p"), ExpressionAttributeNames: map[string]string{"#p": "phase"}}
	if from == PhaseNone {
		put.ConditionExpression = aws.String("attribute_not_exists(#p) OR #p = :p")
	}
	put.ExpressionAttributeValues = item.Attributes{":p": &types.AttributeValueMemberS{Value: string(from)}}
	return put, nil
}

// transact sends requests that are about notes, again where others work on these: done reports that their conditions held.
func (m *Migration) transact(ctx context.Context, all ...types.TransactWriteItem) (done bool, err error) {
	for try := 0; ; try++ {
		_, err = m.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: all})
		var cancelled *types.TransactionCanceledException
		if !errors.As(err, &cancelled) {
			return err == nil, m.state.explained(ctx, err)
		}
		passes := true
		for _, r := range cancelled.CancellationReasons {
			switch code := aws.ToString(r.Code); code {
			case "ConditionalCheckFailed":
				return false, nil
			case "None", "", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
			default:
				passes = false
			}
		}
		if !passes || try == beginTries {
			return false, m.state.explained(ctx, err)
		}
		if err := retry.Pause(ctx, try); err != nil {
			return false, err
		}
	}
}

// begunNote is of the one migration of a model that is under way: its source, and whether the model's table held collections before it,
// which are none of its own.
type begunNote struct {
	Source string `json:"source"`
	Had    bool   `json:"had,omitempty"`
	// Key and Sort are the templates of the monoliths' keys.
	Key  string `json:"key,omitempty"`
	Sort string `json:"sort,omitempty"`
	// Reshaped reports that a program's functions are between monoliths and the layout.
	Reshaped bool `json:"reshaped,omitempty"`
}

// begunKey is where it lies: one place for all sources.
func (s *store) begunKey() item.Attributes {
	k := s.key("begun")
	k[s.table.Hash] = &types.AttributeValueMemberS{Value: notes + s.model}
	return k
}

// begun reads the note of the migration that is under way.
func (s *store) begun(ctx context.Context) (n begunNote, err error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.table.Name, Key: s.begunKey(), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return n, s.explained(ctx, err)
	}
	_, err = decode(out.Item, &n)
	return n, err
}

// begin notes that this migration is under way, unless another one of the model is. The note and the phase are written at once, and so they
// end: while a migration has its note, no other begins.
func (m *Migration) begin(ctx context.Context, from Phase) error {
	for range beginTries {
		n, err := m.state.begun(ctx)
		if err != nil {
			return err
		}
		done := false
		switch {
		case n.Source == m.source.Name:
			done, err = m.goOn(ctx, from)
		case n.Source == "":
			done, err = m.note(ctx, from)
		default:
			done, err = m.forgetOther(ctx, n)
			if err == nil && !done {
				return fmt.Errorf("%s: a migration of %s into the table %s is under way, and a rollback could not tell their collections apart: finish that one first (contract or rollback)", m.layout.Model, n.Source, m.state.table.Name)
			}
			done = false
		}
		if err != nil || done {
			return err
		}
	}
	return fmt.Errorf("%s: others begin migrations into the table %s again and again: look at their status, and begin again", m.layout.Model, m.state.table.Name)
}

const beginTries = 10

// note notes that this migration is under way, where none is.
func (m *Migration) note(ctx context.Context, from Phase) (done bool, err error) {
	had, err := m.had(ctx)
	if err != nil {
		return false, err
	}
	text, err := json.Marshal(begunNote{m.source.Name, had, m.key, m.sort, m.reshape.Forth != nil})
	if err != nil {
		return false, err
	}
	a := m.state.begunKey()
	a["note"] = &types.AttributeValueMemberS{Value: string(text)}
	phase, err := m.phasePut(from, PhaseRunning)
	if err != nil {
		return false, err
	}
	return m.transact(ctx, types.TransactWriteItem{Put: &types.Put{TableName: &m.state.table.Name, Item: a, ConditionExpression: aws.String("attribute_not_exists(note)")}}, types.TransactWriteItem{Put: phase})
}

// goOn goes from a phase to running, while its note is there.
func (m *Migration) goOn(ctx context.Context, from Phase) (done bool, err error) {
	if from == PhaseRunning {
		return true, nil
	}
	phase, err := m.phasePut(from, PhaseRunning)
	if err != nil {
		return false, err
	}
	mine := &types.ConditionCheck{
		TableName: &m.state.table.Name, Key: m.state.begunKey(), ConditionExpression: aws.String("contains(note, :s)"),
		ExpressionAttributeValues: item.Attributes{":s": &types.AttributeValueMemberS{Value: sourceText(m.source.Name)}},
	}
	if done, err = m.transact(ctx, types.TransactWriteItem{Put: phase}, types.TransactWriteItem{ConditionCheck: mine}); done || err != nil {
		return done, err
	}
	switch now, err := m.phase(ctx); {
	case err != nil:
		return false, err
	case now == PhaseRunning:
		return true, nil // by somebody else, or an answer was lost
	case now != from:
		return false, fmt.Errorf("%s: the migration was %q, and is %q by now: somebody else works on it; look at its status, and begin again", m.layout.Model, from, now)
	}
	return false, nil
}

// forgetOther removes the note of another migration, if that was removing its table of monoliths, and this is gone: or if it has ended, and
// left its note.
func (m *Migration) forgetOther(ctx context.Context, n begunNote) (done bool, err error) {
	other := *m.state
	other.source = n.Source
	var p phaseNote
	if _, err := other.read(ctx, notePhase, &p); err != nil {
		return false, err
	}
	switch p.Phase {
	case PhaseRemoving:
		_, err := m.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &n.Source})
		if !errors.As(err, new(*types.ResourceNotFoundException)) {
			return false, err
		}
	case PhaseNone, PhaseDone:
	default:
		return false, nil
	}
	still := &types.ConditionCheck{
		TableName: &m.state.table.Name, Key: other.key(notePhase), ConditionExpression: aws.String("attribute_not_exists(#p) OR #p = :p"),
		ExpressionAttributeNames: map[string]string{"#p": "phase"}, ExpressionAttributeValues: item.Attributes{":p": &types.AttributeValueMemberS{Value: string(p.Phase)}},
	}
	_, err = m.transact(ctx, m.forgetting(n.Source), types.TransactWriteItem{ConditionCheck: still})
	return err == nil, err // somebody else may have done it
}

// forgetting removes the note of a migration that is under way, if it is of a source.
func (m *Migration) forgetting(source string) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{
		TableName: &m.state.table.Name, Key: m.state.begunKey(), ConditionExpression: aws.String("attribute_not_exists(note) OR contains(note, :s)"),
		ExpressionAttributeValues: item.Attributes{":s": &types.AttributeValueMemberS{Value: sourceText(source)}},
	}}
}

// sourceText is how the note has its source.
func sourceText(source string) string {
	text, err := json.Marshal(struct {
		Source string `json:"source"`
	}{source})
	if err != nil {
		panic(err) // it is a string
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(text), "{"), "}")
}

// leave goes from one phase to the last, with the note that the migration is under way, if it has that.
func (m *Migration) leave(ctx context.Context, from, to Phase) error {
	n, err := m.state.begun(ctx)
	if err != nil {
		return err
	}
	if n.Source != m.source.Name {
		return m.enter(ctx, from, to)
	}
	phase, err := m.phasePut(from, to)
	if err != nil {
		return err
	}
	done, err := m.transact(ctx, types.TransactWriteItem{Put: phase}, m.forgetting(m.source.Name))
	if err != nil || done {
		return err
	}
	if now, err := m.phase(ctx); err != nil || now != to { // else an answer was lost
		return fmt.Errorf("%s: the migration was %q, and is %q by now: somebody else works on it; look at its status (%v)", m.layout.Model, from, now, err)
	}
	return nil
}

// sameKeys refuses to go on with other keys of the monoliths than it was begun with.
func (m *Migration) sameKeys(ctx context.Context) error {
	if m.ofFiles {
		return fmt.Errorf("%s: %w", m.layout.Model, errOfFiles)
	}
	n, err := m.state.begun(ctx)
	if err == nil && n.Source == m.source.Name && n.Reshaped != (m.reshape.Forth != nil) {
		return fmt.Errorf("%s: the migration was begun with a program's functions: %v, and is to go on with such: %v; give the same (migrate.Reshape)", m.layout.Model, n.Reshaped, m.reshape.Forth != nil)
	}
	if err == nil && n.Source == m.source.Name && (n.Key != m.key || n.Sort != m.sort) {
		err = fmt.Errorf("%s: the migration was begun with the keys %q and %q of the monoliths, and is to go on with %q and %q: give the same (-key, -sort; migrate.Keys)", m.layout.Model, n.Key, n.Sort, m.key, m.sort)
	}
	return err
}

// had reports whether the model's table holds a collection, of whatever source: it reads the table until it finds one.
func (m *Migration) had(ctx context.Context) (bool, error) {
	found := false
	t := m.mover.Tables[m.layout.Root.Table]
	err := m.reader.Scan(ctx, read.Segment{Table: t, Of: 1, Strong: true, Pace: m.pace()}, &read.Usage{}, func(p read.Page) bool {
		for i := range p.Items {
			f := &p.Items[i]
			found = found || m.layout.Match(t.Index, f.SK) == m.layout.Root && !m.state.has(f.Place) && m.layout.Reserved.Header(f.Attributes).Live()
		}
		return !found
	})
	return found, err
}

// checkpoint is how far a segment is: the key behind which it goes on, or where in an export.
type checkpoint struct {
	Of    int  `json:"of"`
	Done  bool `json:"done"`
	start item.Attributes
	// Export is that which At is a position in, "" for a scan.
	Export string            `json:"export,omitempty"`
	At     itemfile.Position `json:"at,omitzero"`
	Counts
}

// Counts are what was done, in all runs.
type Counts struct {
	// Entities were looked at: Moved were moved, Before had moved before or are not there, Dead cannot be moved.
	Entities int `json:"entities"`
	Moved    int `json:"moved"`
	Before   int `json:"before"`
	Dead     int `json:"dead"`
	// Conflicts were left for a later run.
	Conflicts int `json:"conflicts"`
	// Others are items of the source that are no monoliths.
	Others int `json:"others,omitempty"`
	// Items were put, and Bytes read.
	Items int `json:"items"`
	Bytes int `json:"bytes"`
	// WCU and RCU are as predicted from what was read and written, and ConsumedWCU and ConsumedRCU what DynamoDB
	// reported for it.
	WCU         float64 `json:"wcu"`
	RCU         float64 `json:"rcu"`
	ConsumedWCU float64 `json:"consumedWCU"`
	ConsumedRCU float64 `json:"consumedRCU"`
}

func (c *Counts) add(o Counts) {
	c.Entities += o.Entities
	c.Moved += o.Moved
	c.Before += o.Before
	c.Dead += o.Dead
	c.Conflicts += o.Conflicts
	c.Others += o.Others
	c.Items += o.Items
	c.Bytes += o.Bytes
	c.WCU += o.WCU
	c.RCU += o.RCU
	c.ConsumedWCU += o.ConsumedWCU
	c.ConsumedRCU += o.ConsumedRCU
}

// DeadLetter is an entity that cannot be moved as it is, or was left.
type DeadLetter struct {
	Key     string    `json:"key"`
	Reasons []string  `json:"reasons"`
	Since   time.Time `json:"since"`
	// Left reports that it was left because somebody else wrote it, or something is in its way: a later
	// run tries again.
	Left bool `json:"left,omitempty"`
}
