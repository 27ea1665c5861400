package mapper

import (
	"errors"
	"testing"
)

// Every error names the type, the field, the item and its key, the fault and the remedy. It is
// recognized with errors.Is and errors.As.
func TestErrorTexts(t *testing.T) {
	t.Parallel()
	key := Key{Table: "users", Partition: "USER#1", Sort: "U#Information"}
	other := Key{Table: "users", Partition: "USER#1", Sort: "M#Card#visa"}
	cause := errors.New("cause")
	conflict := &ConflictError{
		Model: "store.User",
		Items: []ItemConflict{
			{"store.User", key, "Email", "changed"},
			{"store.User", other, "Cards", "deleted"},
		},
	}
	for _, c := range []struct {
		err  error
		want string
		is   []error
	}{
		{
			&ModelError{model: "store.User", Faults: []string{"store.User.A: x", "store.User.B: y"}},
			"the model store.User cannot be mapped:\n  store.User.A: x\n  store.User.B: y", nil,
		},
		{
			&NotFoundError{Model: "store.User", name: `ID "1"`}, `store.User: ID "1" does not exist`,
			[]error{ErrNotFound},
		},
		{
			&NotFoundError{Model: "store.User", Key: key, Pending: "p"},
			`store.User: USER#1 U#Information does not exist: p`,
			[]error{ErrNotFound},
		},
		{
			&ExistsError{Model: "store.User", name: `ID "1"`},
			"store.User: ID \"1\" exists already: load it and save the change, or delete it first",
			[]error{ErrExists},
		},
		{conflict, "store.User: conflict: USER#1 U#Information (Email) was changed, USER#1 M#Card#visa (Cards) was " +
			"deleted by another writer after the read: load again and repeat the change, or use Update", nil},
		{
			&ConflictError{
				Model: "store.User", update: true,
				Items: []ItemConflict{{"store.User", key, key.Sort, "changed"}},
			},
			"store.User: conflict: USER#1 U#Information was changed by another writer in each try: try again later",
			nil,
		},
		{
			&OutcomeUnknownError{Model: "store.User", Items: []Key{key}, Err: cause},
			"store.User: the outcome for USER#1 U#Information is unknown: save again, which checks it first, or " +
				"load: cause",
			[]error{cause},
		},
		{&ValueError{Model: "store.User", Field: "ID", Reason: "a reason"}, "store.User.ID: a reason", nil},
		{
			&NotLoadedError{Model: "store.User", Field: "Email", Key: key},
			"store.User.Email: the change of its item USER#1 U#Information cannot be saved, since it was not " +
				"loaded: load a selection that includes it", nil,
		},
		{
			&TooLargeError{
				Model: "store.User", Field: "Body", Key: key, Size: 409601,
				heaviest: []string{"Body 400000", "Notes 9000"},
			},
			"store.User.Body: the item USER#1 U#Information would have 409,601 bytes (limit 400 KB); largest " +
				"attributes: Body 400000, Notes 9000: split the item (sk=), or store a large value in another way " +
				"(compress=, chunk, s3=)",
			nil,
		},
		{
			&TooLargeError{Model: "mapper", Field: "Put", Key: key, Size: 409601}, // a raw request
			"mapper.Put: the item USER#1 U#Information would have 409,601 bytes (limit 400 KB): make it " +
				"smaller, or split it",
			nil,
		},
		{
			&PartialError{Model: "store.User", Written: []Key{key}, Rest: []Key{other}, Err: cause},
			"store.User: written in part: USER#1 U#Information, but not USER#1 M#Card#visa: repeat it to write the " +
				"rest: cause",
			[]error{cause},
		},
		{
			&PartialError{Model: "store.User", Written: []Key{key}, Rest: []Key{other}, Err: conflict},
			"store.User: written in part: USER#1 U#Information, but not USER#1 M#Card#visa: load again before you " +
				"write the rest: " + conflict.Error(),
			nil,
		},
	} {
		if c.err.Error() != c.want {
			t.Errorf("%T:\n%s\nwant\n%s", c.err, c.err, c.want)
		}
		for _, is := range c.is {
			if !errors.Is(c.err, is) {
				t.Errorf("%T is not %v", c.err, is)
			}
		}
	}
	keys := make([]Key, 9)
	for i := range keys {
		keys[i] = key
	}
	if got, want := joinKeys(keys[:7]), "USER#1 U#Information, USER#1 U#Information, USER#1 U#Information, USER#1 "+
		"U#Information, USER#1 U#Information, and 2 more"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
