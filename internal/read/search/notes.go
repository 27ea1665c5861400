package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/write"
)

// ErrUnverified says that the guards of a unique value are not known to be complete.
var ErrUnverified = errors.New("itemize: unique value is not verified")

// unverified is the error of a lookup.
type unverified struct{ label, field string }

func (e *unverified) Error() string {
	return fmt.Sprintf("%s.%s: the unique value was not verified: run itemize unique run, if the table has "+
		"entities, and "+
		"then itemize unique verify", e.label, e.field)
}

// Unwrap returns ErrUnverified.
func (e *unverified) Unwrap() error { return ErrUnverified }

// Notes has the notes of a model's unique values. The note of a value says that its guards were verified. It is read
// before the first lookup, and a positive answer is remembered. It is safe for concurrent use.
type Notes struct {
	Model *model.Model
	// Assume takes all values for verified without reading their notes.
	Assume bool

	mu       sync.Mutex
	verified map[*schema.Unique]bool
	asked    map[*schema.Unique]time.Time
}

// note is the content of a note: how the values are compared.
type note struct {
	Verified   string   `json:"verified"`
	Attributes []string `json:"attributes"`
	Forms      []string `json:"forms,omitempty"`
	Root       string   `json:"root"`            // the key of the root item, with {} for each placeholder
	Table      string   `json:"table,omitempty"` // of the entities, if it is another one than that of the note
}

var placeholders = regexp.MustCompile(`\{[^}]*\}`)

// askAgain is how long a negative answer is remembered.
const askAgain = 30 * time.Second

// IsVerified reports whether a value is known to be verified, so that its note is not read.
func (n *Notes) IsVerified(u *schema.Unique) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.Assume || n.verified[u]
}

// Check returns an error unless the guards of a value were verified.
func (n *Notes) Check(ctx context.Context, r *read.Reader, u *schema.Unique, t *write.Tally) error {
	if n.IsVerified(u) {
		return nil
	}
	n.mu.Lock()
	recent := !n.asked[u].IsZero() && n.Model.Now().Sub(n.asked[u]) < askAgain
	n.mu.Unlock()
	unverified := &unverified{n.Model.Label(), n.Model.Schema.FieldNames(u)}
	if recent {
		return unverified
	}
	var usage read.Usage
	stored, err := r.Item(ctx, model.NotePlace(n.Model.GuardTable(u), u.Name), read.Options{Strong: true}, &usage)
	t.AddRead(usage.Requests, usage.Predicted, usage.Consumed)
	if err != nil {
		return fmt.Errorf("reading the note of %s, which says that its guards were verified: %w",
			n.Model.Schema.FieldNames(u), err)
	}
	var found note
	text, ok := stored["note"].(*types.AttributeValueMemberS)
	ok = ok && json.Unmarshal([]byte(text.Value), &found) == nil && found.Verified != ""
	if ok && found.Root != "" && found.Root != n.of(u).Root {
		return n.Model.Errorf("the note of %s was written for root items %s: use another name in one model (as=), "+
			"or verify again if the keys have changed", u.Name, found.Root)
	}
	ok = ok && n.compares(u, &found)
	n.mu.Lock()
	defer n.mu.Unlock()
	if !ok {
		if n.asked == nil {
			n.asked = map[*schema.Unique]time.Time{}
		}
		n.asked[u] = n.Model.Now()
		return unverified
	}
	n.know(u)
	return nil
}

// compares reports whether a note is about the attributes and the forms of a value.
func (n *Notes) compares(u *schema.Unique, found *note) bool {
	is := n.of(u)
	return slices.Equal(found.Forms, is.Forms) && found.Table == is.Table && found.Root == is.Root &&
		slices.Equal(found.Attributes, is.Attributes)
}

func (n *Notes) know(u *schema.Unique) {
	if n.verified == nil {
		n.verified = map[*schema.Unique]bool{}
	}
	n.verified[u] = true
}

// of returns the content of a value's note.
func (n *Notes) of(u *schema.Unique) note {
	l := n.Model.Schema.LayoutOf(u)
	is := note{Verified: n.Model.Now().UTC().Format(time.RFC3339), Attributes: l.Attributes, Forms: l.Forms}
	is.Root = n.Model.Schema.PK.Text
	if sk := n.Model.Root().Key; sk != nil {
		is.Root += " " + sk.Text
	}
	is.Root = placeholders.ReplaceAllString(is.Root, "{}")
	if l.Table != "" {
		is.Table = n.Model.Tables[n.Model.Root().Table.Index].Name
	}
	return is
}

// NoteWriter has the methods of a DynamoDB client that write notes.
type NoteWriter interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput,
		error)
}

// Write writes the note of a value that was verified, and returns the WCU.
func (n *Notes) Write(ctx context.Context, c NoteWriter, u *schema.Unique) (wcu float64, err error) {
	t, a := n.Model.GuardTable(u), n.item(u)
	if _, err := c.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.Name, Item: a}); err != nil {
		return 0, request.Explain(ctx, c, n.Model.Label(), []*item.Table{t}, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.know(u)
	return cost.WriteUnits(attr.ItemSize(a)), nil
}

// item returns the note of a value that was verified.
func (n *Notes) item(u *schema.Unique) item.Attributes {
	text, err := json.Marshal(n.of(u))
	if err != nil {
		panic(err) // it holds texts
	}
	a := model.NotePlace(n.Model.GuardTable(u), u.Name).Key()
	a["note"] = &types.AttributeValueMemberS{Value: string(text)}
	return a
}

// Remove removes the note of a value, and returns the WCU if there is one.
func (n *Notes) Remove(ctx context.Context, c NoteWriter, u *schema.Unique) (wcu float64, err error) {
	at := model.NotePlace(n.Model.GuardTable(u), u.Name)
	return cost.WriteUnits(attr.ItemSize(n.item(u))), removeNote(ctx, c, at, n.Model.Label())
}

func removeNote(ctx context.Context, c NoteWriter, at item.Place, label string) error {
	_, err := c.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &at.Table.Name, Key: at.Key()})
	if err != nil {
		return request.Explain(ctx, c, label, []*item.Table{at.Table}, err)
	}
	return nil
}

// RemoveNote removes the note of a value that no model has any more.
func RemoveNote(ctx context.Context, c NoteWriter, t *item.Table, name string) error {
	return removeNote(ctx, c, model.NotePlace(t, name), name)
}
