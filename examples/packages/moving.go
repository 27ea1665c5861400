package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/examples/packages/registry"
	"github.com/itemize/itemize/integration"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/migrate"
)

//go:embed registry/itemize.lock.json
var lock []byte

// copies is the number of packages, and updates the number of changes of each during the migration.
const copies, updates = 12, 3

// moving stores packages as monoliths, and migrates them to item collections while an application
// updates them: plan, run, verify, cut over. The same plan as a command: itemize migrate plan -model
// Package monoliths.
func moving(ctx context.Context, w io.Writer, engine *integration.Engine, d registry.Document) (err error) {
	prefix := fmt.Sprintf("moving-%d-", time.Now().UnixNano())
	for name, key := range map[string][2]string{"packages": {"PK:S", "SK:S"}, "monoliths": {"Name:S", ""}} {
		if err := engine.CreateTable(ctx, prefix+name, key[0], key[1]); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, engine.DeleteTable(context.WithoutCancel(ctx), prefix+name)) }()
	}
	if err := store(ctx, engine.Client(), prefix+"monoliths", d); err != nil {
		return err
	}
	layout, err := migrate.ParseLayout(lock, "Package")
	if err != nil {
		return err
	}
	rename := func(name string) string { return prefix + name }
	m, err := migrate.Open(ctx, engine.Client(), layout, prefix+"monoliths", migrate.Tables(rename))
	if err != nil {
		return err
	}
	plan, err := m.Plan(ctx, migrate.PlanOptions{Updates: map[string]float64{"Tags": 60}})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n  %d monoliths become %v items: %v WCU, %.4f dollars; a moved tag costs %v WCU before and %v "+
		"after\n",
		plan.Entities, plan.Items, plan.WCU, plan.Price, plan.Before/60, plan.After/60)
	packages, err := mapper.New[registry.Package](engine.Client(), mapper.Tables(rename))
	if err != nil {
		return err
	}
	var wait sync.WaitGroup
	var failed error
	wait.Go(func() { failed = application(ctx, migrate.Wrap(packages, m), d.Name) })
	report, err := m.Run(ctx)
	wait.Wait()
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	if _, err := m.Verify(ctx); err != nil {
		return err
	}
	v, err := m.Cutover(ctx)
	if err != nil {
		return err
	}
	for i := range copies {
		e, err := packages.Load(ctx, registry.PackageByName(fmt.Sprintf("%s-%d", d.Name, i)))
		if err != nil {
			return err
		}
		if got := e.Value.Tags["next"]; got != fmt.Sprint(updates) {
			return fmt.Errorf("an update was lost: %s", got)
		}
	}
	fmt.Fprintf(w, "  %d read, %d cannot be moved; %d updates during the migration, none lost; verified, and "+
		"cut over\n",
		v.Entities, report.This.Dead, copies*updates)
	return nil
}

// store stores packages as monoliths.
func store(ctx context.Context, client *dynamodb.Client, table string, d registry.Document) error {
	for i := range copies {
		p := d.Package()
		p.Name = fmt.Sprintf("%s-%d", d.Name, i)
		monolith, err := attributevalue.MarshalMap(p)
		if err != nil {
			return err
		}
		if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: monolith}); err != nil {
			return err
		}
	}
	return nil
}

// application updates packages in either layout.
func application(ctx context.Context, packages *migrate.Wrapped[registry.Package], name string) error {
	for n := range updates {
		for i := range copies {
			at := registry.PackageByName(fmt.Sprintf("%s-%d", name, i))
			_, err := packages.Update(ctx, at, func(p *registry.Package) error {
				p.Tags["next"] = fmt.Sprint(n + 1)
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
