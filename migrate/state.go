package migrate

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/migration/files"
	"github.com/itemize/itemize/internal/migration/protocol"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/request"
)

// The phases of a migration, as they are stored.
const (
	phaseNone     = ""
	phaseRunning  = "running"
	phaseCutOver  = "cutOver"
	phaseBack     = "rollingBack"
	phaseEnding   = "ending#" // and a token: the last scan of a rollback, during which inserts and moves wait
	phaseRemoving = "removing"
	phaseDone     = "done"
)

// store stores notes of a migration in the first table of the layout, under partition keys of the
// library. Jobs on several machines share them, and a repeated step finds them.
type store struct {
	client Client
	table  *item.Table
	source string
	model  string
}

// notes is the prefix of the partition keys of notes.
const notes = "~migrate#"

// has reports whether a key is that of a note, of any migration.
func (s *store) has(at item.Place) bool {
	return at.Table.Name == s.table.Name && strings.HasPrefix(at.PK.Text, notes)
}

func (s *store) key(name string) item.Attributes {
	return item.Attributes{
		s.table.Hash:  &types.AttributeValueMemberS{Value: notes + s.model + "#" + s.source},
		s.table.Range: &types.AttributeValueMemberS{Value: name},
	}
}

// write writes a note, and the key after which a segment continues; nil for none.
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

// text reads the text of a note, nil for none.
func (s *store) text(ctx context.Context, name string) (types.AttributeValue, error) {
	out, err := s.client.GetItem(ctx,
		&dynamodb.GetItemInput{TableName: &s.table.Name, Key: s.key(name), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, s.explained(ctx, err)
	}
	return out.Item["note"], nil
}

// read reads a note into to, which stays unchanged if there is none.
func (s *store) read(ctx context.Context, name string, to any) (found bool, err error) {
	out, err := s.client.GetItem(ctx,
		&dynamodb.GetItemInput{TableName: &s.table.Name, Key: s.key(name), ConsistentRead: aws.Bool(true)})
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
		return false, fmt.Errorf("the state of the migration cannot be read (%w): remove the items of its "+
			"partition key, and begin again, which is safe", err)
	}
	return true, nil
}

// each calls give with each note whose name has the prefix, until give returns false.
func (s *store) each(ctx context.Context, prefix string, give func(name string, a item.Attributes) error) error {
	k := s.key(prefix)
	in := &dynamodb.QueryInput{
		TableName: &s.table.Name, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("#pk = :pk AND begins_with(#sk, :sk)"),
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
	return request.Explain(ctx, s.client, s.model, []*item.Table{s.table}, err)
}

// The names of notes. Those of segments end with their number.
const (
	notePhase   = "phase"
	noteVerify  = "verified"
	noteSegment = "segment#"
	noteDead    = "dead#"
)

// isBack reports whether a phase belongs to a rollback.
func isBack(phase string) bool { return phase == phaseBack || strings.HasPrefix(phase, phaseEnding) }

// newEnding returns the phase in which this rollback ends.
func newEnding() string { return phaseEnding + rand.Text() }

// isUnderway reports whether entities may be moved and inserted in a phase.
func isUnderway(phase string) bool {
	return slices.Contains(underway, phase)
}

var underway = []string{phaseRunning, phaseCutOver, phaseBack, phaseRemoving}

// notUnderway returns the error of a move while no migration is under way.
func notUnderway(phase string) error {
	if isBack(phase) {
		return &protocol.NotUnderway{Reason: "a rollback is about to end: try again in some seconds"}
	}
	return &protocol.NotUnderway{Reason: "the migration was rolled back, or has ended, since the move began: try again"}
}

// underway returns an error unless the migration is under way. A move checks it after its claim, which
// the last scan of a rollback finds.
func (m *Migration) underway(ctx context.Context) error {
	var n phaseNote
	_, err := m.state.read(ctx, notePhase, &n)
	if err == nil && !isUnderway(n.Phase) {
		err = notUnderway(n.Phase)
	}
	return err
}

// goesBack returns an error if no entity may become a monolith. A rollback and [Migration.KeepMonolith]
// check it after they have marked a root item. A program that was paused may belong to a rollback that
// has ended, or run during a contract.
func (m *Migration) goesBack(ctx context.Context, settles bool) error {
	var n phaseNote
	_, err := m.state.read(ctx, notePhase, &n)
	switch {
	case err != nil:
		return err
	case settles && (n.Phase == phaseRemoving || n.Phase == phaseDone):
		return m.removing()
	case !settles && !isBack(n.Phase):
		return fmt.Errorf("%s: another program has ended the rollback: run itemize migrate status", m.layout.Model)
	}
	return nil
}

// removing returns the error of a rollback during a contract.
func (m *Migration) removing() error {
	return fmt.Errorf("%s: contract is removing the monoliths, so that no entity can be a monolith again: keep the "+
		"collection, and repeat the change in the new layout", m.layout.Model)
}

// phaseNote has the phase of the migration, and since when.
type phaseNote struct {
	Phase string    `json:"phase"`
	Since time.Time `json:"since"`
	// Hash and Range are the key attributes of the source, once it is being deleted.
	Hash  string `json:"hash,omitempty"`
	Range string `json:"range,omitempty"`
	// By is different in each note, so that a phase that was left and entered again differs.
	By string `json:"by,omitempty"`
}

// seenPhase is a phase as it was read.
type seenPhase struct {
	phaseNote
	text types.AttributeValue // the note as stored, nil for none
}

// phase returns the name of the phase.
func (m *Migration) phase(ctx context.Context) (string, error) {
	p, err := m.seePhase(ctx)
	return p.Phase, err
}

// seePhase reads the phase.
func (m *Migration) seePhase(ctx context.Context) (p seenPhase, err error) {
	if err := m.sameKeys(ctx); err != nil {
		return p, err
	}
	if p.text, err = m.state.text(ctx, notePhase); err == nil {
		_, err = decode(item.Attributes{"note": p.text}, &p.phaseNote)
	}
	return p, err
}

// enter changes the phase, and returns the new one. If another program has changed it since it was
// read, it returns an error.
func (m *Migration) enter(ctx context.Context, from seenPhase, to string) (seenPhase, error) {
	put, entered, err := m.phasePut(from, to)
	if err != nil {
		return from, err
	}
	_, err = m.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: put.TableName, Item: put.Item, ConditionExpression: put.ConditionExpression,
		ExpressionAttributeNames:  put.ExpressionAttributeNames,
		ExpressionAttributeValues: put.ExpressionAttributeValues,
	})
	var changed *types.ConditionalCheckFailedException
	if errors.As(err, &changed) {
		return entered, m.entered(ctx, from, entered)
	}
	return entered, m.state.explained(ctx, err)
}

// entered returns nil if the phase was entered and the answer lost, otherwise an error.
func (m *Migration) entered(ctx context.Context, from, to seenPhase) error {
	now, err := m.seePhase(ctx)
	if err != nil || now.By == to.By {
		return err
	}
	return m.phaseChanged(from.Phase, now.Phase)
}

// phaseChanged says that another program works on the migration.
func (m *Migration) phaseChanged(from, now string) error {
	return fmt.Errorf("%s: another program has changed the phase of the migration from %q to %q: run itemize migrate "+
		"status, then this step again", m.layout.Model, from, now)
}

// phasePut writes a phase, if it is still the one that was read.
func (m *Migration) phasePut(from seenPhase, to string) (*types.Put, seenPhase, error) {
	n := phaseNote{Phase: to, Since: m.now().UTC(), By: rand.Text()}
	if to == phaseRemoving || to == phaseDone {
		n.Hash, n.Range = m.source.Hash, m.source.Range
	}
	text, err := json.Marshal(n)
	if err != nil {
		return nil, seenPhase{}, err
	}
	entered := seenPhase{n, &types.AttributeValueMemberS{Value: string(text)}}
	a := m.state.key(notePhase)
	a["note"], a["phase"] = entered.text, &types.AttributeValueMemberS{Value: to}
	put := &types.Put{
		TableName: &m.state.table.Name, Item: a,
		ConditionExpression: aws.String("attribute_not_exists(note)"),
	}
	if from.text != nil {
		put.ConditionExpression, put.ExpressionAttributeValues = aws.String("note = :seen"),
			item.Attributes{":seen": from.text}
	}
	return put, entered, nil
}

// phaseCheck requires in a transaction that the migration is in one of some phases.
func (m *Migration) phaseCheck(phases ...string) *types.ConditionCheck {
	values, names := item.Attributes{}, make([]string, len(phases))
	for i, p := range phases {
		names[i] = fmt.Sprint(":p", i)
		values[names[i]] = &types.AttributeValueMemberS{Value: p}
	}
	return &types.ConditionCheck{
		TableName: &m.state.table.Name, Key: m.state.key(notePhase),
		ConditionExpression:      aws.String("#p IN (" + strings.Join(names, ", ") + ")"),
		ExpressionAttributeNames: map[string]string{"#p": "phase"}, ExpressionAttributeValues: values,
	}
}

// transact sends requests for notes, and repeats them if other programs work on these. done reports
// that their conditions hold.
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
		if err := request.Pause(ctx, try); err != nil {
			return false, err
		}
	}
}

// checkpoint is the progress of a segment: the key after which it continues, or a position in an
// export.
type checkpoint struct {
	// Round is the round of its migration. A migration that was rolled back may have written it since.
	Round string `json:"round,omitempty"`
	Of    int    `json:"of"`
	Done  bool   `json:"done"`
	start item.Attributes
	// Export is the export that At is a position in, "" for a scan.
	Export string         `json:"export,omitempty"`
	At     files.Position `json:"at,omitzero"`
	Counts
}

// Counts has the numbers of all runs.
type Counts struct {
	// Entities were read: Moved were moved, Before had moved before or do not exist, and Dead cannot be
	// moved.
	Entities int `json:"entities"`
	Moved    int `json:"moved"`
	Before   int `json:"before"`
	Dead     int `json:"dead"`
	// Conflicts were left for a later run.
	Conflicts int `json:"conflicts"`
	// Foreign are items of the source that are no monoliths.
	Foreign int `json:"foreign,omitempty"`
	// Items were written, and Bytes read.
	Items int `json:"items"`
	Bytes int `json:"bytes"`
	// WCU and RCU are the predicted units of the reads and writes. ConsumedWCU and ConsumedRCU are the
	// consumed capacity.
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
	c.Foreign += o.Foreign
	c.Items += o.Items
	c.Bytes += o.Bytes
	c.WCU += o.WCU
	c.RCU += o.RCU
	c.ConsumedWCU += o.ConsumedWCU
	c.ConsumedRCU += o.ConsumedRCU
}

// DeadLetter is an entity that cannot be moved, or was left.
type DeadLetter struct {
	Key     string    `json:"key"`
	Reasons []string  `json:"reasons"`
	Since   time.Time `json:"since"`
	// Left reports that a later run tries again, because another program wrote the entity, or an item
	// blocks it.
	Left bool `json:"left,omitempty"`
}
