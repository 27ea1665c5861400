package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ex "github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	attempts = 20
	mostOps  = 100       // of a transaction
	mostSize = 3_500_000 // of the items of a transaction, below the 4 MB of DynamoDB
)

func rootKey(pk string) item { return item{"PK": text(pk), "SK": text("HEAD")} }

// same requires that an attribute is as it was in an item.
func same(old item, attribute string) ex.ConditionBuilder {
	name := ex.NameNoDotSplit(attribute)
	if v, ok := old[attribute]; ok {
		return name.Equal(ex.Value(v))
	}
	return name.AttributeNotExists()
}

// unchanged requires the version of an item, or all of its values if it has none. No item must still be none.
func unchanged(old item) ex.ConditionBuilder {
	c := same(old, "PK").And(same(old, "_v"))
	if old["_v"] == nil {
		for attribute := range old {
			c = c.And(same(old, attribute))
		}
	}
	return c
}

// isLive requires that the item is the root item of an entity that exists.
func isLive() ex.ConditionBuilder {
	state, expires := ex.Name("_s"), ex.Name("expires")
	lives := state.AttributeNotExists().Or(ex.Name("_s.state").Equal(ex.Value("live")))
	gone := expires.LessThanEqual(ex.Value(time.Now().Unix())).And(expires.NotEqual(ex.Value(never)))
	return ex.Name("PK").AttributeExists().And(lives, gone.Not())
}

// op is an operation: it puts an item, or sets attributes of the item with a key, deletes it, or only checks it.
type op struct {
	put, key, set item
	remove        bool
	when          ex.ConditionBuilder
}

func build(o op) (t types.TransactWriteItem, err error) {
	b := ex.NewBuilder().WithCondition(o.when)
	if o.set != nil {
		var u ex.UpdateBuilder
		for name, v := range o.set {
			u = u.Set(ex.NameNoDotSplit(name), ex.Value(v))
		}
		b = b.WithUpdate(u)
	}
	e, err := b.Build()
	when, names, values, all := e.Condition(), e.Names(), e.Values(), types.ReturnValuesOnConditionCheckFailureAllOld
	switch {
	case o.put != nil:
		t.Put = &types.Put{TableName: table, Item: o.put, ConditionExpression: when, ExpressionAttributeNames: names,
			ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: all}
	case o.set != nil:
		t.Update = &types.Update{TableName: table, Key: o.key, ConditionExpression: when, ExpressionAttributeNames: names,
			ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: all, UpdateExpression: e.Update()}
	case o.remove:
		t.Delete = &types.Delete{TableName: table, Key: o.key, ConditionExpression: when, ExpressionAttributeNames: names,
			ExpressionAttributeValues: values}
	default:
		t.ConditionCheck = &types.ConditionCheck{TableName: table, Key: o.key, ConditionExpression: when,
			ExpressionAttributeNames: names, ExpressionAttributeValues: values}
	}
	return t, err
}

// try writes all or nothing. It returns the items where conditions were not true, by the indexes of their operations.
func try(ops ...op) (map[int]item, error) {
	var list []types.TransactWriteItem
	for _, o := range ops {
		t, err := build(o)
		if err != nil {
			return nil, fmt.Errorf("build an operation: %w", err)
		}
		list = append(list, t)
	}
	for attempt := range attempts {
		_, err := db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: list})
		var canceled *types.TransactionCanceledException
		if err == nil {
			return nil, nil
		} else if !errors.As(err, &canceled) {
			return nil, fmt.Errorf("write: %w", err)
		}
		failed := map[int]item{}
		for i, r := range canceled.CancellationReasons {
			switch aws.ToString(r.Code) {
			case "None", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
			case "ConditionalCheckFailed":
				if v := r.Item["_v"]; v != nil && (equal(v, ops[i].put["_v"]) || equal(v, ops[i].set["_v"])) {
					return nil, nil // an earlier attempt of this request was successful
				}
				failed[i] = r.Item
			default:
				return nil, fmt.Errorf("write: %w", err)
			}
		}
		if len(failed) > 0 {
			return failed, nil
		}
		time.Sleep(rand.N(10 * time.Millisecond << min(attempt, 7)))
	}
	return nil, errFaster
}

// write is try, and a condition that is not true is an error.
func write(ops ...op) error {
	failed, err := try(ops...)
	if failed != nil {
		return errFaster
	}
	return err
}

// split makes groups of items, each for one transaction.
func split(items []item, most int) (groups [][]item) {
	total := 0
	for _, it := range items {
		b, _ := json.Marshal(it) // longer than the item
		last := len(groups) - 1
		if total += len(b); last < 0 || len(groups[last]) == most || total > mostSize {
			groups, total = append(groups, []item{it}), len(b)
		} else {
			groups[last] = append(groups[last], it)
		}
	}
	return groups
}

// checkFree returns an error if an item must not replace the one that is there.
func checkFree(it, old item) error {
	root := sortKey(it) == "HEAD"
	switch {
	case root && live(old):
		return errExists
	case root && (old["_m"] != nil || !slices.Contains([]string{"live", "inserting", "deleting"}, state(old))):
		return errors.New("the root item belongs to a migration")
	case root, old == nil, expired(old), old["_a"] != nil && !equal(old["_a"], it["_a"]):
		return nil
	}
	return fmt.Errorf("an item %s is in the way", sortKey(it))
}

// putFree puts items whose keys are free, in one transaction with a check of the root item if it is not one of them.
func putFree(items []item, guard ...op) error {
	there := make([]item, len(items))
	for range attempts {
		ops := slices.Clone(guard)
		for i, it := range items {
			ops = append(ops, op{put: it, when: unchanged(there[i])})
		}
		failed, err := try(ops...)
		if err != nil || failed == nil {
			return err
		}
		for i, it := range items {
			old, ok := failed[i+len(guard)]
			if !ok {
				continue
			}
			if err := checkFree(it, old); err != nil {
				return err
			}
			there[i] = old
		}
		if _, lost := failed[0]; lost && len(guard) > 0 {
			return errFaster
		}
	}
	return errFaster
}

func insert(c Clinic) error {
	pk, err := partitionKey(c.ID)
	if err != nil {
		return err
	}
	items, err := encode(pk, c)
	if err != nil {
		return err
	}
	if len(split(items, mostOps)) == 1 {
		return putFree(items)
	}
	return stagedInsert(pk, items[0], items[1:])
}

func newState(state string) *types.AttributeValueMemberM {
	return &types.AttributeValueMemberM{Value: item{"state": text(state), "since": number(time.Now().Unix())}}
}

func stagedInsert(pk string, root item, others []item) error {
	claim := rootKey(pk)
	claim["_a"], claim["_v"], claim["_s"] = root["_a"], random(), newState("inserting")
	if err := putFree([]item{claim}); err != nil {
		return err
	}
	mine := same(claim, "_v")
	for _, group := range split(others, mostOps-1) {
		for _, it := range group {
			it["_s"] = &types.AttributeValueMemberBOOL{Value: true}
		}
		if err := putFree(group, op{key: rootKey(pk), when: mine}); err != nil {
			return abandon(pk, claim, err)
		}
	}
	root["_s"] = newState("live")
	if err := write(op{put: root, when: mine}); err != nil {
		return abandon(pk, claim, err)
	}
	return nil
}

// abandon deletes the claim of a staged insert, and then its items. If the root item is not the claim, but has its
// incarnation and is live, the insert was successful.
func abandon(pk string, claim item, cause error) error {
	err := write(op{key: rootKey(pk), remove: true, when: same(claim, "_v")})
	if errors.Is(err, errFaster) {
		var root item
		if root, err = getRoot(pk); err == nil && live(root) && equal(root["_a"], claim["_a"]) {
			return nil
		}
	}
	if err == nil {
		err = sweep(pk, claim["_a"])
	}
	return errors.Join(cause, err)
}

func liveRoot(pk string) (item, error) {
	root, err := getRoot(pk)
	if err == nil && !live(root) {
		err = errMissing
	}
	return root, err
}

func rename(pk, name string) error {
	root, err := liveRoot(pk)
	if err != nil {
		return err
	}
	set := item{"Name": text(name), "_v": random()}
	return write(op{key: rootKey(pk), set: set, when: unchanged(root).And(same(root, "Name"), isLive())})
}

// again repeats what another writer was faster than.
func again(f func() error) (err error) {
	for range attempts {
		if err = f(); !errors.Is(err, errFaster) {
			return err
		}
	}
	return err
}

func addVisit(pk string, v Visit) error {
	root, err := liveRoot(pk)
	if err != nil {
		return err
	}
	it, err := newItem(pk, visitKey(v), root["_a"], v)
	if err != nil {
		return err
	}
	return putFree([]item{it}, op{key: rootKey(pk), when: isLive().And(same(root, "_a"))})
}

// remove deletes an entity. It also finishes an unfinished delete.
func remove(pk string) error {
	root, err := getRoot(pk)
	if err != nil {
		return err
	}
	unfinished := root != nil && state(root) == "deleting"
	if !live(root) && !unfinished {
		return errMissing
	}
	if root["_m"] != nil {
		return errors.New("the entity has a monolith: use the library")
	}
	items, err := owned(pk, root["_a"], nil)
	if err != nil {
		return err
	}
	groups := split(append(items, root), mostOps)
	if unfinished || len(groups) > 1 {
		return stagedDelete(pk, root)
	}
	if err := write(removals(groups[0])...); err != nil {
		return err
	}
	return sweep(pk, root["_a"])
}

// owned returns the items of incarnations, without the root item. Items without an incarnation need a key of the model.
func owned(pk string, incarnations ...value) ([]item, error) {
	items, err := query(pk)
	return slices.DeleteFunc(items, func(it item) bool {
		known := slices.ContainsFunc(incarnations, func(a value) bool { return equal(it["_a"], a) })
		return sortKey(it) == "HEAD" || !known || it["_a"] == nil && !isKey(sortKey(it))
	}), err
}

func removals(items []item) (ops []op) {
	for _, it := range items {
		ops = append(ops, op{key: item{"PK": it["PK"], "SK": it["SK"]}, remove: true, when: unchanged(it)})
	}
	return ops
}

// sweep deletes the items of an incarnation that has no root item any more. Items without an incarnation belong to the
// next entity if there is one.
func sweep(pk string, incarnation value) error {
	gone := same(nil, "PK")
	if incarnation != nil {
		gone = same(nil, "_a").Or(ex.Name("_a").NotEqual(ex.Value(incarnation)))
	}
	_, err := empty(pk, gone, incarnation)
	return err
}

// empty deletes the items of incarnations, while a condition for the root item is true. If it is not, they are not done.
func empty(pk string, when ex.ConditionBuilder, incarnations ...value) (done bool, err error) {
	for range attempts {
		items, err := owned(pk, incarnations...)
		if err != nil || len(items) == 0 {
			return true, err
		}
		for _, group := range split(items, mostOps-1) {
			failed, err := try(append(removals(group), op{key: rootKey(pk), when: when})...)
			if _, lost := failed[len(group)]; lost || err != nil {
				return false, err
			}
		}
	}
	return false, errors.New("other writers change the items of a deleted entity")
}

func stagedDelete(pk string, root item) error {
	state, by := newState("deleting"), random()
	if old, ok := root["_s"].(*types.AttributeValueMemberM); ok { // entries that are not known are kept
		entries := maps.Clone(old.Value)
		maps.Copy(entries, state.Value)
		state.Value = entries
	}
	state.Value["by"] = by
	set := item{"_v": random(), "_s": state}
	if err := write(op{key: rootKey(pk), set: set, when: unchanged(root).And(same(root, "_s"))}); err != nil {
		return err
	}
	mine := ex.Name("_s.by").Equal(ex.Value(by))
	done, err := empty(pk, mine, root["_a"], nil)
	if err != nil {
		return err
	}
	if !done { // another program has taken over, or put a new entity
		return sweep(pk, root["_a"])
	}
	_, err = try(op{key: rootKey(pk), remove: true, when: mine})
	return err
}
