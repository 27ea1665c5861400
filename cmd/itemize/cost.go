package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/itemize/itemize/internal/advice/charge"
)

const costOverview = `usage: itemize cost COMMAND [flags] [files]

  item FILE        the size of an item by attribute, and its price to write and read
  plan OLD NEW     the price of the write that turns one item into another
  measure FILE...  the attributes of documents with their sizes
  workload FILE... a workload from recordings of programs (package record), and from metrics
  forecast FILE    the price of a workload in a month, for several layouts
  model PACKAGE    the price of a workload in a month, for a model with tags
  advise FILE      what to change in a model for a workload, with savings and tags
  capacity         partitions, bulk loads and hot keys of a table
  scaletest        settings to test a table at scale, and a load that finds the hottest key

Items are plain JSON or DynamoDB JSON. docs/costs.md describes workloads.
itemize cost COMMAND -h prints the flags of a command.
`

// costWords are the commands of the overview, and costHelp their help.
var (
	costWords = []string{"item", "plan", "measure", "workload", "forecast", "model", "advise", "capacity", "scaletest"}
	costHelp  = map[string]help{
		"item": {
			"cost item", "FILE", "Print the size of an item by attribute, and its price to write and read.",
			[]string{"cost item item.json", "cost item -json item.json"},
		},
		"plan": {
			"cost plan", "OLD NEW",
			"Print the price of the write that turns the item OLD into the item NEW. Write - for\n" +
				"OLD if there is no old item, and for NEW if it is deleted.",
			[]string{"cost plan old.json new.json", "cost plan -key PK,SK - new.json"},
		},
		"measure": {
			"cost measure", "FILE...", "Print the attributes of documents with their sizes. With -json, they " +
				"are the start of a workload.\n" +
				"A file may be the output of aws dynamodb scan.",
			[]string{"cost measure documents/*.json", "cost measure -json scan.json"},
		},
		"workload": {
			"cost workload", "FILE...", "Print the workload of recordings, which programs write with package record. " +
				"Recordings of several processes merge.\n" +
				"Metrics of CloudWatch scale it to all requests. Without recordings, metrics scale the operations of " +
				"-sizes.",
			[]string{
				"cost workload recording.json > month.json",
				"cost workload -kind User -sizes user.workload.json -metrics requests.json host1.json host2.json > " +
					"month.json",
			},
		},
		"forecast": {
			"cost forecast", "FILE", "Print the price of a workload in a month: as one item, in its " +
				"layouts, and with one item for each attribute.",
			[]string{"cost forecast workload.json", "cost forecast -html page.html workload.json"},
		},
		"model": {
			"cost model", "[packages]", "Print the price of a workload in a month for a model: as one item, as the " +
				"model stores it, in the layouts\n" +
				"of the workload, and with one item for each attribute. The sizes of the model's items are exact: " +
				"its keys are\n" +
				"in them, and the attributes of the library.",
			[]string{
				"cost model -workload month.json ./store", "cost model -workload month.json -model User -html " +
					"page.html ./store",
			},
		},
		"advise": {
			"cost advise", "FILE [packages]", "Compare the present layout with the best one for a workload. " +
				"Print the changes, first the one that\n" +
				"saves most, with saving, risk and tags. The present layout is the model in the packages. Without " +
				"packages it\nis one item.",
			[]string{
				"cost advise workload.json", "cost advise -model User workload.json ./store",
				"cost advise -html page.html workload.json",
			},
		},
		"capacity": {
			"cost capacity", "",
			"Print the partitions of a table, the time of a bulk load, and the traffic of its busiest key.",
			[]string{
				"cost capacity -items 20000000 -in 30m -wcu 200",
				"cost capacity -rcu 10000 -wcu 5000 -keys 1000 -skew 1",
			},
		},
		"scaletest": {
			"cost scaletest", "", "Print the settings of an empty table that behaves like a grown one. " +
				"With -table, send requests with skewed\n" +
				"keys, and print throttles and the hottest key.",
			[]string{"cost scaletest -size 500 -rcu 5000 -wcu 500", "cost scaletest -table events -keys 1000 -skew 1"},
		},
	}
)

// cost runs itemize cost ...
func (c *command) cost(args []string) error {
	return c.subcommand("cost", costOverview, costWords, args, func(word string, args []string) error {
		return map[string]func([]string) error{
			"item": c.costItem, "plan": c.costPlan, "measure": c.costMeasure, "workload": c.costWorkload,
			"forecast": c.costForecast,
			"model":    c.costModel, "advise": c.costAdvise, "capacity": c.costCapacity, "scaletest": c.costScaletest,
		}[word](args)
	})
}

// costFlags parses the flags of a command of itemize cost, and checks the number of its files.
func (c *command) costFlags(name string, args []string, least, most int, more func(*flags)) (files []string,
	asJSON bool, err error,
) {
	f := c.flags(costHelp[name])
	j := f.Bool("json", false, "print JSON")
	if more != nil {
		more(f)
	}
	if files, err = f.parseAll(args); err != nil {
		return nil, false, err
	}
	if len(files) < least || len(files) > most {
		return nil, false, usagef("cost %s takes %s, not %d: see itemize cost %s -h", name, counted(least, most),
			len(files), name)
	}
	return files, *j, nil
}

func counted(least, most int) string {
	switch {
	case most == 0:
		return "no files"
	case least == most && least == 1:
		return "one file"
	case least == most:
		return fmt.Sprint(least, " files")
	}
	return "one file or more"
}

// read returns the text of a file in UTF-8; "-" is standard input.
func (c *command) read(path string) ([]byte, error) {
	if path == "-" {
		text, err := io.ReadAll(os.Stdin)
		return charge.UTF8(text), err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.dir, path)
	}
	text, err := os.ReadFile(path)
	return charge.UTF8(text), err
}
